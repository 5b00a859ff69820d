"""What becomes of an article's text."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Calls = Callable[..., Any]
FORMULA = (
    "The force is\n\n  \n    \n      F\n      =\n      m\n      a\n    \n    {\\displaystyle F=ma}\n  \n\nand grows."
)


def items(result: Any) -> list[dict[str, Any]]:
    assert result.code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_an_article_becomes_an_item(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(
        mediawiki.Page(
            7,
            "Boat hook/Größe?",
            "A hook on a pole.\n\n\n== History ==\nOld.\n\n\n=== 19th century ===\nIron.\n== References ==\nBooks.\n"
            "=== Notes on sources ===\nMore books.\n== Use ==\nPull.",
            revision=71,
            timestamp="2026-02-03T04:05:06Z",
        )
    )
    assert items(call("fetch", "7", TITLES="x", PAGE_URL="https://en.wikipedia.org/wiki/")) == [
        {
            "id": "7",
            "title": "Boat hook/Größe?",
            "url": "https://en.wikipedia.org/wiki/Boat_hook/Gr%C3%B6%C3%9Fe%3F",
            "version": "71",
            "sections": [
                {"heading": None, "text": "A hook on a pole."},
                {"heading": "History", "text": "Old."},
                {"heading": "History › 19th century", "text": "Iron."},
                {"heading": "Use", "text": "Pull."},
            ],
            "updated": "2026-02-03T04:05:06Z",
        }
    ]


def test_texts_that_come_one_a_reply_all_arrive_at_their_page(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(*(mediawiki.Page(n, f"P{n}", f"Text of page {n}.") for n in (1, 2)), mediawiki.Page(3, "P3", FORMULA))
    fetched = items(call("fetch", "1", "2", "3", TITLES="x"))
    assert [item["sections"][0]["text"] for item in fetched] == [
        "Text of page 1.",
        "Text of page 2.",
        "The force is\nF=ma\nand grows.",
    ]
    assert [(r.query.get("excontinue"), r.query.get("continue")) for r in wiki.requests] == [
        (None, None),
        ("1", "||info|revisions"),
        ("2", "||info|revisions"),
    ]


def test_pages_that_are_gone_or_became_redirects_are_left_out(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(mediawiki.Page(1, "Kept"), mediawiki.Page(2, "Moved", redirect_to="Kept"))
    assert [item["id"] for item in items(call("fetch", "1", "2", "3", "abc", "-1", "٣", "9" * 30, TITLES="x"))] == ["1"]
    assert items(call("fetch", "nothing", TITLES="x")) == []


def test_a_page_that_was_moved_keeps_its_id_and_gets_its_new_title(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    wiki.add(mediawiki.Page(1, "Old name", revision=5))
    before = items(call("fetch", "1", TITLES="x"))[0]
    wiki.edit(1, title="New name")
    after = items(call("fetch", "1", TITLES="x"))[0]
    assert (before["id"], before["title"], before["version"]) == ("1", "Old name", "5")
    assert (after["id"], after["title"], after["version"]) == ("1", "New name", "6")


@pytest.mark.parametrize(
    ("page_url", "url"),
    [
        ("", "https://wiki.example.org/w/Boat_hook"),
        ("https://h.test/wiki/", "https://h.test/wiki/Boat_hook"),
        ("https://h.test/wiki", "https://h.test/wiki/Boat_hook"),
        ("https://h.test/index.php?title=$1", "https://h.test/index.php?title=Boat_hook"),
    ],
)
def test_the_link_is_the_wikis_own_or_made_from_page_url(
    wiki: Any, mediawiki: ModuleType, call: Calls, page_url: str, url: str
) -> None:
    wiki.add(mediawiki.Page(1, "Boat hook"))
    assert items(call("fetch", "1", TITLES="x", PAGE_URL=page_url))[0]["url"] == url


@pytest.mark.parametrize(
    ("setting", "headings"),
    [
        ("", [None, "Bau"]),
        ("none", [None, "Weblinks", "Weblinks › Karten", "Bau"]),
        ("bau", [None, "Weblinks", "Weblinks › Karten"]),
    ],
)
def test_headings_to_skip_take_their_subsections_along(
    wiki: Any, mediawiki: ModuleType, call: Calls, setting: str, headings: list[str | None]
) -> None:
    wiki.add(mediawiki.Page(1, "Kai", "Ein Kai.\n== Weblinks ==\na\n=== Karten ===\nb\n== Bau ==\nc"))
    item = items(call("fetch", "1", TITLES="x", SKIP_SECTIONS=setting))[0]
    assert [section["heading"] for section in item["sections"]] == headings


HTML = """<div class="mw-parser-output"><p>A <b>hook</b>.<sup class="reference">[1]</sup></p>
<div class="mw-heading mw-heading2"><h2 id="Use">Use</h2><span class="mw-editsection">[edit]</span></div>
<p>It pulls with <span class="mwe-math-element"><span style="display: none;"><math><mi>F</mi></math></span><img
alt="{\\displaystyle F=ma}" src="x.svg"></span> of force.</p><table><tr><th>Wood</th><th>Years</th></tr>
<tr><td>Ash</td><td>9</td></tr></table><h2>References</h2><ol class="references"><li>Book</li></ol></div>"""


def test_a_wiki_without_text_extracts_is_read_from_its_pages(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.has_extracts = False
    wiki.add(mediawiki.Page(1, "Hook", html=HTML))
    assert items(call("fetch", "1", TITLES="x"))[0]["sections"] == [
        {"heading": None, "text": "A hook."},
        {
            "heading": "Use",
            "text": "It pulls with F=ma of force.\n\n| Wood | Years |\n| --- | --- |\n| Ash | 9 |",
        },
    ]


def test_an_article_with_an_empty_extract_is_read_from_its_page(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(mediawiki.Page(1, "List of knots", extract="", html="<table><tr><td>Bowline</td><td>1</td></tr></table>"))
    assert "Bowline" in items(call("fetch", "1", TITLES="x"))[0]["sections"][0]["text"]


def test_a_page_whose_text_never_comes_is_an_error_and_no_empty_item(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    wiki.add(mediawiki.Page(1, "Hook"))
    page = {"pageid": 1, "ns": 0, "title": "Hook", "lastrevid": 1}
    wiki.faults.extend([mediawiki.reply({"query": {"pages": [page]}}), mediawiki.reply({"parse": {}})])
    result = call("fetch", "1", TITLES="x")
    assert (result.code, result.stdout) == (1, "") and "text of page 1 is missing" in result.stderr


def test_a_long_section_is_cut_and_keeps_its_heading(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(mediawiki.Page(1, "Long", "== Story ==\n" + "\n".join("It went on. " * 30 for _ in range(20))))
    sections = items(call("fetch", "1", TITLES="x"))[0]["sections"]
    assert len(sections) > 3 and {section["heading"] for section in sections} == {"Story"}


def test_every_request_says_who_asks_and_gives_way_to_a_lagging_wiki(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    wiki.add(mediawiki.Page(1, "Mast", categories=("Category:Boats",)))
    items(call("fetch", "1", TITLES="x", CONTACT="me@example.org"))
    call("list", CATEGORIES="Boats", CONTACT="me@example.org")
    for request in wiki.requests:
        assert request.query["maxlag"] == "5"
        agent = request.headers["user-agent"]
        assert agent.startswith("passageway-connector-wikipedia/") and "me@example.org" in agent


def test_requests_pause_between_each_other(wiki: Any, mediawiki: ModuleType, call: Calls, clock: Any) -> None:
    wiki.add(*(mediawiki.Page(n, f"P{n}") for n in (1, 2, 3)))
    items(call("fetch", "1", "2", "3", TITLES="x", PAUSE_SECONDS="0.1"))
    assert clock.slept == [0.1, 0.1]
