"""Which files are read, and what a failure of one means."""

from collections.abc import Callable
from typing import Any

import pytest

from passageway_sdk.web.testing import Answer

Calls = Callable[..., Any]
Items = Callable[..., list[dict[str, Any]]]
SHELL = "<!doctype html><div id=app></div>"


@pytest.fixture
def indexed(website: Any) -> Any:
    """An index behind a redirect, with a sub-index that links back to it."""
    website.redirect("/llms.txt", "/en/llms.txt")
    website.put(
        "/en/llms.txt",
        "# Docs\n- [A](a.md)\n- {site}/en/b.md\n- [Sub index](sub/llms.txt)\n- [Elsewhere](http://localhost:1/x.md)\n"
        "- [Shell](shell.md)\n```\n[code](code.md)\n```\n![picture](picture.png) [A again](./a.md#part)\n".replace(
            "{site}", website.url
        ),
    )
    website.put("/en/sub/llms.txt", "- [back](../llms.txt)\n- [C](c.md)\n- [ref]\n\n[ref]: <../a.md> 'A'\n")
    website.put("/en/a.md", "# A\n\nAlpha.")
    website.put("/en/b.md", "# B\n\nBeta.")
    website.put("/en/sub/c.md", "# C\n\nGamma.")
    website.put("/en/shell.md", SHELL, "text/html; charset=utf-8")
    return website


def test_an_index_is_followed_once_and_on_its_own_host_only(indexed: Any, call: Calls) -> None:
    result = call("list", urls="{site}/llms.txt")
    assert result.code == 0, result.stderr
    assert sorted(indexed.asked) == sorted(
        ["/llms.txt", "/en/llms.txt", "/en/a.md", "/en/b.md", "/en/sub/llms.txt", "/en/sub/c.md", "/en/shell.md"]
    )
    names = [line["id"].removeprefix(f"{indexed.url}/en/") for line in result.lines]
    assert names == ["a.md#a", "b.md#b", "sub/c.md#c"]
    assert "warning: " in result.stderr and "/en/shell.md answers with an HTML page" in result.stderr


def test_fetch_reads_the_indexes_and_the_pages_it_was_asked_for(indexed: Any, call: Calls) -> None:
    result = call("fetch", f"{indexed.url}/en/sub/c.md#c", f"{indexed.url}/en/gone.md#x", urls="{site}/llms.txt")
    assert [item["title"] for item in result.lines] == ["C"]
    assert indexed.asked == ["/llms.txt", "/en/llms.txt", "/en/sub/llms.txt", "/en/sub/c.md"]


def test_fetch_of_a_file_reads_that_file_alone(website: Any, call: Calls) -> None:
    website.put("/a/llms-full.txt", "# A\n\nAlpha.")
    website.put("/b/llms-full.txt", "# B\n\nBeta.")
    result = call("fetch", f"{website.url}/b/llms-full.txt#b", "stray", urls="{site}/a|{site}/b")
    assert [item["title"] for item in result.lines] == ["B"]
    assert website.asked == ["/b/llms-full.txt"]


def test_a_page_taken_out_of_the_index_is_not_fetched_any_more(indexed: Any, call: Calls) -> None:
    item_id = f"{indexed.url}/en/a.md#a"
    assert len(call("fetch", item_id, urls="{site}/llms.txt").lines) == 1
    indexed.put("/en/llms.txt", "[B](b.md)")
    assert call("fetch", item_id, urls="{site}/llms.txt").lines == []


def test_a_site_reads_its_full_file_and_a_file_is_read_as_it_is(website: Any, items: Items) -> None:
    website.put("/llms-full.txt", "# Site\n\nOne.")
    website.put("/docs/llms-full.txt", "# Docs\n\nTwo.")
    website.put("/SKILL.md", "# Skill\n\nThree.")
    website.put("/raw?file=notes", "# Notes\n\nFour.")
    urls = "{site}/|{site}/docs/|{site}/SKILL.md#part|{site}/raw?file=notes| {site}"
    assert [item["title"] for item in items(urls=urls)] == ["Site", "Docs", "Skill", "Notes"]


def test_requests_say_who_asks_and_prefer_markdown(website: Any, call: Calls) -> None:
    website.put("/llms-full.txt", "# Site\n\nOne.")
    call("list")
    (request,) = website.server.requests
    assert request.headers["user-agent"] == "passageway-connector-llmstxt"
    assert request.headers["accept"].startswith("text/markdown")


def test_a_configured_address_may_redirect_to_another_host(website: Any, items: Items) -> None:
    website.redirect("/llms-full.txt", f"{website.server.other_url}/full.txt", 302)
    website.put("/full.txt", "# Site\n\nOne.")
    (item,) = items()
    assert item["id"] == f"{website.url}/llms-full.txt#site"


