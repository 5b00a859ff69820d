"""What the connector answers when the wiki does not."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from passageway_sdk.web.testing import Answer

Calls = Callable[..., Any]
SIGN_IN = Answer(
    '<!DOCTYPE html><html><form action="/login"><input type="password"></form></html>', content_type="text/html"
)


@pytest.fixture(autouse=True)
def masts(wiki: Any, mediawiki: ModuleType) -> None:
    wiki.add(*(mediawiki.Page(n, f"Mast {n}", f"Text {n}.", categories=("Category:Masts",)) for n in (1, 2, 3)))


def test_a_lagging_wiki_is_asked_again_after_the_time_it_names(
    wiki: Any, mediawiki: ModuleType, call: Calls, clock: Any
) -> None:
    wiki.faults.append(mediawiki.lagging("2"))
    result = call("fetch", "1", TITLES="x")
    assert result.code == 0 and json.loads(result.stdout)["sections"][0]["text"] == "Text 1."
    assert clock.slept == [2]


def test_a_wiki_that_never_stops_lagging_is_given_up_by_name(
    wiki: Any, mediawiki: ModuleType, call: Calls, clock: Any
) -> None:
    wiki.faults.extend([mediawiki.lagging("5")] * 100)
    result = call("list", CATEGORIES="Masts")
    assert (result.code, result.stdout) == (1, "")
    assert "maxlag, 6.1 s behind; gave up after" in result.stderr and "900 s of waiting" in result.stderr
    assert sum(clock.slept) == 900


def test_a_rate_limit_told_with_status_200_is_waited_out(
    wiki: Any, mediawiki: ModuleType, call: Calls, clock: Any
) -> None:
    wiki.faults.append(mediawiki.reply(mediawiki.error("ratelimited", "You've exceeded your rate limit.")))
    assert call("list", CATEGORIES="Masts").code == 0
    assert clock.slept == [1]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_storm_of_refusals_is_waited_out_and_said(wiki: Any, call: Calls, clock: Any, status: int) -> None:
    wiki.faults.extend([Answer(status=status, headers={"Retry-After": "1"})] * 6)
    result = call("list", CATEGORIES="Masts")
    assert result.code == 0 and len(result.stdout.splitlines()) == 3
    assert clock.slept == [1, 2, 4, 8, 16, 32]
    assert f"HTTP {status} from {wiki.server.url}/w/api.php" in result.stderr
    assert "waiting 16 s (15 s of 900 s waited)" in result.stderr


def test_a_fault_of_the_wiki_itself_fails_at_once(wiki: Any, call: Calls, clock: Any) -> None:
    wiki.faults.append(Answer(status=500))
    result = call("list", CATEGORIES="Masts")
    assert (result.code, result.stdout, clock.slept) == (1, "", []) and "HTTP 500" in result.stderr


def test_an_outage_in_the_middle_of_a_fetch_prints_nothing(wiki: Any, call: Calls, clock: Any) -> None:
    wiki.faults.extend([None, None, *[Answer(status=503)] * 100])
    result = call("fetch", "1", "2", "3", TITLES="x")
    assert (result.code, result.stdout) == (1, "") and "HTTP 503; gave up after 21 attempts" in result.stderr


def test_a_body_that_is_cut_off_is_asked_for_again(wiki: Any, mediawiki: ModuleType, call: Calls, clock: Any) -> None:
    wiki.faults.append(Answer(b'{"query": {"pages": []}, "batchcomplete": true}', cut=True))
    assert len(call("list", CATEGORIES="Masts").stdout.splitlines()) == 3
    assert clock.slept == [1]


def test_a_sign_in_page_with_status_200_is_an_error_and_no_item(wiki: Any, call: Calls, clock: Any) -> None:
    for mode, ids in (("list", ()), ("fetch", ("1",))):
        wiki.faults.append(SIGN_IN)
        result = call(mode, *ids, CATEGORIES="Masts")
        assert (result.code, result.stdout) == (1, "") and "sign-in page" in result.stderr


def test_an_api_url_that_leads_to_a_page_says_so(wiki: Any, call: Calls) -> None:
    result = call("list", TITLES="x", API_URL=f"{wiki.server.url}/wiki/Main_Page")
    assert result.code == 1 and "an HTML page instead of JSON" in result.stderr


def test_an_error_of_the_api_is_passed_on_with_its_code(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.faults.append(mediawiki.reply(mediawiki.error("readapidenied", "You need read permission.")))
    result = call("list", TITLES="x")
    assert result.code == 1 and "'readapidenied': You need read permission." in result.stderr


@pytest.mark.parametrize(
    "body", ["", "[]", '"x"', "{", '{"query": []}', '{"query": {"pages": {"1": {}}}}', '{"continue": [1]}']
)
def test_an_answer_of_another_form_is_an_error(wiki: Any, call: Calls, body: str) -> None:
    wiki.faults.append(Answer(body))
    result = call("list", TITLES="x")
    assert (result.code, result.stdout) == (1, "") and "Traceback" not in result.stderr


def test_a_deletion_an_edit_and_a_new_page_show_in_the_next_listing(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    before = call("list", CATEGORIES="Masts").stdout
    del wiki.pages[2]
    wiki.edit(3, extract="New text.")
    wiki.add(mediawiki.Page(4, "Mast 4", categories=("Category:Masts",)))
    after = [json.loads(line) for line in call("list", CATEGORIES="Masts").stdout.splitlines()]
    assert [json.loads(line)["id"] for line in before.splitlines()] == ["1", "2", "3"]
    assert after == [{"id": "1", "version": "1"}, {"id": "3", "version": "2"}, {"id": "4", "version": "1"}]
