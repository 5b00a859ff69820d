"""The token endpoint, and what tokens open."""

import base64
import logging
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

CLAUDE = "https://claude.ai/api/mcp/auth_callback"


def error_of(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def test_a_code_becomes_tokens_that_open_mcp_and_nothing_else(person: Any) -> None:
    client = person.register(CLAUDE)
    reply = person.token(client, person.code(client))
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    tokens = reply.json()
    assert tokens["token_type"] == "Bearer"
    assert tokens["expires_in"] == 3600
    assert tokens["scope"] == "recall"
    assert person.call(tokens["access_token"]).status_code == 200
    for method, path in (("POST", "/recall"), ("GET", "/metrics")):
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        assert person.http.request(method, path, headers=headers).status_code == 401


@pytest.mark.parametrize("resource", ["ORIGIN/mcp", "ORIGIN/mcp/", "ORIGIN/", "ORIGIN", None])
def test_a_token_asked_for_by_any_spelling_of_this_server_opens_mcp_in_both_spellings(
    person: Any, resource: str | None
) -> None:
    client = person.register(CLAUDE)
    asked = resource and resource.replace("ORIGIN", person.url)
    code = person.code(client, resource=asked)
    tokens = person.token(client, code, resource=asked).json()
    assert person.call(tokens["access_token"]).status_code == 200
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {
        "Authorization": f"Bearer {tokens['access_token']}",
        "Accept": "application/json, text/event-stream",
    }
    assert person.http.post("/mcp/", json=body, headers=headers).status_code == 200
    renewed = person.refresh(client, tokens["refresh_token"], **({"resource": asked} if asked else {}))
    assert renewed.status_code == 200


def test_the_static_password_opens_mcp_beside_the_login(person: Any) -> None:
    assert person.call(person.password).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "w" * 50}, (400, "invalid_grant")),
        ({"code_verifier": None}, (400, "invalid_request")),
        ({"code_verifier": "ü" * 50}, (400, "invalid_request")),
        ({"redirect_uri": "http://127.0.0.1:2/callback"}, (400, "invalid_grant")),
        ({"resource": "https://other.example/mcp"}, (400, "invalid_target")),
        ({"code": "guessed"}, (400, "invalid_grant")),
        ({"code": None}, (400, "invalid_request")),
        ({"client_id": "unknown"}, (401, "invalid_client")),
        ({"client_id": None}, (401, "invalid_client")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"grant_type": None}, (400, "unsupported_grant_type")),
    ],
)
def test_what_does_not_fit_the_code_is_refused_with_the_right_error(
    person: Any, changes: dict[str, str | None], error: tuple[int, str]
) -> None:
    client = person.register()
    sent = {"code": person.code(client), **changes}
    assert error_of(person.token(client, **sent)) == error


def test_a_code_of_another_client_is_refused(person: Any) -> None:
    code = person.code(person.register())
    assert error_of(person.token(person.register(CLAUDE, client_name="Other"), code)) == (400, "invalid_grant")


def test_a_replayed_code_is_refused_and_ends_the_first_ones_tokens(person: Any) -> None:
    client = person.register()
    code = person.code(client)
    tokens = person.token(client, code).json()
    assert error_of(person.token(client, code)) == (400, "invalid_grant")
    assert person.call(tokens["access_token"]).status_code == 401


