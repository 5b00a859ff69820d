from datetime import UTC, datetime, timedelta, timezone

import pytest

from passageway_connector_trilium.notes import is_note_id, parse_note, trilium_time, utc_time
from passageway_sdk import SourceError

BARE = {"noteId": "k1", "type": "text"}


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-31 22:30:00.000Z", "2026-01-31T22:30:00Z"),
        ("2026-01-31 23:30:00.000+0100", "2026-01-31T22:30:00Z"),
        ("2026-02-01 00:10:00.000+0300", "2026-01-31T21:10:00Z"),
        ("", None),
        ("yesterday", None),
        ("0001-01-01 00:00:00.000+0300", None),
    ],
)
def test_both_forms_of_a_time_are_read_as_the_instant_they_name(text: str, instant: str | None) -> None:
    assert utc_time(text) == instant


def test_the_time_in_a_search_sorts_as_text_like_trilium_s_own() -> None:
    new_york = timezone(timedelta(hours=-5))
    assert trilium_time(datetime(2026, 1, 31, 17, 30, tzinfo=new_york)) == "2026-01-31 22:30:00.000Z"
    assert trilium_time(datetime(1970, 1, 1, tzinfo=UTC)) < "2026-01-31 22:30:00.000Z"


def test_the_time_in_utc_counts_before_the_local_one() -> None:
    note = parse_note(
        BARE | {"dateModified": "2020-01-01 00:00:00.000+0100", "utcDateModified": "2026-01-31 22:30:00Z"}
    )
    assert note.updated == "2026-01-31T22:30:00Z"


def test_a_note_of_an_old_server_without_blobs_has_the_time_of_its_change_as_version() -> None:
    assert (
        parse_note(BARE | {"utcDateModified": "2021-01-01 00:00:00.000Z"}).content_version == "2021-01-01 00:00:00.000Z"
    )
    assert parse_note(BARE | {"blobId": "b7", "utcDateModified": "2021-01-01 00:00:00.000Z"}).content_version == "b7"


def test_an_inherited_label_counts_and_an_inherited_relation_does_not() -> None:
    attributes = [
        {"noteId": "k1", "type": "label", "name": "wikiType", "value": "concept"},
        {"noteId": "up", "type": "label", "name": "archived", "value": ""},
        {"noteId": "k1", "type": "relation", "name": "relatesTo", "value": "p1"},
        {"noteId": "up", "type": "relation", "name": "relatesTo", "value": "p2"},
    ]
    note = parse_note(BARE | {"attributes": attributes})
    assert note.is_archived
    assert note.labels == (("wikiType", "concept"), ("archived", ""))
    assert note.own_labels == (("wikiType", "concept"),)
    assert note.relations == (("relatesTo", "p1"),)


def test_a_title_is_one_line_and_never_empty() -> None:
    assert parse_note(BARE | {"title": " Two\n lines "}).title == "Two lines"
    assert parse_note(BARE | {"title": "  "}).title == "k1"


@pytest.mark.parametrize("note_id", ["", "a/b", "../x", "x'y", "näh", "a" * 129])
def test_what_trilium_never_uses_as_an_id_is_no_id(note_id: str) -> None:
    assert not is_note_id(note_id)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("k1", "no object for a note"),
        ({}, "no text in 'noteId' of a note"),
        ({"noteId": "k1"}, "no text in 'type' of note k1"),
        ({"noteId": "k1", "type": "text", "parentNoteIds": "root"}, "no list in 'parentNoteIds' of note k1"),
        ({"noteId": "k1", "type": "text", "attributes": [7]}, "no object for an attribute of note k1"),
        ({"noteId": "k/1", "type": "text"}, "'k/1', expected letters, digits and _"),
    ],
)
def test_an_answer_that_is_not_trilium_s_is_refused_with_what_is_missing(message: object, problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        parse_note(message)
