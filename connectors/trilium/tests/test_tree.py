import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_connector_trilium.connector import TriliumConnector
from passageway_connector_trilium.notes import Note, parse_note
from passageway_connector_trilium.testing import FakeNote, FakeTrilium
from passageway_connector_trilium.tree import Place, places

Call = Callable[..., Any]


def note(note_id: str, *parents: str, area: str | None = None, journal: bool = False) -> Note:
    labels = [("llmWikiPart", area)] if area is not None else []
    labels += [("calendarRoot", "")] if journal else []
    attributes = [{"noteId": note_id, "type": "label", "name": name, "value": value} for name, value in labels]
    return parse_note(
        {
            "noteId": note_id,
            "title": note_id.upper(),
            "type": "text",
            "parentNoteIds": list(parents),
            "attributes": attributes,
        }
    )


def placed(*notes: Note) -> dict[str, Place]:
    return places({each.id: each for each in notes})


def test_the_path_has_the_titles_below_the_area_s_root_nearest_last() -> None:
    found = placed(
        note("root", "none"),
        note("w", "root", area="wiki"),
        note("a", "w"),
        note("b", "a"),
        note("c", "b"),
        note("x", "root"),
        note("y", "x"),
    )
    assert found["c"] == Place("wiki", ("A", "B"))
    assert found["a"] == Place("wiki", ())
    assert found["y"] == Place("", ("X",))


@pytest.mark.parametrize(
    ("area", "weight", "left_out"),
    [
        ("wiki", 1.0, False),
        ("Schema", 1.0, False),
        ("sources", 0.8, False),
        ("kitchen", 0.6, False),
        ("locks", 0.6, True),
        ("templates", 0.6, True),
        ("views", 0.6, True),
    ],
)
def test_an_area_says_what_its_notes_weigh(area: str, weight: float, left_out: bool) -> None:
    found = placed(note("root", "none"), note("a", "root", area=area), note("b", "a"))
    assert (found["b"].area, found["b"].weight, found["b"].is_plumbing) == (area.lower(), weight, left_out)


def test_the_journal_is_an_area_and_what_is_in_none_weighs_the_same() -> None:
    found = placed(note("root", "none"), note("j", "root", journal=True), note("day", "j"), note("x", "root"))
    assert (found["day"].area, found["day"].weight) == ("journal", 0.6)
    assert (found["x"].area, found["x"].weight) == ("", 0.6)


def test_an_area_inside_another_is_its_own() -> None:
    found = placed(note("root", "none"), note("w", "root", area="wiki"), note("s", "w", area="sources"), note("a", "s"))
    assert found["a"] == Place("sources", ())


def test_a_note_with_several_places_takes_the_one_that_weighs_most() -> None:
    notes = [
        note("root", "none"),
        note("w", "root", area="wiki"),
        note("deep", "w"),
        note("v", "root", area="views"),
        note("near", "root"),
        note("a", "v", "near", "deep"),
    ]
    assert placed(*notes)["a"] == Place("wiki", ("DEEP",))
    assert placed(*notes[:-1], note("a", "v"))["a"].is_plumbing


def test_parents_in_a_circle_come_to_an_end() -> None:
    found = placed(note("root", "none"), note("p1", "root", "k1"), note("p2", "root"), note("k1", "p2", "p1"))
    assert found["k1"] == Place("", ("P1",))
    assert placed(note("a", "b"), note("b", "a")) == {"a": Place("", ()), "b": Place("", ())}


def test_the_place_does_not_depend_on_the_order_notes_come_in() -> None:
    notes = [note("root", "none"), note("a", "root"), note("b", "root"), note("c", "root"), note("k", "c", "b", "a")]
    shuffled = random.Random(7)
    for _ in range(20):
        shuffled.shuffle(notes)
        turned = [replace(each, parents=tuple(shuffled.sample(each.parents, len(each.parents)))) for each in notes]
        assert placed(*turned)["k"].path == ("A",)


def test_a_protected_note_gives_no_title_to_a_path() -> None:
    found = placed(note("root", "none"), replace(note("p", "root"), is_protected=True), note("b", "p"), note("c", "b"))
    assert found["c"].path == ("B",)


IDS = [f"n{number}" for number in range(8)]
TREES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["root", "gone", "_hidden", *IDS]), min_size=1, max_size=3, unique=True),
        st.sampled_from([None, None, None, "wiki", "sources", "views", "odd"]),
        st.lists(st.sampled_from(IDS), max_size=2),
        st.sampled_from(["text", "text", "code", "book"]),
        st.booleans(),
    ),
    min_size=len(IDS),
    max_size=len(IDS),
)


@settings(max_examples=80, deadline=None)
@given(TREES, st.sampled_from(IDS))
def test_a_fetch_that_sees_a_part_of_the_tree_gives_the_versions_of_the_listing(tree: list[Any], one: str) -> None:
    """Otherwise a note would count as changed at every reconcile."""
    with FakeTrilium() as trilium:
        for note_id, (parents, area, cited, kind, archived) in zip(IDS, tree, strict=True):
            labels = (("llmWikiPart", area),) if area else ()
            labels += (("archived!", ""),) if archived and note_id == "n0" else ()
            relations = tuple(("wikiSource", target) for target in cited)
            trilium.add(FakeNote(note_id, note_id.upper(), note_id, tuple(parents), labels, relations, type=kind))
        connector = TriliumConnector(trilium.env)
        listed = connector.versions()
        fetched = {item["id"]: item["version"] for item in connector.fetch(IDS)}
        alone = {item["id"]: item["version"] for item in connector.fetch([one])}
    assert fetched == listed
    assert alone == {note_id: version for note_id, version in listed.items() if note_id == one}
