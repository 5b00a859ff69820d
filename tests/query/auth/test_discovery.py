"""What clients read before they sign in."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_the_resource_names_itself_and_its_one_authorization_server(person: Any, suffix: str) -> None:
    document = person.http.get(f"/.well-known/oauth-protected-resource{suffix}").json()
    assert document["resource"] == f"{person.url}/mcp"
    assert document["authorization_servers"] == [person.url]
    assert document["scopes_supported"] == ["recall"]


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_the_authorization_server_says_what_it_can(person: Any, suffix: str) -> None:
    document = person.http.get(f"/.well-known/oauth-authorization-server{suffix}").json()
    assert document["issuer"] == person.url
    assert "none" in document["token_endpoint_auth_methods_supported"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["authorization_response_iss_parameter_supported"] is True
    assert "client_id_metadata_document_supported" not in document
    for name in ("authorization", "token", "registration", "revocation"):
        assert document[f"{name}_endpoint"].startswith(f"{person.url}/")


def test_discovery_is_open_to_pages_of_any_origin(person: Any) -> None:
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"):
        reply = person.http.get(path, headers={"Origin": "https://any.example"})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == "*"
    preflight = person.http.options("/token", headers={"Origin": "https://any.example"})
    assert preflight.status_code == 204


def test_behind_a_proxy_every_address_is_the_public_one_whatever_headers_say(meet: Callable[..., Any]) -> None:
    person = meet(base_url="https://passages.example.org")
    headers = {"Host": "127.0.0.1:1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"}
    for path in ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"):
        reply = person.http.get(path, headers=headers)
        assert person.url not in reply.text
        assert "evil.example" not in reply.text
        assert "https://passages.example.org" in reply.text
    refused = person.call(None)
    metadata = 'resource_metadata="https://passages.example.org/.well-known/oauth-protected-resource/mcp"'
    assert metadata in refused.headers["www-authenticate"]


def test_other_well_known_addresses_are_a_json_404(person: Any) -> None:
    for path in (
        "/.well-known/openid-configuration",
        "/.well-known/nothing",
        "/.well-known/oauth-protected-resource/x",
    ):
        reply = person.http.get(path)
        assert reply.status_code == 404
        assert reply.json()["error"] == "not_found"


def test_without_a_public_address_there_is_no_login(
    build: Callable[..., None], serve: Callable[..., str], data_dir: Any
) -> None:
    build()
    url = serve()
    for path in ("/.well-known/oauth-authorization-server", "/authorize"):
        assert httpx.get(url + path).status_code == 404
    for path in ("/token", "/register", "/login", "/revoke"):
        assert httpx.post(url + path).status_code == 404
    assert "resource_metadata" not in httpx.post(f"{url}/mcp").headers["www-authenticate"]
    assert not (data_dir / "oauth.sqlite").exists()
