"""What one writer stores, keeps and removes."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passageway.errors import StorageError
from passageway.index.state import SourceState
from passageway.index.writer import Counts, IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section

Prepare = Callable[..., PreparedItem]


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def found(path: Path, word: str) -> list[int]:
    """Section numbers that the keyword index gives for a word."""
    return [row[0] for row in rows(path, f"SELECT rowid FROM words WHERE words MATCH '\"{word}\"' ORDER BY rowid")]


def keyword_index_is_whole(path: Path) -> bool:
    """FTS5 compares its index with the texts it was made from; it raises where they differ."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def test_every_field_of_the_record_is_stored(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store(
        [
            prepare(
                "a",
                "Boat hook",
                ("Use", "Hangs by the door."),
                weight=1.5,
                path=("Shed", "Gear"),
                links=("b",),
                labels=("rope",),
                updated="2026-03-01T10:00:00+02:00",
                version="7",
            )
        ]
    )
    assert rows(path, "SELECT item_id, title, url, version, weight, path, links, labels, updated FROM items") == [
        ("a", "Boat hook", "https://example.org/a", "7", 1.5, '["Shed","Gear"]', '["b"]', '["rope"]')
        + ("2026-03-01T10:00:00+02:00",)
    ]
    assert rows(path, "SELECT updated_s FROM items") == [(1772352000.0,)]
    assert rows(path, "SELECT title, trail, text FROM passages") == [
        ("Boat hook", "Shed › Gear › Use", "Hangs by the door.")
    ]
    assert writer.versions() == {"a": "7"}


