import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from passageway_connector_confluence.testing import EMAIL, TOKEN, FakeConfluence, FakePage
from passageway_sdk.web.testing import Answer, Request

Call = Callable[..., Any]
SINCE = "2026-03-10T21:15:30Z"


def links_to(*titles: str, space: str = "") -> str:
    key = f' ri:space-key="{space}"' if space else ""
    return "".join(f'<p><ac:link><ri:page ri:content-title="{escape(title)}"{key}/></ac:link></p>' for title in titles)


def small_site(site: FakeConfluence) -> None:
    site.add(
        FakePage("101", "Operations"),
        FakePage("102", "Runbooks", parent="101"),
        FakePage(
            "103",
            "Restart the gateway",
            "<h2>Steps</h2><p>Drain, then restart.</p>",
            "OPS",
            "102",
            ("runbook", "gateway"),
        ),
        FakePage("201", "Holidays", "<p>Thirty days.</p>", "HR"),
    )


def test_check_counts_the_pages_of_all_spaces(call: Call, either: FakeConfluence) -> None:
    small_site(either)
    either.add(
        FakePage("900", "Elsewhere", space="SALES"),
        FakePage("901", "News", type="blogpost"),
        FakePage("902", "Gone", status="trashed"),
    )
    outcome = call(either, "check")
    assert (outcome.exit_code, outcome.messages) == (0, [{"ok": True, "count": 4, "protocol": "1"}])


def test_a_page_s_record_says_where_it_stands(call: Call, either: FakeConfluence) -> None:
    small_site(either)
    listed = call(either, "list")
    assert call(either, "fetch", ids=["103"]).messages == [
        {
            "id": "103",
            "title": "Restart the gateway",
            "url": f"https://wiki.example.org{either.context}/spaces/OPS/pages/103/Restart+the+gateway",
            "version": listed.items["103"]["version"],
            "sections": [{"heading": "Steps", "text": "Drain, then restart."}],
            "weight": 1.0,
            "path": ["Operations", "Runbooks"],
            "links": [],
            "labels": ["space:OPS", "gateway", "runbook"],
            "updated": "2026-03-10T12:00:00Z",
        }
    ]
    assert listed.items["103"]["version"].startswith("1-")


def test_a_data_center_gets_the_token_as_bearer_and_cloud_address_and_token_as_basic(
    call: Call, either: FakeConfluence
) -> None:
    small_site(either)
    assert call(either, "list").exit_code == 0
    kind, _, value = either.server.requests[0].headers["authorization"].partition(" ")
    expected = ("Basic", f"{EMAIL}:{TOKEN}") if either.kind == "cloud" else ("Bearer", TOKEN)
    assert (kind, b64decode(value).decode() if kind == "Basic" else value) == expected


def test_cloud_is_asked_below_wiki_and_only_by_search(call: Call) -> None:
    with FakeConfluence(kind="cloud") as cloud:
        small_site(cloud)
        for url in (cloud.server.url, f"{cloud.server.url}/wiki", f"{cloud.server.url}/wiki/"):
            assert sorted(call(cloud, "list", env={"URL": url}).items) == ["101", "102", "103", "201"]
        assert call(cloud, "fetch", ids=["103", "201", "999"]).exit_code == 0
        assert {request.path for request in cloud.server.requests} == {"/wiki/rest/api/content/search"}


def test_the_path_has_the_four_nearest_ancestors_nearest_last(call: Call, wiki: FakeConfluence) -> None:
    wiki.add(*(FakePage(str(n), f"Level {n}", parent=str(n - 1)) for n in range(1, 8)))
    assert call(wiki, "fetch", ids=["7"]).messages[0]["path"] == ["Level 3", "Level 4", "Level 5", "Level 6"]


