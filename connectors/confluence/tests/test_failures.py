"""What each call answers while Confluence is in trouble: a whole answer, or none and one clear message."""

from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from passageway_connector_confluence.testing import EMAIL, TOKEN, FakeConfluence, FakePage
from passageway_sdk.web.testing import Answer, Request

Call = Callable[..., Any]
LOGIN = (
    "<!DOCTYPE html><html><body><form action='/dologin.action'><input type='password' name='os_password'></form>"
    "</body></html>"
)


def fill(site: FakeConfluence) -> None:
    site.add(
        *(FakePage(str(n), f"Page {n}", f"<p>Text {n}.</p>") for n in range(1, 4)), FakePage("9", "Nine", space="HR")
    )


def failed(outcome: Any, *words: str) -> None:
    assert outcome.exit_code == 1
    assert outcome.messages == []
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert "Traceback" not in outcome.stderr
    assert TOKEN not in outcome.stderr and EMAIL not in outcome.stderr
    for word in words:
        assert word in outcome.stderr


def test_a_token_that_is_wrong_says_to_check_it(call: Call, either: FakeConfluence) -> None:
    fill(either)
    failed(call(either, "list", env={"TOKEN": "other"}), "HTTP 401", "the token is missing, wrong or expired; check it")


def test_a_redirect_to_the_login_page_is_a_sign_in_problem(call: Call, wiki: FakeConfluence) -> None:
    fill(wiki)

    def login(request: Request) -> Answer:
        if request.path == "/login.action":
            return Answer(LOGIN, content_type="text/html;charset=UTF-8")
        return Answer(status=302, headers={"Location": "/login.action?os_destination=%2F"})

    wiki.instead = login
    for argv in (["check"], ["list"], ["changed", "--since", "2026-03-10T00:00:00Z"]):
        failed(call(wiki, *argv), "/login.action?… answers with a sign-in page", "missing, wrong or expired")
    failed(call(wiki, "fetch", ids=["1", "2"]), "sign-in page")


def test_the_token_does_not_follow_a_redirect_to_another_host(call: Call, either: FakeConfluence) -> None:
    elsewhere = f"{either.server.other_url}/wiki/rest/api/content"

    def away(request: Request) -> Answer:
        return Answer(status=302, headers={"Location": elsewhere})

    either.instead = away
    failed(call(either, "list"), "redirects to another host")
    assert {request.headers["host"].partition(":")[0] for request in either.server.requests} == {"127.0.0.1"}


def test_the_token_does_not_follow_a_next_part_to_another_host(call: Call, wiki: FakeConfluence) -> None:
    other = wiki.server.other_url

    def answer(request: Request) -> Answer:
        following = "" if "start" in request.query else f'"next": "{other}/rest/api/content?start=50"'
        return Answer(f'{{"results": [], "_links": {{{following}}}}}')

    wiki.instead = answer
    assert call(wiki, "list", env={"SPACES": "OPS"}).exit_code == 0
    assert [request.target.rpartition("?")[2] for request in wiki.server.requests][1:] == ["start=50"]
    assert {request.headers["host"].partition(":")[0] for request in wiki.server.requests} == {"127.0.0.1"}


def test_an_outage_in_the_middle_of_a_fetch_leaves_nothing_half_done(
    call: Call, wiki: FakeConfluence, clock: Any
) -> None:
    fill(wiki)
    wiki.instead = lambda request: Answer(status=502) if request.path.endswith("/content/2") else None
    outcome = call(wiki, "fetch", ids=["1", "2", "3"])
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "/rest/api/content/2?…: HTTP 502; gave up after" in outcome.stderr.splitlines()[-1]
    assert sum(clock.slept) == 900


