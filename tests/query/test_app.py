"""What all doors have in common: names, refusals, and that a broken configuration is told rather than died of."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

DOORS = [("POST", "/recall"), ("POST", "/mcp"), ("GET", "/metrics")]


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_without_the_password_a_door_stays_closed_and_says_what_it_wants(
    standing: httpx.Client, method: str, path: str
) -> None:
    reply = standing.request(method, path)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="passageway"'
    assert reply.json()["error"] == "unauthorized"


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize("header", [b"Bearer caf\xc3\xa9", b"Bearer wrong", b"Bearer \xff\xfe", b"Bearer x y"])
def test_a_wrong_password_of_any_bytes_is_401(client: httpx.Client, method: str, path: str, header: bytes) -> None:
    reply = client.request(method, path, headers={"Authorization": header})
    assert reply.status_code == 401
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]


@pytest.mark.parametrize("header", ["Basic dTpw", "Bearer", "correct horse battery"])
def test_anything_but_a_bearer_is_no_password(standing: httpx.Client, header: str) -> None:
    assert standing.get("/metrics", headers={"Authorization": header}).status_code == 401


def test_the_password_in_the_address_opens_nothing(standing: httpx.Client, password: str) -> None:
    assert standing.get("/metrics", params={"access_token": password, "token": password}).status_code == 401


def test_the_scheme_of_the_header_may_be_of_any_case(standing: httpx.Client, password: str) -> None:
    assert standing.get("/metrics", headers={"Authorization": f"bearer {password}"}).status_code == 200


def test_two_authorization_headers_are_none(standing: httpx.Client, password: str) -> None:
    headers = [("Authorization", f"Bearer {password}"), ("Authorization", "Bearer other")]
    assert standing.get("/metrics", headers=headers).status_code == 401


def test_a_password_outside_ascii_opens_the_doors(
    build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    build()
    url = serve(make_settings(PASSAGEWAY_LOGIN_PASSWORD="schlüssel"))
    reply = httpx.get(f"{url}/metrics", headers={"Authorization": "Bearer schlüssel".encode()})
    assert reply.status_code == 200


def test_five_wrong_passwords_make_the_right_one_wait_too(client: httpx.Client, auth: dict[str, str]) -> None:
    replies = [client.get("/metrics", headers={"Authorization": f"Bearer wrong {n}"}) for n in range(6)]
    assert [reply.status_code for reply in replies] == [401] * 5 + [429]
    refused = client.post("/recall", headers=auth, json={"prompt": "certificates"})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"] == "too_many_attempts"


def test_health_does_not_tell_right_from_wrong_guesses_during_the_wait(
    client: httpx.Client, auth: dict[str, str]
) -> None:
    for number in range(5):
        assert (
            client.get("/health", headers={"Authorization": f"Bearer wrong {number}"}).json()["errors_shown"] is False
        )
    assert client.get("/health", headers=auth).json()["errors_shown"] is False


@pytest.mark.parametrize(
    "path", ["/nothing", "/mcp/mcp", "/.well-known/nothing", "/.well-known/openid-configuration", "/docs", "/health/"]
)
def test_an_unknown_address_is_a_json_404(standing: httpx.Client, path: str) -> None:
    reply = standing.get(path)
    assert reply.status_code == 404
    assert reply.json()["error"] == "not_found"


def test_a_wrong_method_is_a_json_405(standing: httpx.Client, auth: dict[str, str]) -> None:
    reply = standing.get("/recall", headers=auth)
    assert reply.status_code == 405
    assert reply.json()["error"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/health", "/mcp", "/recall", "/"])
def test_a_request_for_another_host_is_misdirected(standing: httpx.Client, auth: dict[str, str], path: str) -> None:
    reply = standing.post(path, headers={**auth, "Host": "evil.example"})
    assert reply.status_code == 421
    assert "PASSAGEWAY_ALLOWED_HOSTS" in reply.json()["message"]


@pytest.mark.parametrize("path", ["/health", "/mcp", "/recall", "/"])
def test_a_request_from_a_foreign_page_is_refused(standing: httpx.Client, auth: dict[str, str], path: str) -> None:
    assert standing.post(path, headers={**auth, "Origin": "https://evil.example"}).status_code == 403


def test_a_request_from_claude_is_taken(standing: httpx.Client, auth: dict[str, str]) -> None:
    headers = {**auth, "Origin": "https://claude.ai"}
    assert standing.post("/recall", headers=headers, json={"prompt": "ok"}).status_code == 200


def test_a_further_host_name_can_be_allowed(
    build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    build()
    url = serve(make_settings(PASSAGEWAY_ALLOWED_HOSTS="nas.local"))
    assert httpx.get(f"{url}/health", headers={"Host": "nas.local:8082"}).status_code == 200


def test_a_broken_configuration_is_reported_instead_of_searched(
    serve: Callable[..., str], auth: dict[str, str]
) -> None:
    url = serve(config_error="passageway.toml: connector 'notes': timeout: Input should be greater than 0")
    stranger = httpx.get(f"{url}/health")
    assert stranger.json() == {
        "status": "error",
        "version": "9.9.9",
        "sources": [],
        "errors_shown": False,
    }
    owner = httpx.get(f"{url}/health", headers=auth)
    assert owner.json()["status"] == "error"
    assert "timeout" in owner.json()["error"]
    hook = httpx.post(f"{url}/recall", headers=auth, json={"prompt": "certificates"})
    assert hook.json()["context"] == ""


def test_nothing_is_said_twice_by_a_server_without_a_password(
    build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    build()
    url = serve(make_settings(PASSAGEWAY_LOGIN_PASSWORD=""))
    for header in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer None"}):
        assert httpx.get(f"{url}/metrics", headers=header).status_code == 401