def test_a_label_that_only_its_owner_sees_is_left_out(call: Call, wiki: FakeConfluence) -> None:
    wiki.add(FakePage("1", "A", labels=("my:favourite", "team:core", "plain")))
    assert call(wiki, "fetch", ids=["1"]).messages[0]["labels"] == ["space:OPS", "core", "plain"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["1", "2", "3", "4"]),
        ({"INCLUDE_LABELS": "Public|faq"}, ["1", "2"]),
        ({"EXCLUDE_LABELS": "draft"}, ["1", "4"]),
        ({"INCLUDE_LABELS": "public", "EXCLUDE_LABELS": "DRAFT"}, ["1"]),
    ],
)
def test_labels_decide_what_is_in_scope_in_every_call(
    call: Call, either: FakeConfluence, settings: dict[str, str], expected: list[str]
) -> None:
    labels = {"1": ("public",), "2": ("public", "draft"), "3": ("draft",), "4": ()}
    either.add(*(FakePage(page_id, f"P{page_id}", labels=names) for page_id, names in labels.items()))
    assert sorted(call(either, "list", env=settings).items) == expected
    assert sorted(call(either, "fetch", ids=list(labels), env=settings).items) == expected
    assert sorted(call(either, "changed", "--since", "2026-03-10T11:00:00Z", env=settings).items) == expected


def test_spaces_are_found_whatever_the_case_of_their_keys(call: Call, either: FakeConfluence) -> None:
    small_site(either)
    lower = {"SPACES": "ops|hr"}
    listed = call(either, "list", env=lower)
    fetched = call(either, "fetch", ids=sorted(listed.items), env=lower)
    assert {item["id"]: item["version"] for item in fetched.messages} == {
        item["id"]: item["version"] for item in listed.messages
    }
    assert fetched.items["201"]["labels"] == ["space:HR"]


def test_pages_out_of_scope_gone_or_never_there_are_not_fetched(call: Call, either: FakeConfluence) -> None:
    small_site(either)
    either.add(
        FakePage("900", "Elsewhere", space="SALES"),
        FakePage("902", "Gone", status="trashed"),
        FakePage("903", "News", type="blogpost"),
    )
    assert list(call(either, "fetch", ids=["900", "902", "903", "777", "abc", "103", "../7"]).items) == ["103"]
    assert not any(".." in asked or "abc" in asked for asked in either.asked())


def test_a_list_goes_on_as_long_as_there_is_a_next_part_whatever_its_size(call: Call) -> None:
    def part(start: int, count: int, **following: str) -> Answer:
        page = {"type": "page", "space": {"key": "OPS"}, "version": {"number": 1}}
        pages = [page | {"id": str(start + n), "title": f"T{start + n}"} for n in range(count)]
        links = {"base": "https://h.test/conf", "context": "/conf", **following}
        return Answer(json.dumps({"results": pages, "limit": 50, "size": count, "_links": links}))

    def answer(request: Request) -> Answer:
        return {
            "0": part(1, 3, next="/rest/api/content?spaceKey=OPS&start=50"),
            "50": part(51, 0, next="/conf/rest/api/content?spaceKey=OPS&start=60"),
            "60": part(61, 1, next="https://h.test/conf/rest/api/content?spaceKey=OPS&start=70"),
            "70": part(71, 2),
        }[request.query.get("start", "0")]

    with FakeConfluence(context="/conf") as site:
        site.instead = answer
        outcome = call(site, "list", env={"SPACES": "OPS"})
        assert (outcome.exit_code, list(outcome.items)) == (0, ["1", "2", "3", "61", "71", "72"])
        assert [request.target.partition("?")[0] for request in site.server.requests] == ["/conf/rest/api/content"] * 4
        assert site.server.requests[0].query["limit"] == "100"


@pytest.mark.parametrize("context", ["", "/conf"])
def test_all_parts_of_a_long_list_are_read_below_the_context_path(call: Call, context: str) -> None:
    with FakeConfluence(context=context) as site:
        site.add(*(FakePage(str(n), f"P{n}", space="OPS" if n % 3 else "HR") for n in range(1, 231)))
        outcome = call(site, "list")
        assert len(outcome.items) == 230
        assert outcome.messages[0].keys() == {"id", "version"}
        assert (
            call(site, "fetch", ids=["7"]).messages[0]["url"].startswith(f"https://wiki.example.org{context}/spaces/")
        )