def test_an_item_stored_again_replaces_the_one_before(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Tea", (None, "green leaves")), prepare("b", "Salt", (None, "from the sea"))])
    writer.store([prepare("a", "Tea", (None, "black leaves"), version="2")])
    assert found(path, "green") == []
    assert len(found(path, "black")) == 1
    assert writer.versions() == {"a": "2", "b": "1"}
    assert writer.counts() == Counts(items=2, sections=2)
    assert keyword_index_is_whole(path)


def test_an_edit_writes_only_the_sections_that_changed(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    before = prepare("a", "Tea", ("One", "first"), ("Two", "second"), ("Three", "third"))
    writer.store([before])
    after = prepare("a", "Tea", ("Zero", "new"), ("One", "first"), ("Two", "changed"), ("Three", "third"))
    writer.store([after])
    sections: dict[str, int] = dict(rows(path, "SELECT heading, id FROM sections"))
    assert (sections["One"], sections["Three"]) == (1, 3)
    assert min(sections["Zero"], sections["Two"]) > 3
    assert [row[0] for row in rows(path, "SELECT heading FROM sections ORDER BY position")] == [
        "Zero", "One", "Two", "Three",
    ]  # fmt: skip
    assert keyword_index_is_whole(path)


def test_a_new_title_is_found_and_the_old_one_is_not(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Mooring", (None, "text"))])
    writer.store([prepare("a", "Anchorage", (None, "text"))])
    assert (found(path, "mooring"), len(found(path, "anchorage"))) == ([], 1)
    assert keyword_index_is_whole(path)


def test_removed_items_are_gone_and_unknown_ids_are_no_error(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Tea", (None, "green leaves")), prepare("b", "Salt", (None, "from the sea"))])
    writer.remove(["a", "never there"])
    assert writer.versions() == {"b": "1"}
    assert found(path, "leaves") == []
    writer.store([prepare("c", "Oats", (None, "for porridge"))], remove=["b"])
    assert writer.versions() == {"c": "1"}
    assert keyword_index_is_whole(path)


def test_a_number_is_never_given_to_a_second_section(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Tea", (None, "green leaves"))])
    writer.remove(["a"])
    writer.store([prepare("a", "Tea", (None, "green leaves"))])
    assert rows(path, "SELECT id FROM sections") == [(2,)]


def test_an_item_named_twice_in_one_call_is_stored_once(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Tea", (None, "green")), prepare("a", "Tea", (None, "black"))])
    assert (found(path, "green"), len(found(path, "black"))) == ([], 1)
    assert keyword_index_is_whole(path)


def test_a_failing_call_stores_nothing_of_it(writer: IndexWriter, prepare: Prepare) -> None:
    broken = prepare("b", "Salt", (None, "from the sea"))
    broken.vectors[0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        writer.store([prepare("a", "Tea", (None, "green")), broken])
    assert writer.versions() == {}


def test_vectors_that_do_not_fit_the_passages_are_refused_by_name(writer: IndexWriter, prepare: Prepare) -> None:
    item = prepare("a", "Tea", (None, "green"))
    with pytest.raises(ValueError, match=r"item 'a': vectors of shape \(0, 16\), expected 1 passages by 16"):
        writer.store([PreparedItem(item.item, item.passages, item.vectors[:0])])


def test_vectors_come_back_by_the_hash_of_their_passage(writer: IndexWriter, prepare: Prepare) -> None:
    item = prepare("a", "Tea", ("One", "first"), ("Two", "second"))
    writer.store([item])
    hashes = [passage.hash for passage in item.passages]
    known = writer.known_vectors([*hashes, b"unknown"])
    assert set(known) == set(hashes)
    for digest, vector in zip(hashes, item.vectors, strict=True):
        # Two bytes a number: half a step of 1/32,512 of the largest number.
        assert np.abs(known[digest] - vector).max() <= np.abs(vector).max() / 32_000


def test_a_text_keeps_its_vector_under_another_id(writer: IndexWriter) -> None:
    item = Item("old-id", "Tea", "", "1", (Section(None, "green"),))
    moved = Item("new-id", "Tea", "", "1", (Section(None, "green"),))
    (passage,) = split_item(item)
    writer.store([PreparedItem(item, [passage], np.eye(1, 16, dtype=np.float32))])
    (again,) = split_item(moved)
    assert set(writer.known_vectors([again.hash])) == {passage.hash}


def test_another_model_leaves_the_words_and_asks_for_new_vectors(
    writer: IndexWriter, path: Path, prepare: Prepare
) -> None:
    item = prepare("a", "Tea", ("One", "first"), ("Two", "second"), path=("Kitchen",))
    writer.store([item])
    assert writer.use_model("test-model", 16) is False
    assert writer.use_model("other-model", 4) is True
    assert writer.known_vectors([passage.hash for passage in item.passages]) == {}
    stale = writer.stale_sections(10)
    assert [section.embedded for section in stale] == ["Tea › Kitchen › One: first", "Tea › Kitchen › Two: second"]
    assert [section.item_id for section in stale] == ["a", "a"]
    writer.refresh_vectors([stale[0].section], np.eye(1, 4, dtype=np.float32))
    assert [section.section for section in writer.stale_sections(10)] == [stale[1].section]
    writer.refresh_vectors([stale[1].section, 999], np.eye(2, 4, dtype=np.float32))
    assert writer.stale_sections(10) == []
    assert writer.use_model("other-model", 4) is False
    assert len(found(path, "first")) == 1
    assert set(writer.known_vectors([passage.hash for passage in item.passages])) == {
        passage.hash for passage in item.passages
    }


def test_the_state_of_the_source_is_read_back_as_written(writer: IndexWriter) -> None:
    assert writer.read_state() == SourceState()
    state = SourceState("failing", 3, 10, "no answer from the server", 1.5, 2.5, built=True)
    writer.write_state(state)
    assert writer.read_state() == state


def test_an_item_without_text_is_found_by_its_title(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Anchorage")])
    assert len(found(path, "anchorage")) == 1


def test_a_nul_character_in_a_text_hides_nothing_behind_it(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare("a", "Tea\x00pot", ("He\x00ad", "green\x00leaves"), path=("Kit\x00chen",))])
    assert [len(found(path, word)) for word in ("pot", "ad", "leaves", "chen")] == [1, 1, 1, 1]
    writer.store([prepare("a", "Tea\x00pot", ("He\x00ad", "black\x00leaves"))])
    assert keyword_index_is_whole(path)


def test_finishing_empties_the_write_ahead_log(writer: IndexWriter, path: Path, prepare: Prepare) -> None:
    writer.store([prepare(str(number), "Tea", (None, f"cup {number}")) for number in range(50)])
    log = path.with_name("notes.db-wal")
    assert log.stat().st_size > 0
    writer.finish()
    assert log.stat().st_size == 0
    assert keyword_index_is_whole(path)


def test_the_second_writer_of_a_file_is_refused(writer: IndexWriter, path: Path) -> None:
    with pytest.raises(StorageError, match=r"notes\.lock: another sync holds this source"):
        IndexWriter.open(path)
    writer.close()
    IndexWriter.open(path).close()


def test_a_writer_opens_what_another_one_stored(path: Path, prepare: Prepare) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        writer.store([prepare("a", "Tea", (None, "green"))])
    with IndexWriter.open(path) as writer:
        assert writer.use_model("test-model", 16) is False
        assert writer.versions() == {"a": "1"}
