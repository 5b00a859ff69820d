"""Which pages are listed, and at which revision."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Calls = Callable[..., Any]


def listed(result: Any) -> dict[str, str]:
    assert result.code == 0, result.stderr
    return {line["id"]: line["version"] for line in map(json.loads, result.stdout.splitlines())}


@pytest.fixture
def boats(wiki: Any, mediawiki: ModuleType) -> Any:
    """A category and its subcategory that hold each other, with lists that come in parts."""
    page = mediawiki.Page
    wiki.members_a_reply = 2
    wiki.add(
        page(1, "Category:Boats", categories=("Category:Sails",)),
        page(2, "Category:Sails", categories=("Category:Boats",)),
        page(3, "Dinghy", revision=30, categories=("Category:Boats", "Category:Sails")),
        page(4, "Jib", revision=40, categories=("Category:Sails",)),
        page(5, "File:Jib.jpg", categories=("Category:Sails",)),
        page(6, "Talk:Jib", categories=("Category:Sails",)),
        page(7, "Jibs", redirect_to="Jib", categories=("Category:Sails",)),
    )
    return wiki


def members_asked(wiki: Any) -> list[str]:
    return [r.query["gcmtitle"] for r in wiki.requests if "gcmtitle" in r.query and "gcmcontinue" not in r.query]


def test_categories_that_hold_each_other_end_and_are_listed_once(boats: Any, call: Calls) -> None:
    assert listed(call("list", CATEGORIES="Boats", CATEGORY_DEPTH="9")) == {"3": "30", "4": "40"}
    assert members_asked(boats) == ["Category:Boats", "Category:Sails"]
    assert any("gcmcontinue" in request.query for request in boats.requests)


@pytest.mark.parametrize(("depth", "ids"), [("0", {"3"}), ("1", {"3", "4"}), ("", {"3", "4"})])
def test_the_depth_limits_how_far_subcategories_are_followed(
    boats: Any, call: Calls, depth: str, ids: set[str]
) -> None:
    assert set(listed(call("list", CATEGORIES="Boats", CATEGORY_DEPTH=depth))) == ids


def test_check_counts_what_list_prints(boats: Any, call: Calls) -> None:
    result = call("check", CATEGORIES="Boats")
    assert json.loads(result.stdout) == {"ok": True, "count": 2, "protocol": "1"}


def test_the_whole_continue_object_goes_back(boats: Any, call: Calls) -> None:
    listed(call("list", CATEGORIES="Sails", CATEGORY_DEPTH="0"))
    followed = [request.query for request in boats.requests if "gcmcontinue" in request.query]
    assert [query["continue"] for query in followed] == ["gcmcontinue||"] * len(followed) and followed


@pytest.mark.parametrize(
    "name",
    ["Boats", "boats", "Category:Boats", "category:boats", "Kategorie:Boats", ":Category:Boats", "Category:_Boats_"],
)
def test_a_category_is_found_with_and_without_its_prefix(
    wiki: Any, mediawiki: ModuleType, call: Calls, name: str
) -> None:
    title = "Kategorie:Boats" if name.startswith("Kat") else "Category:Boats"
    wiki.add(mediawiki.Page(3, "Dinghy", categories=(title, "Category: Boats")))
    assert set(listed(call("list", CATEGORIES=name))) == {"3"}


def test_a_colon_in_a_name_need_not_end_a_prefix(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(mediawiki.Page(3, "Pilot", categories=("Category:Star Ship: Discovery",)))
    assert set(listed(call("list", CATEGORIES="Star Ship: Discovery"))) == {"3"}


def test_a_category_without_pages_is_said_and_others_count(boats: Any, call: Calls) -> None:
    result = call("list", CATEGORIES="Boats|Bots|a[b", CATEGORY_DEPTH="0")
    assert set(listed(result)) == {"3"}
    assert "warning: CATEGORIES: 'Category:Bots' lists no pages" in result.stderr
    assert "'a[b' cannot be the name of a category" in result.stderr


def test_titles_follow_redirects_and_are_found_however_they_are_written(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    page = mediawiki.Page
    wiki.add(page(1, "Boat hook", revision=5), page(2, "Hook", redirect_to="Boat hook"), page(3, "Größe", revision=6))
    result = call("list", TITLES="boat_hook|Hook|Größe|Nowhere|a[b|fr:Bateau")
    assert listed(result) == {"1": "5", "3": "6"}
    for problem in ("'Nowhere' does not exist", "'a[b' cannot be a title", "'fr:Bateau' is on another wiki"):
        assert problem in result.stderr


def test_many_titles_go_in_requests_that_a_server_takes(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    titles = [f"Schifffahrtsmuseum für Größe und Länge Nummer {number}" for number in range(120)]
    wiki.add(*(mediawiki.Page(number + 1, title) for number, title in enumerate(titles)))
    assert len(listed(call("list", TITLES="|".join(titles)))) == 120
    assert all(len(request.target) < 6000 for request in wiki.requests)
    assert all(len(request.query["titles"].split("|")) <= 50 for request in wiki.requests)


def test_a_place_lists_the_pages_around_it(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    page = mediawiki.Page
    wiki.add(page(1, "Town hall", place=(48.1373, 11.5754)), page(2, "Lake", place=(48.0, 11.3)), page(3, "Jib"))
    assert set(listed(call("list", GEO="48.1372, 11.5756, 5000"))) == {"1"}


def test_a_place_with_more_pages_than_the_wiki_lists_fails(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(*(mediawiki.Page(n, f"House {n}", place=(1.0, 1.0)) for n in range(1, 502)))
    result = call("list", GEO="1,1,5000", MAX_PAGES="9000")
    assert (result.code, result.stdout) == (2, "")
    assert "at most 500 pages around a point" in result.stderr


def test_titles_categories_and_a_place_add_up_each_page_once(boats: Any, mediawiki: ModuleType, call: Calls) -> None:
    boats.add(mediawiki.Page(9, "Quay", revision=9, place=(1.0, 1.0)), mediawiki.Page(10, "Mast", revision=10))
    result = call("list", CATEGORIES="Boats", CATEGORY_DEPTH="0", TITLES="Mast|Dinghy", GEO="1,1,10")
    assert list(listed(result)) == ["3", "9", "10"]


def test_a_scope_over_the_limit_fails_instead_of_being_cut_off(boats: Any, call: Calls) -> None:
    result = call("list", CATEGORIES="Boats", MAX_PAGES="1")
    assert (result.code, result.stdout) == (2, "")
    assert "more than 1 pages" in result.stderr and "MAX_PAGES" in result.stderr
    assert set(listed(call("list", CATEGORIES="Boats", MAX_PAGES="2"))) == {"3", "4"}


def test_an_empty_scope_is_an_error_and_no_empty_listing(wiki: Any, call: Calls) -> None:
    for env in ({"CATEGORIES": "Deep lerning"}, {"TITLES": "Nowhere"}, {"GEO": "0,0,10"}):
        result = call("list", **env)
        assert (result.code, result.stdout) == (1, "") and "no page found" in result.stderr


def test_a_listing_that_suddenly_comes_empty_is_an_error(wiki: Any, mediawiki: ModuleType, call: Calls) -> None:
    wiki.add(mediawiki.Page(1, "Mast", categories=("Category:Boats",)))
    wiki.faults.extend([None, mediawiki.reply({"batchcomplete": True})])
    result = call("list", CATEGORIES="Boats")
    assert (result.code, result.stdout) == (1, "")


def test_an_answer_that_continues_where_it_was_ends_with_an_error(
    wiki: Any, mediawiki: ModuleType, call: Calls
) -> None:
    stuck = mediawiki.reply({"continue": {"gcmcontinue": "page|1", "continue": "-||"}, "query": {"pages": []}})
    wiki.faults.extend([None, stuck, stuck, stuck])
    result = call("list", CATEGORIES="Boats")
    assert result.code == 1 and "continues where it already was" in result.stderr


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        ({}, "set at least one of CATEGORIES, TITLES and GEO"),
        ({"TITLES": "A", "LANGUAGE": "en.evil.test/"}, "LANGUAGE is 'en.evil.test/'"),
        ({"TITLES": "A", "CATEGORY_DEPTH": "-1"}, "CATEGORY_DEPTH is '-1'"),
        ({"TITLES": "A", "MAX_PAGES": "0"}, "MAX_PAGES is '0'"),
        ({"TITLES": "A", "PAUSE_SECONDS": "x"}, "PAUSE_SECONDS is 'x'"),
        ({"TITLES": "A", "API_URL": "wiki"}, "API_URL is 'wiki'"),
        ({"TITLES": "A", "PAGE_URL": "wiki"}, "PAGE_URL is 'wiki'"),
        ({"GEO": "48.1,11.5"}, "GEO is '48.1,11.5', expected latitude,longitude,radius"),
        ({"GEO": "98.1,11.5,100"}, "GEO is"),
        ({"GEO": "48.1,11.5,20000"}, "radius of 10 to 10000 m"),
        ({"GEO": "48.1,11.5,nan"}, "GEO is"),
        ({"TITLES": "A", "CONTACT": "Jörg"}, "'User-Agent'"),
    ],
)
def test_a_wrong_setting_ends_the_call_with_its_name(wiki: Any, call: Calls, env: dict[str, str], problem: str) -> None:
    result = call("list", **env)
    assert (result.code, result.stdout) == (2, "") and problem in result.stderr
    assert wiki.requests == []