def test_a_next_part_that_leads_back_stops_with_an_error(call: Call, wiki: FakeConfluence) -> None:
    body = '{"results": [], "_links": {"next": "/rest/api/content?start=50"}}'
    wiki.instead = lambda request: Answer(body)
    outcome = call(wiki, "list")
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "lead round in a circle" in outcome.stderr
    assert len(wiki.server.requests) == 2


def test_a_list_that_only_ever_promises_more_stops_with_an_error(call: Call, wiki: FakeConfluence) -> None:
    def more(request: Request) -> Answer:
        start = int(request.query.get("start", "0")) + 50
        return Answer(f'{{"results": [], "_links": {{"next": "/rest/api/content?start={start}"}}}}')

    wiki.instead = more
    assert call(wiki, "list").exit_code == 1
    assert len(wiki.server.requests) < 200


def test_more_pages_than_allowed_is_a_message_and_no_part_of_the_list(call: Call, wiki: FakeConfluence) -> None:
    small_site(wiki)
    assert len(call(wiki, "list", env={"MAX_PAGES": "4"}).items) == 4
    outcome = call(wiki, "list", env={"MAX_PAGES": "3"})
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "more than the 3 pages of MAX_PAGES" in outcome.stderr


def test_a_space_that_lists_no_pages_is_a_warning(call: Call, either: FakeConfluence) -> None:
    either.add(FakePage("1", "A"))
    outcome = call(either, "list")
    assert (outcome.exit_code, list(outcome.items)) == (0, ["1"])
    assert outcome.stderr == (
        "confluence connector: warning: space 'HR' lists no pages: check its key and what the token may read\n"
    )


def test_a_space_that_is_not_there_fails_the_listing_by_name(call: Call, wiki: FakeConfluence) -> None:
    small_site(wiki)
    outcome = call(wiki, "list", env={"SPACES": "OPS|NOPE"})
    assert (outcome.exit_code, outcome.messages) == (1, [])
    assert "HTTP 404, space 'NOPE' is not there for this token; check URL and SPACES" in outcome.stderr


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati", "Etc/GMT+12", "UTC", "Asia/Kathmandu"])
def test_an_edit_is_found_whatever_zone_the_server_reads_times_in(call: Call, zone: str) -> None:
    with FakeConfluence(zone=ZoneInfo(zone)) as site:
        edited = datetime(2026, 3, 10, 21, 20, tzinfo=UTC)
        site.add(
            FakePage("1", "Old", modified=edited - timedelta(days=2)), FakePage("2", "New", "<p>n</p>", modified=edited)
        )
        outcome = call(site, "changed", "--since", SINCE)
        assert list(outcome.items) == ["2"]
        assert outcome.messages == call(site, "fetch", ids=["2"]).messages
        assert site.asked()[0] == 'space in ("OPS", "HR") and type = page and lastmodified >= "2026-03-10 07:15"'


def test_a_poll_reads_no_page_that_the_poll_before_has_seen(call: Call, wiki: FakeConfluence) -> None:
    since = datetime(2026, 3, 10, 21, 15, 30, tzinfo=UTC)
    wiki.add(
        FakePage("1", "This morning", modified=since - timedelta(hours=9)),
        FakePage("2", "Late in the search", modified=since - timedelta(minutes=14)),
        FakePage("3", "Just now", modified=since + timedelta(minutes=1)),
    )
    assert list(call(wiki, "changed", "--since", SINCE).items) == ["2", "3"]
    assert "/rest/api/content/1" not in wiki.asked()


def test_changed_costs_one_search_when_nothing_changed(call: Call, wiki: FakeConfluence) -> None:
    small_site(wiki)
    assert call(wiki, "changed", "--since", "2026-03-12T00:00:00Z").messages == []
    assert len(wiki.server.requests) == 1


