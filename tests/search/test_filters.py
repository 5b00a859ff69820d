"""Filters decide what may be found before anything is ranked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.records import Item
from passageway_query.answer import Filters, Question
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]


def found(search: Search, text: str = "tide table", **filters: str) -> list[str]:
    return sorted(hit.id for hit in search.ask(Question(text, Filters(**filters))).hits)


@pytest.fixture
def harbours(index: Index, item: MakeItem) -> None:
    index(
        "north",
        item("a", "Tide table", path=("Ops", "Port Side"), labels=("Decision",), updated="2026-03-01T10:00:00+02:00"),
        item("b", "Tide table", path=("Ops",), labels=("draft",), updated="2026-02-01"),
    )
    index("south", item("c", "Tide table", path=("Log", "Ops"), labels=("decision", "ÜBER"), updated="no date"))


@pytest.mark.usefixtures("harbours")
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["a", "b", "c"]),
        ({"source": "south"}, ["c"]),
        ({"label": "decision"}, ["a", "c"]),
        ({"label": "über"}, ["c"]),
        ({"label": "deci"}, []),
        ({"path": "ops"}, ["a", "b", "c"]),
        ({"path": "port side"}, ["a"]),
        ({"path": "Ops › Port"}, ["a"]),
        ({"path": "ops/port side"}, ["a"]),
        ({"path": "Log"}, ["c"]),
        ({"path": "side"}, []),
        ({"updated_after": "2026-03-01T08:00:00Z"}, ["a"]),
        ({"updated_after": "2026-03-01T08:00:01Z"}, []),
        ({"updated_after": "2026-01-01"}, ["a", "b"]),
        ({"path": "ops", "label": "draft", "source": "north"}, ["b"]),
        ({"path": "ops", "label": "draft", "source": "south"}, []),
        ({"path": "%", "label": "_"}, []),
        ({"label": "x' OR 1=1 --"}, []),
    ],
)
def test_only_what_passes_the_filters_is_found(
    search: Search, words_alone: Search, filters: dict[str, str], ids: list[str]
) -> None:
    assert found(search, **filters) == ids
    assert found(words_alone, **filters) == ids


def test_a_match_beyond_the_best_fifty_is_found_when_the_filter_asks_for_it(
    index: Index, item: MakeItem, search: Search
) -> None:
    better = [item(f"x{number}", "Tide table", "tide table tide table") for number in range(120)]
    index("notes", *better, item("wanted", "Log", "the tide table of the year before", labels=("old",)))
    assert "wanted" not in found(search)
    assert found(search, label="old") == ["wanted"]


def test_filters_follow_what_changes(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", item("a", "Tide table", labels=("old",)), item("b", "Tide table"))
    assert found(search, label="old") == ["a"]
    index("notes", item("a", "Tide table"), item("b", "Tide table", labels=("old",)), item("c", "Oar", labels=("old",)))
    assert found(search, label="old") == ["b"]


def test_a_related_item_outside_the_filters_is_not_shown(index: Index, item: MakeItem, search: Search) -> None:
    index(
        "notes",
        item("a", "Tide table", links=("b", "c"), labels=("public",)),
        item("b", "Oar", labels=("public",)),
        item("c", "Sail", labels=("private",)),
    )
    answer = search.ask(Question("tide table", Filters(label="public")))
    assert [related.id for related in answer.related] == ["b"]


def test_a_date_that_is_none_is_refused_with_an_example(search: Search) -> None:
    with pytest.raises(ValueError, match=r"updated_after is 'last week', expected an ISO 8601 date or time, such as"):
        search.ask(Question("tide", Filters(updated_after="last week")))