def test_pages_may_be_on_the_host_that_the_index_was_moved_to(website: Any, call: Calls) -> None:
    website.redirect("/llms.txt", f"{website.server.other_url}/new/llms.txt")
    website.put("/new/llms.txt", f"[A](a.md) [B]({website.url}/b.md)")
    website.put("/new/a.md", "# A\n\nAlpha.")
    website.redirect("/b.md", f"{website.server.other_url}/new/b.md")
    website.put("/new/b.md", "# B\n\nBeta.")
    ids = [line["id"] for line in call("list", urls="{site}/llms.txt").lines]
    assert ids == [f"{website.server.other_url}/new/a.md#a", f"{website.url}/b.md#b"]


def test_a_linked_page_that_moved_to_another_host_is_left_out_with_a_warning(website: Any, call: Calls) -> None:
    website.put("/llms.txt", "[A](a.md) [B](b.md)")
    website.put("/a.md", "# A\n\nAlpha.")
    website.redirect("/b.md", f"{website.server.other_url}/b.md")
    result = call("list", urls="{site}/llms.txt")
    assert [line["id"] for line in result.lines] == [f"{website.url}/a.md#a"]
    assert "/b.md: redirects to another host" in result.stderr
    assert website.asked == ["/llms.txt", "/a.md", "/b.md"]


def test_two_links_that_lead_to_one_file_give_its_pages_once(website: Any, call: Calls) -> None:
    website.put("/llms.txt", "[Old](old.md) [New](new.md)")
    website.redirect("/old.md", "/new.md")
    website.put("/new.md", "# New\n\nText.")
    assert [line["id"] for line in call("list", urls="{site}/llms.txt").lines] == [f"{website.url}/old.md#new"]


def test_a_file_that_is_linked_and_configured_counts_once(website: Any, items: Items) -> None:
    website.put("/llms.txt", "[A](a.md)")
    website.put("/a.md", "# A\n\nAlpha.")
    for urls in ("{site}/llms.txt|{site}/a.md", "{site}/a.md|{site}/llms.txt"):
        assert [item["title"] for item in items(urls=urls)] == ["A"]


def test_pages_over_the_limit_are_left_out_with_a_warning(website: Any, call: Calls) -> None:
    website.put("/llms.txt", "".join(f"- [P](p{number}.md)\n" for number in range(7)))
    for number in range(7):
        website.put(f"/p{number}.md", f"# Page {number}\n\nText.")
    result = call("list", urls="{site}/llms.txt", MAX_PAGES="3")
    assert (result.code, len(result.lines)) == (0, 3)
    assert "4 of its pages are left out, since MAX_PAGES is 3" in result.stderr


def test_what_is_no_text_or_empty_is_left_out_with_a_warning(website: Any, call: Calls) -> None:
    website.put("/llms.txt", "[A](a.md) [B](b.pdf) [C](c.md) [D](d.md)")
    website.put("/a.md", "# A\n\nAlpha.")
    website.put("/b.pdf", b"%PDF-1.7", "application/pdf")
    website.put("/c.md", "# X\n\n\0\x01\x02")
    website.put("/d.md", " \n")
    result = call("list", urls="{site}/llms.txt")
    assert [line["id"] for line in result.lines] == [f"{website.url}/a.md#a"]
    assert all(name in result.stderr for name in ("/b.pdf is no text", "/c.md is no text", "/d.md is empty"))


def test_markdown_that_is_served_as_html_is_still_markdown(website: Any, items: Items) -> None:
    website.put("/llms-full.txt", "# Site\n\nOne.", "text/html")
    assert [item["title"] for item in items()] == ["Site"]


@pytest.mark.parametrize("urls", ["{site}", "{site}/llms.txt", "{site}/a.md"])
def test_a_page_for_people_in_the_place_of_a_configured_file_is_an_error(website: Any, call: Calls, urls: str) -> None:
    for path in ("/llms-full.txt", "/llms.txt", "/a.md"):
        website.put(path, SHELL, "text/html")
    result = call("list", urls=urls)
    assert (result.code, result.lines) == (1, []) and "HTML page instead of markdown" in result.stderr


@pytest.mark.parametrize("status", [404, 410, 403])
def test_a_linked_page_that_answers_with_an_error_fails_the_whole_listing(
    indexed: Any, call: Calls, status: int
) -> None:
    indexed.files["/en/b.md"] = Answer(status=status)
    result = call("list", urls="{site}/llms.txt")
    assert (result.code, result.lines) == (1, []) and f"/en/b.md: HTTP {status}" in result.stderr