def test_links_by_title_and_by_address_become_ids(call: Call, either: FakeConfluence) -> None:
    site = f"https://wiki.example.org{either.context}"
    hrefs = [
        f"{site}/pages/viewpage.action?pageId=7#steps",
        f"{either.context}/display/OPS/By+display",
        f"{site}/spaces/HR/pages/9/Some+Title",
        f"{either.server.url}{either.context}/spaces/OPS/pages/10",
        "https://other.example.org/spaces/OPS/pages/11/x",
        "https://wiki.example.org:99999999/spaces/OPS/pages/12/x",
        "http://[broken/spaces/OPS/pages/12/x",
        "mailto:ann@example.org",
        "#anchor",
    ]
    anchors = "".join(f'<p><a href="{href}">x</a></p>' for href in hrefs)
    titles = (
        links_to("hull", "Nowhere", 'Say "hi" and \\ go', "Links")
        + links_to("Holidays", space="HR")
        + links_to("Far", space="SALES")
    )
    either.add(
        FakePage("1", "Links", titles + anchors),
        FakePage("2", "Hull"),
        FakePage("3", "By display"),
        FakePage("4", "Holidays", space="HR"),
        FakePage("5", "Far", space="SALES"),
        FakePage("6", 'Say "hi" and \\ go'),
        FakePage("8", "Hull", space="HR"),
    )
    outcome = call(either, "fetch", ids=["1"])
    assert outcome.stderr == ""
    assert outcome.messages[0]["links"] == ["2", "6", "4", "7", "3", "9", "10"]


def test_a_title_at_hand_needs_no_search_and_many_titles_fit_their_addresses(call: Call, wiki: FakeConfluence) -> None:
    names = [f"Überschrift {'x' * 150} {n}" for n in range(100)]
    wiki.add(FakePage("1", "One", links_to("Two", *names)), FakePage("2", "Two", links_to("One")))
    wiki.add(*(FakePage(str(1000 + n), name) for n, name in enumerate(names)))
    items = call(wiki, "fetch", ids=["1", "2"]).items
    assert items["2"]["links"] == ["1"]
    assert len(items["1"]["links"]) == 101
    assert max(len(request.target) for request in wiki.server.requests) < 4000


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("body", {"body": "<p>Other.</p>"}),
        ("title", {"title": "Other"}),
        ("labels", {"labels": ("new",)}),
        ("move", {"parent": "102"}),
    ],
)
def test_a_version_changes_with_the_page_its_labels_and_its_place(
    call: Call, either: FakeConfluence, what: str, changes: dict[str, Any]
) -> None:
    small_site(either)
    before = call(either, "list").items
    either.edit("103", **({"parent": "101"} if what == "move" else changes))
    after = call(either, "list").items
    assert {key for key in before if before[key] != after[key]} == {"103"}, what


def test_a_renamed_parent_and_a_page_moved_out_are_settled_by_the_listing(call: Call, wiki: FakeConfluence) -> None:
    small_site(wiki)
    before = call(wiki, "list").items
    wiki.edit("102", title="Playbooks")
    wiki.edit("201", space="SALES")
    after = call(wiki, "list").items
    assert {key for key in after if before[key] != after[key]} == {"102", "103"}
    assert "201" not in after


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"URL": ""}, "URL is missing"),
        ({"URL": "wiki.example.org"}, "URL is 'wiki.example.org', expected an address"),
        ({"TOKEN": ""}, "TOKEN is missing"),
        ({"SPACES": " | "}, "SPACES is missing"),
        ({"KIND": "saas"}, "KIND is 'saas', expected datacenter (also for Server) or cloud"),
        ({"KIND": "cloud"}, "EMAIL is missing"),
        ({"MAX_PAGES": "0"}, "MAX_PAGES is '0'"),
        ({"TIMEOUT": "x"}, "TIMEOUT is 'x'"),
        ({"PAUSE_SECONDS": "-1"}, "PAUSE_SECONDS is '-1'"),
        ({"VERIFY_TLS": "maybe"}, "VERIFY_TLS is 'maybe', expected true or false"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_holds(
    call: Call, wiki: FakeConfluence, settings: dict[str, str], problem: str
) -> None:
    outcome = call(wiki, "check", env=settings)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr


def test_a_pause_is_made_between_requests(call: Call, wiki: FakeConfluence, clock: Any) -> None:
    small_site(wiki)
    assert call(wiki, "list", env={"PAUSE_SECONDS": "0.5"}).exit_code == 0
    assert clock.slept == [0.5]
