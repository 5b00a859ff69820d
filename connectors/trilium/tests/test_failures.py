"""What each call answers while Trilium is in trouble: a whole answer, or none and one clear message."""

from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from passageway_connector_trilium.testing import TOKEN, FakeNote, FakeTrilium
from passageway_sdk.web.testing import Answer, Request

Call = Callable[..., Any]
LOGIN = "<!DOCTYPE html><html><body><form action='/login'><input type='password' name='password'></form></body></html>"


@pytest.fixture(autouse=True)
def notes(trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("a", "A", "<p>First.</p>"), FakeNote("b", "B", "<p>Second.</p>"), FakeNote("c", "C", "<p>Third.</p>")
    )


def only(path: str, answer: Answer) -> Callable[[Request], Answer | None]:
    return lambda request: answer if request.path.endswith(path) else None


def failed(outcome: Any, *words: str) -> None:
    assert outcome.exit_code == 1
    assert outcome.messages == []
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert "Traceback" not in outcome.stderr and TOKEN not in outcome.stderr
    for word in words:
        assert word in outcome.stderr


def test_a_token_that_is_wrong_says_to_check_it(call: Call) -> None:
    failed(call("list", env={"TOKEN": "other"}), "HTTP 401", "the token is missing, wrong or expired; check it")


def test_an_outage_in_the_middle_of_a_fetch_leaves_nothing_half_done(
    call: Call, trilium: FakeTrilium, clock: Any
) -> None:
    trilium.instead = only("/b/content", Answer(status=502))
    outcome = call("fetch", ids=["a", "b", "c"])
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "/etapi/notes/b/content: HTTP 502; gave up after" in outcome.stderr.splitlines()[-1]
    assert sum(clock.slept) == 900


def test_a_storm_of_429_is_waited_out_and_each_long_wait_is_said(call: Call, trilium: FakeTrilium, clock: Any) -> None:
    storm = [Answer(status=429, headers={"Retry-After": "20"}), Answer(status=429), Answer(status=429)]
    trilium.instead = lambda request: storm.pop(0) if storm else None
    outcome = call("list")
    assert (outcome.exit_code, sorted(outcome.items)) == (0, ["a", "b", "c"])
    assert clock.slept == [20, 2, 4]
    assert "HTTP 429" in outcome.stderr and "waiting 20 s (0 s of 900 s waited)" in outcome.stderr


def test_a_date_in_retry_after_is_waited_for(call: Call, trilium: FakeTrilium, clock: Any) -> None:
    storm = [Answer(status=429, headers={"Retry-After": formatdate(clock.now_s + 4, usegmt=True)})]
    trilium.instead = lambda request: storm.pop(0) if storm else None
    assert call("list").exit_code == 0
    assert clock.slept == [4]


def test_a_sign_in_page_with_status_200_is_no_listing(call: Call, trilium: FakeTrilium) -> None:
    trilium.instead = lambda request: Answer(LOGIN, content_type="text/html")
    failed(call("list"), "sign-in page", "missing, wrong or expired")
    failed(call("changed", "--since", "2026-01-01T00:00:00Z"), "sign-in page")


def test_a_sign_in_page_in_place_of_a_content_is_no_content(call: Call, trilium: FakeTrilium) -> None:
    trilium.instead = only("/b/content", Answer(LOGIN, content_type="text/html"))
    failed(call("fetch", ids=["a", "b", "c"]), "sign-in page instead of the content of a note")


def test_a_redirect_to_a_sign_in_page_in_place_of_a_content_is_no_content(call: Call, trilium: FakeTrilium) -> None:
    def answer(request: Request) -> Answer | None:
        if request.path == "/login":
            return Answer("<p>Please sign in</p>", content_type="text/html")
        return Answer(status=302, headers={"Location": "/login"}) if request.path.endswith("/b/content") else None

    trilium.instead = answer
    failed(call("fetch", ids=["a", "b"]), "/login answers with a sign-in page")


def test_the_token_does_not_follow_a_redirect_to_another_host(call: Call, trilium: FakeTrilium) -> None:
    other = f"{trilium.server.other_url}/etapi/notes"
    trilium.instead = lambda request: (
        None if "localhost" in request.headers["host"] else Answer(status=302, headers={"Location": other})
    )
    failed(call("list"), "redirects to another host")
    assert all("127.0.0.1" in request.headers["host"] for request in trilium.server.requests)


def test_a_note_that_is_a_whole_page_with_a_password_field_is_read_when_trilium_sends_it(
    call: Call, trilium: FakeTrilium
) -> None:
    trilium.add(FakeNote("page", "Page", LOGIN, type="code"), FakeNote("form", "Form", LOGIN))
    outcome = call("fetch", ids=["page", "form"])
    assert (outcome.exit_code, sorted(outcome.items)) == (0, ["form", "page"])


def test_a_body_that_was_cut_off_is_asked_for_again(call: Call, trilium: FakeTrilium) -> None:
    cut = [Answer('{"results": []}', cut=True)]
    trilium.instead = lambda request: cut.pop(0) if cut else None
    assert sorted(call("list").items) == ["a", "b", "c"]


def test_a_server_that_stays_down_says_how_long_it_was_waited_for(call: Call, trilium: FakeTrilium, clock: Any) -> None:
    trilium.instead = lambda request: Answer(status=503)
    outcome = call("check")
    assert outcome.exit_code == 1
    assert outcome.messages == []
    assert "HTTP 503; gave up after" in outcome.stderr.splitlines()[-1]
    assert sum(clock.slept) == 900


@pytest.mark.parametrize("body", ["{}", "[]", '{"results": {}}', '{"results": [7]}', "nothing", '{"results": ['])
def test_an_answer_of_another_form_is_an_error_and_no_empty_listing(
    call: Call, trilium: FakeTrilium, body: str
) -> None:
    trilium.instead = lambda request: Answer(body)
    failed(call("list"))


def test_an_empty_listing_is_reported_as_it_is_so_that_the_core_can_refuse_it(call: Call, trilium: FakeTrilium) -> None:
    trilium.instead = lambda request: Answer('{"results": []}')
    assert (call("list").exit_code, call("list").messages) == (0, [])


def test_a_note_deleted_meanwhile_is_skipped_and_then_no_longer_listed(call: Call, trilium: FakeTrilium) -> None:
    del trilium.notes["b"]
    assert list(call("fetch", ids=["a", "b", "c"]).items) == ["a", "c"]
    assert list(call("list").items) == ["a", "c"]
    trilium.instead = only("/c/content", Answer('{"status": 404, "code": "NOTE_NOT_FOUND", "message": ""}', status=404))
    assert list(call("fetch", ids=["a", "c"]).items) == ["a"]


def test_a_content_that_trilium_refuses_for_another_reason_fails_the_call(call: Call, trilium: FakeTrilium) -> None:
    trilium.instead = only(
        "/b/content", Answer('{"status": 400, "code": "SOMETHING_ELSE", "message": "x"}', status=400)
    )
    failed(call("fetch", ids=["a", "b"]), "HTTP 400", "SOMETHING_ELSE")
