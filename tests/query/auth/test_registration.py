"""Clients that introduce themselves: what is accepted, and that nothing is kept of them."""

import json
import time
from typing import Any

import httpx
import pytest

from passageway_query.auth.clients import PINNED, RegistrationError, Registry

KEY = b"k" * 32


def register(metadata: Any, key: bytes = KEY) -> dict[str, Any]:
    _, answer = Registry(key).register(metadata, int(time.time()))
    return answer


def test_a_client_id_brings_its_own_record_back_even_after_a_restart() -> None:
    answer = register({"redirect_uris": ["https://a.example/cb"], "client_name": "Ä <app>"})
    client = Registry(KEY).find(answer["client_id"])
    assert client
    assert (client.name, client.redirect_uris) == ("Ä <app>", ("https://a.example/cb",))


def test_a_client_that_registered_years_ago_is_still_known() -> None:
    _, answer = Registry(KEY).register({"redirect_uris": ["https://a.example/cb"]}, int(time.time()) - 3 * 365 * 86_400)
    assert Registry(KEY).find(answer["client_id"])


def test_a_client_id_of_another_server_or_a_changed_one_is_unknown() -> None:
    client_id = register({"redirect_uris": ["https://a.example/cb"]})["client_id"]
    other = register({"redirect_uris": ["https://evil.example/cb"]})["client_id"]
    forged = f"{other.partition('.')[0]}.{client_id.partition('.')[2]}"
    for unknown in (forged, client_id[:-1], client_id + "A", "", None, ".", "a.b", "ä.b", "x" * 100_000):
        assert Registry(KEY).find(unknown) is None
    assert Registry(b"o" * 32).find(client_id) is None


def test_the_answer_holds_no_null_no_secret_and_what_clients_look_for() -> None:
    answer = register(
        {
            "redirect_uris": ["http://localhost/callback"],
            "token_endpoint_auth_method": "client_secret_basic",
            "scope": "claudeai profile offline_access",
            "application_type": "native",
            "logo_uri": None,
        }
    )
    assert all(value not in (None, "") for value in answer.values())
    assert "client_secret" not in answer
    assert answer["token_endpoint_auth_method"] == "none"
    assert answer["redirect_uris"] == ["http://localhost/callback"]
    assert answer["grant_types"] == ["authorization_code", "refresh_token"]
    assert answer["response_types"] == ["code"]
    assert answer["scope"] == "recall"
    assert answer["application_type"] == "native"


@pytest.mark.parametrize("metadata", [None, [], "x", 5])
def test_metadata_that_is_no_object_is_refused(metadata: Any) -> None:
    with pytest.raises(RegistrationError) as error:
        register(metadata)
    assert error.value.code == "invalid_client_metadata"


@pytest.mark.parametrize(
    "uris",
    [
        None,
        [],
        "https://a.example/cb",
        [None],
        [5],
        ["javascript:alert(1)"],
        ["https://a.example/cb", "http://evil.example/cb"],
        ["https://a.example/" + "x" * 2_000],
        [f"https://a.example/{number}" for number in range(11)],
    ],
)
def test_redirect_addresses_are_checked_each_and_together(uris: Any) -> None:
    with pytest.raises(RegistrationError) as error:
        register({"redirect_uris": uris})
    assert error.value.code == "invalid_redirect_uri"


@pytest.mark.parametrize("name", [None, "", 5, ["x"], "  "])
def test_a_client_without_a_name_gets_one(name: Any) -> None:
    assert register({"redirect_uris": ["https://a.example/cb"], "client_name": name})["client_name"] == "An MCP client"


def test_a_name_is_one_line_of_a_hundred_letters_at_most() -> None:
    answer = register({"redirect_uris": ["https://a.example/cb"], "client_name": "a\n" * 500})
    assert len(answer["client_name"]) == 100
    assert "\n" not in answer["client_name"]


@pytest.mark.parametrize("odd", ["\u202e", "\u2066", "\u200b", "\x00", "\x1b[31m", "\ud83d", "\ufeff", "\U000e0041"])
def test_a_name_holds_nothing_that_turns_hides_or_breaks_the_text_around_it(person: Any, odd: str) -> None:
    body = json.dumps({"redirect_uris": ["https://a.example/cb"], "client_name": f"{odd}Cla{odd}ude{odd}"})
    reply = person.http.post("/register", content=body)
    assert reply.status_code == 201
    assert reply.json()["client_name"].replace("[31m", "") == "Claude"
    assert person.authorize(reply.json()).status_code == 200


def test_the_clients_of_claude_are_known_by_their_documents_addresses() -> None:
    for client_id, (name, uris) in PINNED.items():
        client = Registry(KEY).find(client_id)
        assert client and (client.name, client.redirect_uris) == (name, uris)
    assert Registry(KEY).find("https://evil.example/client.json") is None


def test_registration_over_http_answers_201_to_any_origin(person: Any) -> None:
    reply = person.http.post(
        "/register", json={"redirect_uris": ["https://a.example/cb"]}, headers={"Origin": "https://a.example"}
    )
    assert reply.status_code == 201
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 60_000, b"[]"])
def test_a_registration_that_is_no_json_object_is_400(person: Any, body: bytes) -> None:
    reply = person.http.post("/register", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"] == "invalid_client_metadata"


def test_a_registration_over_64_kib_is_413_declared_or_not(person: Any) -> None:
    body = b'{"redirect_uris": ["https://a.example/cb"], "software_id": "' + b"x" * 200_000 + b'"}'
    assert person.http.post("/register", content=body).status_code == 413
    chunks = (body[start : start + 8192] for start in range(0, len(body), 8192))
    assert person.http.post("/register", content=chunks).status_code == 413


def test_fifty_registrations_in_a_row_are_fine_and_a_flood_is_slowed(newcomer: Any) -> None:
    body = {"redirect_uris": ["https://claude.ai/api/mcp/auth_callback"]}
    statuses = [newcomer.http.post("/register", json=body).status_code for _ in range(65)]
    assert statuses[:50] == [201] * 50
    assert statuses[-1] == 429
    reply: httpx.Response = newcomer.http.post("/register", json=body)
    assert reply.headers["retry-after"] == "60"
