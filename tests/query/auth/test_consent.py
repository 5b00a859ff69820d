"""The consent page: who gets to see it, who can answer it, and where the answer goes."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

CLAUDE = "https://claude.ai/api/mcp/auth_callback"
STRANGE = "https://strange.example/cb"


def query_of(reply: httpx.Response) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.headers["location"]).query).items()}


def test_a_valid_request_shows_who_asks_and_where_it_leads(person: Any) -> None:
    page = person.authorize(person.register(CLAUDE, client_name="Claude"))
    assert page.status_code == 200
    assert "Connect Claude?" in page.text
    assert "claude.ai" in page.text
    assert "of no app that passageway knows" not in page.text


def test_an_address_of_no_known_app_gets_a_warning_and_a_loopback_one_a_hint(person: Any) -> None:
    strange = person.authorize(person.register(STRANGE))
    assert "of no app that passageway knows" in strange.text
    assert "strange.example" in strange.text
    assert "a program on the computer you are using now" in person.authorize(person.register()).text


def test_a_name_with_markup_is_shown_and_not_run(person: Any) -> None:
    page = person.authorize(person.register(client_name="<script>alert(1)</script>"))
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


def test_the_page_cannot_be_framed_or_stored_and_lets_the_answer_leave(person: Any) -> None:
    headers = person.authorize(person.register()).headers
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "changes",
    [
        {"resource": None},
        {"resource": "ORIGIN/"},
        {"resource": "ORIGIN/mcp/"},
        {"scope": None},
        {"scope": "claudeai recall offline_access"},
        {"state": None},
        {"redirect_uri": "http://127.0.0.1:49152/callback"},
        {"redirect_uri": None},
    ],
)
def test_what_clients_vary_is_accepted(person: Any, changes: dict[str, str | None]) -> None:
    asked = {name: value and value.replace("ORIGIN", person.url) for name, value in changes.items()}
    assert person.authorize(person.register(), **asked).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "unknown"},
        {"client_id": None},
        {"client_id": "https://evil.example/client.json"},
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": "http://127.0.0.1:49152/other"},
        {"redirect_uri": "http://127.0.0.1:1/callback/../x"},
        {"redirect_uri": "http://127.0.0.1@evil.example/callback"},
    ],
)
def test_an_unknown_client_or_address_is_a_page_and_never_a_redirect(
    person: Any, changes: dict[str, str | None]
) -> None:
    reply = person.authorize(person.register(), **changes)
    assert reply.status_code == 400
    assert "location" not in reply.headers
    assert reply.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("registered", "asked", "status"),
    [
        ("http://localhost/callback", "http://localhost:51212/callback", 200),
        ("http://127.0.0.1/callback", "http://127.0.0.1:51212/callback", 200),
        ("http://[::1]/callback", "http://[::1]:51212/callback", 200),
        ("http://localhost/callback", "http://localhost:51212/other", 400),
        ("http://localhost/callback", "http://127.0.0.1:51212/callback", 400),
        ("http://localhost/callback", "https://localhost:51212/callback", 400),
        (CLAUDE, CLAUDE.replace("claude.ai", "claude.ai:8443"), 400),
        (CLAUDE, CLAUDE + "/", 400),
        (CLAUDE, CLAUDE + "?a=b", 400),
        (CLAUDE, "http" + CLAUDE.removeprefix("https"), 400),
    ],
)
def test_an_app_on_this_computer_may_come_back_on_any_port_and_no_other_may(
    person: Any, registered: str, asked: str, status: int
) -> None:
    reply = person.authorize(person.register(registered), redirect_uri=asked)
    assert reply.status_code == status
    assert "location" not in reply.headers


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
    ],
)
def test_a_bad_request_of_a_known_app_is_told_to_the_app(
    person: Any, changes: dict[str, str | None], error: str
) -> None:
    reply = person.authorize(person.register(CLAUDE), **changes)
    assert reply.status_code == 302
    assert reply.headers["location"].startswith(CLAUDE + "?")
    answer = query_of(reply)
    assert (answer["error"], answer["state"], answer["iss"]) == (error, "xyz", person.url)
    assert "code" not in answer


def test_a_bad_request_of_a_stranger_stays_here(person: Any) -> None:
    reply = person.authorize(person.register(STRANGE), code_challenge_method="plain")
    assert reply.status_code == 400
    assert "location" not in reply.headers


def test_a_parameter_sent_twice_is_refused(person: Any) -> None:
    client = person.register()
    url = person.authorize(client).request.url
    reply = person.http.get(f"{url}&state=other")
    assert reply.status_code == 400
    assert "invalid_request" in reply.text


def test_the_password_sends_a_code_the_state_and_the_issuer_to_the_app(person: Any) -> None:
    reply = person.answer(person.authorize(person.register(CLAUDE)))
    assert reply.status_code == 302
    assert reply.headers["location"].startswith(CLAUDE + "?")
    answer = query_of(reply)
    assert (answer["state"], answer["iss"]) == ("xyz", person.url)
    assert len(answer["code"]) >= 43
    assert person.password not in reply.headers["location"]


def test_deny_tells_the_app_and_needs_no_password(person: Any) -> None:
    reply = person.answer(person.authorize(person.register(CLAUDE)), action="deny", password="")
    assert (query_of(reply)["error"], query_of(reply)["state"]) == ("access_denied", "xyz")
    assert query_of(reply)["iss"] == person.url


def test_the_form_answers_only_to_its_own_browser_page_and_request(person: Any) -> None:
    page = person.authorize(person.register(CLAUDE))
    other = person.authorize(person.register(STRANGE))
    assert person.answer(page, token="0" * 64).status_code == 403
    assert person.answer(page, cookies={}).status_code == 403
    assert person.answer(page, cookies=dict.fromkeys(page.cookies, "another browser's")).status_code == 403
    assert person.answer(page, headers={"Origin": "https://evil.example"}).status_code == 403
    assert person.answer(page, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    sealed = re.search(r'name="request" value="([^"]+)"', other.text)
    assert sealed
    assert person.answer(page, request=sealed[1]).status_code == 403
    assert person.answer(page, request=sealed[1][:-2]).status_code == 400
    assert person.answer(page).status_code == 302


def test_wrong_passwords_are_told_and_then_slowed_for_the_right_one_too(newcomer: Any) -> None:
    page = newcomer.authorize(newcomer.register(CLAUDE))
    wrong = [newcomer.answer(page, password="wrong") for _ in range(5)]
    assert [reply.status_code for reply in wrong] == [401] * 5
    assert all("location" not in reply.headers for reply in wrong)
    refused = newcomer.answer(page)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) <= 60


def test_the_form_shown_again_after_a_wrong_password_works(newcomer: Any) -> None:
    page = newcomer.authorize(newcomer.register(CLAUDE))
    again = newcomer.answer(page, password="wrong")
    assert newcomer.answer(again, cookies=dict(page.cookies)).status_code == 302


@pytest.mark.parametrize("state", ["s" * 50_000, "\x01" * 15_000, "ü\r\n🎉"])
def test_whatever_an_app_sends_along_comes_back_to_it(person: Any, state: str) -> None:
    page = person.authorize(person.register(CLAUDE), state=state)
    assert query_of(person.answer(page))["state"] == state


def test_a_huge_answer_is_413(person: Any) -> None:
    assert person.http.post("/login", content=b"a=" + b"x" * 300_000).status_code == 413


def test_two_sign_ins_side_by_side_in_one_browser_both_work(newcomer: Any) -> None:
    with httpx.Client(base_url=newcomer.url) as browser:
        newcomer.http = browser
        one, two = newcomer.register(CLAUDE), newcomer.register(STRANGE)
        first, second = newcomer.authorize(one), newcomer.authorize(two)
        cookies = dict(browser.cookies)
        assert newcomer.answer(first, cookies=cookies).status_code == 302
        assert newcomer.answer(second, cookies=cookies).status_code == 302


def test_a_connected_app_is_listed_on_the_page_and_can_be_disconnected(newcomer: Any) -> None:
    client = newcomer.register(CLAUDE, client_name="Claude")
    tokens = newcomer.tokens(client)
    with httpx.Client(base_url=newcomer.url) as owner:
        token = re.search(r'name="token" value="(\w+)"', owner.get("/sign-in").text)
        assert token
        owner.post("/sign-in", data={"token": token[1], "password": newcomer.password})
        home = owner.get("/").text
        grant = re.search(r'name="grant" value="(\w+)"', home)
        form = re.search(r'name="token" value="(\w+)"', home)
        assert grant and form
        assert "<h3>Claude</h3>" in home
        assert owner.post("/disconnect", data={"grant": grant[1], "token": "0" * 64}).status_code == 303
        assert newcomer.call(tokens["access_token"]).status_code == 200
        assert owner.post("/disconnect", data={"grant": grant[1], "token": form[1]}).status_code == 303
        assert "No app has signed in" in owner.get("/").text
    assert newcomer.call(tokens["access_token"]).status_code == 401


def test_a_registration_outlives_a_restart(meet: Callable[..., Any]) -> None:
    before = meet()
    client = before.register(CLAUDE)
    after = meet()
    assert after.authorize(client).status_code == 200