def test_a_part_of_the_listing_that_fails_fails_the_listing(call: Call, either: FakeConfluence, clock: Any) -> None:
    either.add(*(FakePage(str(n), f"P{n}") for n in range(1, 120)))
    either.instead = lambda request: Answer(status=500) if {"start", "cursor"} & request.query.keys() else None
    outcome = call(either, "list")
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "HTTP 500" in outcome.stderr.splitlines()[-1]


def test_a_storm_of_429_is_waited_out_and_each_long_wait_is_said(call: Call, wiki: FakeConfluence, clock: Any) -> None:
    fill(wiki)
    storm = [Answer(status=429, headers={"Retry-After": "600"}), *[Answer(status=429)] * 5]
    wiki.instead = lambda request: storm.pop(0) if storm else None
    outcome = call(wiki, "list")
    assert (outcome.exit_code, len(outcome.items)) == (0, 4)
    assert clock.slept == [300, 2, 4, 8, 16, 32]
    assert "HTTP 429" in outcome.stderr and "waiting 300 s (0 s of 900 s waited)" in outcome.stderr
    assert "waiting 16 s (314 s of 900 s waited)" in outcome.stderr


def test_a_date_in_retry_after_is_waited_for(call: Call, wiki: FakeConfluence, clock: Any) -> None:
    fill(wiki)
    storm = [Answer(status=429, headers={"Retry-After": formatdate(clock.now_s + 4, usegmt=True)})]
    wiki.instead = lambda request: storm.pop(0) if storm else None
    assert call(wiki, "list").exit_code == 0
    assert clock.slept == [4]


def test_a_body_that_was_cut_off_is_asked_for_again(call: Call, either: FakeConfluence) -> None:
    fill(either)
    cut = [Answer('{"results": []}', cut=True)]
    either.instead = lambda request: cut.pop(0) if cut else None
    assert len(call(either, "list").items) == 4


@pytest.mark.parametrize(
    "body", ["{}", "[]", '{"results": {}}', '{"results": [7]}', '{"results": [{"id": "x"}]}', "nothing"]
)
def test_an_answer_of_another_form_is_an_error_and_no_empty_listing(
    call: Call, either: FakeConfluence, body: str
) -> None:
    either.instead = lambda request: Answer(body)
    failed(call(either, "list"))


def test_a_listing_that_is_empty_by_mistake_says_so_for_each_space(call: Call, wiki: FakeConfluence) -> None:
    wiki.instead = lambda request: Answer('{"results": [], "_links": {}}')
    outcome = call(wiki, "list")
    assert (outcome.exit_code, outcome.messages) == (0, [])
    assert [line.partition("space ")[2][:5] for line in outcome.stderr.splitlines()] == ["'OPS'", "'HR' "]


def test_a_page_deleted_meanwhile_is_skipped_and_a_server_that_is_starting_is_no_deletion(
    call: Call, wiki: FakeConfluence
) -> None:
    fill(wiki)
    wiki.edit("2", status="trashed")
    assert list(call(wiki, "fetch", ids=["1", "2", "3"]).items) == ["1", "3"]
    starting = Answer("<html><body>HTTP Status 404 - Not Found</body></html>", status=404, content_type="text/html")
    wiki.instead = lambda request: starting
    failed(call(wiki, "fetch", ids=["1", "2", "3"]), "HTML page instead of a page of the wiki (HTTP 404)")


def test_an_address_of_something_else_says_to_check_it(call: Call, wiki: FakeConfluence) -> None:
    failed(call(wiki, "list", env={"URL": f"{wiki.server.url}/elsewhere"}), "HTTP 404", "check URL and SPACES")


@pytest.mark.parametrize("base", ["http://[::1", "javascript:alert(1)", "//wiki.example.org"])
def test_a_site_that_names_no_web_address_as_its_own_is_linked_to_by_the_configured_one(
    call: Call, either: FakeConfluence, base: str
) -> None:
    fill(either)
    either.base = base
    item = call(either, "fetch", ids=["1"]).items["1"]
    assert item["url"].startswith(f"{either.env['URL']}/")