def test_a_site_without_a_full_file_is_an_error_that_names_the_index(website: Any, call: Calls) -> None:
    result = call("list")
    assert result.code == 1
    assert f"/llms-full.txt: HTTP 404; the site may have an index instead, {website.url}/llms.txt" in result.stderr


@pytest.mark.parametrize("body", ["", "  \n", "---\nname: x\n---\n"])
def test_a_configured_file_that_came_empty_is_an_error(website: Any, call: Calls, body: str) -> None:
    website.put("/llms-full.txt", body)
    website.put("/b.md", "# B\n\nBeta.")
    result = call("list", urls="{site}/b.md|{site}")
    assert (result.code, result.lines) == (1, [])
    assert "/llms-full.txt" in result.stderr


def test_an_index_without_links_is_an_error(website: Any, call: Calls) -> None:
    website.put("/llms.txt", "# Docs\n\nSoon.")
    result = call("list", urls="{site}/llms.txt")
    assert (result.code, result.lines) == (1, []) and "links to no pages of its own host" in result.stderr


def test_a_file_over_the_limit_fails(website: Any, call: Calls) -> None:
    website.put("/llms-full.txt", "# A\n\n" + "x" * 3000)
    result = call("list", MAX_BYTES="2000")
    assert (result.code, result.lines) == (1, []) and "larger than the 2000 bytes" in result.stderr
    assert "MAX_BYTES" in result.stderr


def test_a_busy_server_is_waited_for_and_an_outage_fails_the_call(
    website: Any, call: Calls, slept: list[float]
) -> None:
    website.files["/llms-full.txt"] = Answer(status=429)
    result = call("list")
    assert (result.code, result.lines, sum(slept)) == (1, [], 900)
    assert "HTTP 429; gave up after 21 attempts" in result.stderr
    assert "waiting 16 s (15 s of 900 s waited)" in result.stderr


def test_an_outage_in_the_middle_of_an_index_prints_nothing(indexed: Any, call: Calls) -> None:
    indexed.files["/en/sub/c.md"] = Answer(status=503)
    result = call("fetch", f"{indexed.url}/en/a.md#a", f"{indexed.url}/en/sub/c.md#c", urls="{site}/llms.txt")
    assert (result.code, result.lines) == (1, [])


def test_a_body_that_is_cut_off_is_asked_for_again(website: Any, call: Calls, slept: list[float]) -> None:
    website.files["/llms-full.txt"] = Answer("# A\n\nAlpha.\n\n# B\n\nBeta.", content_type="text/plain", cut=True)
    result = call("list")
    assert (result.code, result.lines) == (1, []) and "RemoteProtocolError" in result.stderr
    assert len(slept) == 20


def test_a_heading_that_moved_to_another_file_changes_its_id(website: Any, items: Items) -> None:
    website.put("/llms.txt", "[A](a.md) [B](b.md)")
    website.put("/a.md", "# A\n\nAlpha.\n\n# Keel\n\nOak.")
    website.put("/b.md", "# B\n\nBeta.")
    before = {item["title"]: item["id"] for item in items(urls="{site}/llms.txt")}
    website.put("/a.md", "# A\n\nAlpha.")
    website.put("/b.md", "# B\n\nBeta.\n\n# Keel\n\nOak.")
    after = {item["title"]: item["id"] for item in items(urls="{site}/llms.txt")}
    assert (before["Keel"], after["Keel"]) == (f"{website.url}/a.md#keel", f"{website.url}/b.md#keel")
    assert before["A"] == after["A"]


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        ({"urls": ""}, "URLS is missing"),
        ({"urls": " | "}, "URLS is missing"),
        ({"urls": "docs.example.org"}, "URLS is 'docs.example.org'"),
        ({"urls": "https://me:pass@docs.example.org"}, "URLS holds a user name or password"),
        ({"MAX_BYTES": "20MB"}, "MAX_BYTES is '20MB'"),
        ({"MAX_PAGES": "0"}, "MAX_PAGES is '0'"),
        ({"WEIGHTS": "changelog"}, "WEIGHTS: 'changelog'"),
        ({"WEIGHTS": "changelog=0"}, "weight above 0"),
        ({"WEIGHTS": "a=1,b=nan"}, "WEIGHTS: 'b=nan'"),
    ],
)
def test_a_wrong_setting_ends_the_call_with_its_name(
    website: Any, call: Calls, env: dict[str, str], problem: str
) -> None:
    result = call("list", **env)
    assert (result.code, result.lines) == (2, []) and problem in result.stderr
    assert "pass@" not in result.stderr and website.asked == []