def test_of_eight_redemptions_at_once_one_succeeds_at_most(person: Any) -> None:
    client = person.register()
    code, replies = person.code(client), []
    threads = [threading.Thread(target=lambda: replies.append(person.token(client, code))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.status_code for reply in replies].count(200) == 1
    assert all(reply.status_code in (200, 400) for reply in replies)


def test_a_client_that_names_itself_in_basic_credentials_alone_is_served(person: Any) -> None:
    client = person.register(token_endpoint_auth_method="client_secret_basic")
    basic = base64.b64encode(f"{client['client_id']}:".encode()).decode()
    auth = {"Authorization": f"Basic {basic}"}
    assert person.token(client, person.code(client), auth=auth, client_id=None).status_code == 200


@pytest.mark.parametrize("credentials", ["!!!", base64.b64encode(b"\xff\xfe:").decode(), ""])
def test_broken_basic_credentials_are_401(person: Any, credentials: str) -> None:
    client = person.register()
    reply = person.token(client, "x", auth={"Authorization": f"Basic {credentials}x"}, client_id=None)
    assert error_of(reply) == (401, "invalid_client")


def test_a_parameter_sent_twice_or_a_body_that_is_no_form_is_400(person: Any) -> None:
    for body in (b"grant_type=authorization_code&client_id=a&client_id=b", b"\xff", b"&".join([b"a%d=1"] * 50)):
        assert error_of(person.http.post("/token", content=body)) == (400, "invalid_request")


def test_a_body_over_64_kib_is_413_declared_or_not(person: Any) -> None:
    body = b"a=" + b"x" * 200_000
    assert person.http.post("/token", content=body).status_code == 413
    chunks = (body[start : start + 8192] for start in range(0, len(body), 8192))
    assert person.http.post("/token", content=chunks).status_code == 413


def test_a_refresh_rotates_and_a_parallel_one_works_too(person: Any) -> None:
    client = person.register()
    tokens = person.tokens(client)
    first = person.refresh(client, tokens["refresh_token"])
    second = person.refresh(client, tokens["refresh_token"], scope="recall offline_access")
    assert (first.status_code, second.status_code) == (200, 200)
    assert len({tokens["refresh_token"], first.json()["refresh_token"], second.json()["refresh_token"]}) == 3
    assert person.call(first.json()["access_token"]).status_code == 200


@pytest.mark.parametrize("token", ["", "guessed", "mcp_rt_guessed", "x" * 10_000])
def test_a_dead_refresh_token_is_invalid_grant(person: Any, token: str) -> None:
    assert error_of(person.refresh(person.register(), token)) == (400, "invalid_grant")


def test_a_refresh_token_of_another_client_or_for_another_resource_is_refused(person: Any) -> None:
    client = person.register()
    token = person.tokens(client)["refresh_token"]
    assert error_of(person.refresh(person.register(CLAUDE), token)) == (400, "invalid_grant")
    assert error_of(person.refresh(client, token, resource="https://other.example/mcp")) == (400, "invalid_target")
    assert error_of(person.refresh({"client_id": "gone"}, token)) == (401, "invalid_client")


def test_fifty_refreshes_in_a_row_are_fine(person: Any) -> None:
    client = person.register()
    token = person.tokens(client)["refresh_token"]
    for _ in range(50):
        reply = person.refresh(client, token)
        assert reply.status_code == 200
        token = reply.json()["refresh_token"]


def test_a_client_can_revoke_its_grant_by_either_token(person: Any) -> None:
    client = person.register()
    for kind in ("access_token", "refresh_token"):
        tokens = person.tokens(client)
        reply = person.http.post("/revoke", data={"token": tokens[kind], "client_id": client["client_id"]})
        assert reply.status_code == 200
        assert person.call(tokens["access_token"]).status_code == 401
        assert person.refresh(client, tokens["refresh_token"]).status_code == 400


def test_revoking_a_strangers_or_an_unknown_token_changes_nothing(person: Any) -> None:
    client, other = person.register(), person.register(CLAUDE)
    tokens = person.tokens(client)
    for token in (tokens["refresh_token"], "unknown", ""):
        reply = person.http.post("/revoke", data={"token": token, "client_id": other["client_id"]})
        assert reply.status_code == 200
    assert person.call(tokens["access_token"]).status_code == 200
    refused = person.http.post("/revoke", data={"token": tokens["access_token"], "client_id": "unknown"})
    assert error_of(refused) == (401, "invalid_client")


def test_a_refusal_at_mcp_leads_to_the_login_and_says_error_only_for_a_bad_token(person: Any) -> None:
    none = person.call(None)
    assert none.status_code == 401
    challenge = none.headers["www-authenticate"]
    assert f'resource_metadata="{person.url}/.well-known/oauth-protected-resource/mcp"' in challenge
    assert 'scope="recall"' in challenge
    assert "error=" not in challenge
    bad = person.call("mcp_at_expired")
    assert bad.status_code == 401
    assert 'error="invalid_token"' in bad.headers["www-authenticate"]
    assert "resource_metadata=" in bad.headers["www-authenticate"]


def test_a_refresh_token_and_a_token_in_the_address_open_nothing(person: Any) -> None:
    tokens = person.tokens(person.register())
    assert person.call(tokens["refresh_token"]).status_code == 401
    reply = person.http.post(f"/mcp?access_token={tokens['access_token']}", json={})
    assert reply.status_code == 401


def test_expired_tokens_are_never_throttled(person: Any) -> None:
    assert [person.call(f"mcp_at_{number}").status_code for number in range(40)] == [401] * 40
    assert person.call(person.password).status_code == 200


def test_tokens_outlive_a_restart_but_not_a_changed_password(meet: Callable[..., Any]) -> None:
    before = meet(base_url="https://passages.example.org")
    client = before.register()
    tokens = before.token(client, before.code(client, resource=None)).json()
    again = meet(base_url="https://passages.example.org")
    assert again.call(tokens["access_token"]).status_code == 200
    assert again.refresh(client, tokens["refresh_token"]).status_code == 200
    changed = meet("another password", base_url="https://passages.example.org")
    assert changed.call(tokens["access_token"]).status_code == 401
    assert changed.refresh(client, tokens["refresh_token"]).status_code == 400


def test_without_a_grace_a_repeated_refresh_ends_the_grant(meet: Callable[..., Any]) -> None:
    person = meet(PASSAGEWAY_REFRESH_GRACE_SECONDS="0")
    client = person.register()
    tokens = person.tokens(client)
    renewed = person.refresh(client, tokens["refresh_token"]).json()
    assert error_of(person.refresh(client, tokens["refresh_token"])) == (400, "invalid_grant")
    assert person.call(renewed["access_token"]).status_code == 401


def test_a_token_for_another_address_of_this_server_is_refused(meet: Callable[..., Any]) -> None:
    before = meet(base_url="https://old.example.org")
    client = before.register()
    tokens = before.token(client, before.code(client, resource=None)).json()
    moved = meet(base_url="https://new.example.org")
    assert moved.call(tokens["access_token"]).status_code == 401


def test_no_log_line_holds_a_token_a_code_or_the_password(person: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client = person.register(CLAUDE, client_name="Claude")
        code = person.code(client)
        tokens = person.token(client, code).json()
        again = person.refresh(client, tokens["refresh_token"]).json()
        person.call(tokens["access_token"])
    ours = [record.getMessage() for record in caplog.records if record.name.split(".")[0] != "httpcore"]
    text = "\n".join(line for line in ours if "HTTP Request: " not in line)
    assert "oauth: signed in 'Claude'" in text
    for secret in (code, tokens["access_token"], tokens["refresh_token"], again["access_token"], person.password):
        assert secret not in text
