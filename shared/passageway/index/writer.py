"""Sync's door to an index file: store, remove, re-embed, and write the state of the source."""

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import TracebackType

import numpy as np

from passageway.embedder import Vectors
from passageway.errors import IndexDamagedError
from passageway.index.batch import SectionBatch
from passageway.index.bindings import marks, parts
from passageway.index.check import check_whole
from passageway.index.file import (
    FileLock,
    file_identity,
    give_back_pages,
    open_for_writing,
    set_aside,
    transaction,
)
from passageway.index.layout import CHANGES_KEPT, lock_path
from passageway.index.rows import INSERT_ITEM, UPDATE_ITEM, clean, item_columns, joined
from passageway.index.state import STATE_COLUMNS, SourceState, source_state
from passageway.index.trouble import check_keywords, contents_errors, storage_errors
from passageway.index.vectors import from_blobs, pack, to_blobs, unpack
from passageway.passages import Passage, embedded_text
from passageway.records import Item

logger = logging.getLogger(__name__)

_MERGE_SHARE = 0.1
"""Share of rows written since the last merge from which a whole merge of the keyword index (7 µs a row) pays."""


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item with its passages and their vectors, float32 (len(passages), dimension), unit length."""

    item: Item
    passages: Sequence[Passage]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class StaleSection:
    """A section whose vector is another model's, with the text to embed again."""

    section: int
    item_id: str
    embedded: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a source holds."""

    items: int
    sections: int


class IndexWriter:
    """The one writer of a source's file. Blocking; calls from several threads wait for each other.

    Every method raises StorageError when the file cannot be read or written, and leaves it as it was before the call.
    When the file turns out to be damaged it is set aside and IndexDamagedError is raised: close this writer, open a
    new one, and build the source again.
    """

    def __init__(self, path: Path, lock: FileLock, connection: sqlite3.Connection) -> None:
        self.path = path
        self._lock = lock
        self._db = connection
        self._turn = RLock()
        self._model: tuple[int, int] | None = None  # number and dimension
        self._identity = file_identity(path)

    @classmethod
    def open(cls, path: Path) -> "IndexWriter":
        """The writer of the file, which is created, migrated or, when unusable, set aside. Raises StorageError."""
        lock = FileLock(lock_path(path))
        lock.acquire()
        try:
            return cls(path, lock, open_for_writing(path))
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> "IndexWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the file and the lock; safe to call twice."""
        with self._turn:
            self._db.close()
            self._lock.release()

    def is_in_place(self) -> bool:
        """Whether the file is still the one at its path: written to after it was removed, it is nobody's."""
        return file_identity(self.path) == self._identity

    def check(self) -> None:
        """Look the whole file through; 18 µs a section."""
        with self._reading():
            # Pages that SQLite holds in memory stay whole, whatever another program did to the file.
            self._db.execute("PRAGMA shrink_memory")
            check_whole(self._db, self.path)

    def versions(self) -> dict[str, str]:
        """The version of every stored item, by the connector's id."""
        with self._reading():
            return dict(self._db.execute("SELECT item_id, version FROM items"))

    def counts(self) -> Counts:
        """Items and sections in the file."""
        with self._reading():
            items, sections = self._db.execute(
                "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM sections)"
            ).fetchone()
            return Counts(items, sections)

    def use_model(self, name: str, dimension: int) -> bool:
        """Vectors stored from now on are this model's. True when vectors of another model are left to re-embed."""
        with self._writing():
            self._db.execute("INSERT OR IGNORE INTO models (name, dimension) VALUES (?, ?)", (name, dimension))
            model: int = self._db.execute(
                "SELECT id FROM models WHERE name = ? AND dimension = ?", (name, dimension)
            ).fetchone()[0]
            if self._db.execute("SELECT model FROM file").fetchone()[0] != model:
                self._db.execute("UPDATE file SET model = ?, generation = generation + 1", (model,))
            self._model = (model, dimension)
            stale = self._db.execute("SELECT EXISTS (SELECT 1 FROM vectors WHERE model != ?)", (model,)).fetchone()[0]
        return bool(stale)

    def known_vectors(self, hashes: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Stored vectors of the current model for passages with these hashes, float32 (dimension,) each."""
        model, dimension = self._current_model()
        found: dict[bytes, Vectors] = {}
        with self._reading():
            for part in parts(list(dict.fromkeys(hashes))):
                rows = self._db.execute(
                    "SELECT hash, scale, codes FROM sections JOIN vectors ON section = sections.id"
                    f" WHERE hash IN ({marks(part)}) AND model = ?",
                    (*part, model),
                ).fetchall()
                if rows:
                    keys, scales, blobs = zip(*rows, strict=True)
                    found.update(zip(keys, unpack(from_blobs(scales, blobs, dimension)), strict=True))
        return found

    def store(self, items: Sequence[PreparedItem], *, remove: Iterable[str] = ()) -> None:
        """Store the items, in place of what had their ids, and remove others, all in one transaction.

        Sections that did not change keep their rows, so that readers have nothing to read for them.
        """
        model, dimension = self._current_model()
        for prepared in items:
            shape = np.shape(prepared.vectors)
            if shape != (len(prepared.passages), dimension):
                raise ValueError(
                    f"item {prepared.item.id!r}: vectors of shape {shape}, "
                    f"expected {len(prepared.passages)} passages by {dimension} numbers"
                )
        with self._writing():
            check_keywords(self._db, self.path)
            removed = self._remove_items(remove)
            batch = SectionBatch(self._next_section())
            # Of two items with one id in a call, the last one counts.
            for prepared in {prepared.item.id: prepared for prepared in items}.values():
                removed += self._store_item(prepared, model, batch)
            batch.write(self._db, model)
            self._changed(removed + len(batch))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove items by the connector's ids; unknown ids are no error."""
        with self._writing():
            check_keywords(self._db, self.path)
            self._changed(self._remove_items(ids))

    def stale_sections(self, limit: int) -> list[StaleSection]:
        """At most `limit` sections whose vectors are another model's, oldest first; empty when all is current."""
        model, _ = self._current_model()
        with self._reading():
            rows = self._db.execute(
                "SELECT section, item_id, title, path, heading, text FROM vectors"
                " JOIN sections ON sections.id = section JOIN items ON items.id = sections.item"
                " WHERE model != ? ORDER BY section LIMIT ?",
                (model, limit),
            ).fetchall()
        return [
            StaleSection(section, item_id, embedded_text(title, json.loads(path), heading, text))
            for section, item_id, title, path, heading, text in rows
        ]

    def stale_count(self) -> int:
        """How many sections `stale_sections` has left to give."""
        model, _ = self._current_model()
        with self._reading():
            count: int = self._db.execute("SELECT count(*) FROM vectors WHERE model != ?", (model,)).fetchone()[0]
            return count

    def refresh_vectors(self, sections: Sequence[int], vectors: Vectors) -> None:
        """Replace the vectors of these sections with the current model's; sections gone meanwhile are passed over."""
        model, dimension = self._current_model()
        if np.shape(vectors) != (len(sections), dimension):
            raise ValueError(f"vectors of shape {np.shape(vectors)}, expected {(len(sections), dimension)}")
        codes = pack(vectors)
        rows = zip(codes.scale.tolist(), to_blobs(codes), sections, strict=True)
        with self._writing():
            self._db.executemany(f"UPDATE vectors SET model = {model}, scale = ?, codes = ? WHERE section = ?", rows)
            self._db.executemany("INSERT INTO changes (section) VALUES (?)", [(section,) for section in sections])
            self._changed()

    def read_state(self) -> SourceState:
        """What the file says about its source."""
        with self._reading():
            return source_state(self._db.execute(f"SELECT {STATE_COLUMNS} FROM source").fetchone())

    def write_state(self, state: SourceState) -> None:
        """Replace what the file says about its source; readers see it at once."""
        values = (
            state.state, state.fetched, state.of, state.error, state.heartbeat, state.last_success, int(state.built),
        )  # fmt: skip
        with self._writing():
            self._db.execute(f"UPDATE source SET ({STATE_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?)", values)

    def finish(self) -> None:
        """Tidy up after a sync: merge the keyword index when much was written, shrink the file, empty its log."""
        with self._writing():
            unmerged, sections = self._db.execute(
                "SELECT unmerged, (SELECT count(*) FROM sections) FROM file"
            ).fetchone()
            if unmerged > _MERGE_SHARE * sections:
                self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
                self._db.execute("UPDATE file SET unmerged = 0")
        with self._turn, storage_errors(self.path):
            give_back_pages(self._db)
            # Busy readers leave part of the log for the next time, which is no error.
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _current_model(self) -> tuple[int, int]:
        if self._model is None:
            raise ValueError("use_model() names the model before vectors are read or written")
        return self._model

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._turn, self._damage_set_aside(), contents_errors(self.path):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn, self._damage_set_aside(), storage_errors(self.path), transaction(self._db):
            yield

    @contextmanager
    def _damage_set_aside(self) -> Iterator[None]:
        try:
            yield
        except IndexDamagedError as error:
            self._db.close()
            set_aside(self.path, str(error))
            raise

    def _store_item(self, prepared: PreparedItem, model: int, batch: SectionBatch) -> int:
        """Write the item's row and give the batch its new sections; the number of sections removed."""
        item = prepared.item
        known = self._db.execute(
            "SELECT id, title = ? AND trail = ? FROM items WHERE item_id = ?",
            (clean(item.title), joined(item.path), item.id),
        ).fetchone()
        if known is None:
            number = self._db.execute(INSERT_ITEM, item_columns(item)).lastrowid
            assert number is not None
            batch.add(number, item, list(enumerate(prepared.passages)), prepared.vectors)
            return 0
        number, same_context = known
        kept = self._kept_sections(number, prepared.passages, model) if same_context else {}
        removed = self._remove_sections(number, keep=kept.values())
        self._db.execute(UPDATE_ITEM, (*item_columns(item), number))
        self._db.execute("INSERT INTO changes (item) VALUES (?)", (number,))
        self._db.executemany(
            "UPDATE sections SET position = ? WHERE id = ? AND position != ?",
            [(position, section, position) for position, section in kept.items()],
        )
        fresh = [(position, passage) for position, passage in enumerate(prepared.passages) if position not in kept]
        if fresh:
            batch.add(number, item, fresh, prepared.vectors[[position for position, _ in fresh]])
        return removed

    def _next_section(self) -> int:
        row = self._db.execute("SELECT seq + 1 FROM sqlite_sequence WHERE name = 'sections'").fetchone()
        return 1 if row is None else int(row[0])

    def _changed(self, rows: int = 0) -> None:
        self._db.execute("UPDATE file SET generation = generation + 1, unmerged = unmerged + ?", (rows,))
        self._db.execute("DELETE FROM changes WHERE id <= (SELECT max(id) FROM changes) - ?", (CHANGES_KEPT,))

    def _kept_sections(self, item: int, passages: Sequence[Passage], model: int) -> dict[int, int]:
        """Position to section number, for passages that are stored already with a vector of this model."""
        stored: dict[bytes, list[int]] = {}
        for section, digest in self._db.execute(
            "SELECT sections.id, hash FROM sections JOIN vectors ON section = sections.id"
            " WHERE sections.item = ? AND model = ? ORDER BY sections.id DESC",
            (item, model),
        ):
            stored.setdefault(digest, []).append(section)
        return {
            position: stored[passage.hash].pop()
            for position, passage in enumerate(passages)
            if stored.get(passage.hash)
        }

    def _remove_items(self, ids: Iterable[str]) -> int:
        removed = 0
        for item_id in ids:
            known = self._db.execute("SELECT id FROM items WHERE item_id = ?", (item_id,)).fetchone()
            if known is not None:
                removed += self._remove_sections(known[0])
                self._db.execute("DELETE FROM items WHERE id = ?", known)
                self._db.execute("INSERT INTO changes (item) VALUES (?)", known)
        return removed

    def _remove_sections(self, item: int, keep: Iterable[int] = ()) -> int:
        kept = set(keep)
        gone = [
            row for row in self._db.execute("SELECT id FROM sections WHERE item = ?", (item,)) if row[0] not in kept
        ]
        # FTS5 removes a row's words by being told them again, so this comes before anything they are read from changes.
        self._db.executemany(
            "INSERT INTO words (words, rowid, title, trail, text, extra)"
            " SELECT 'delete', id, title, trail, text, extra FROM passages WHERE id = ?",
            gone,
        )
        self._db.executemany("DELETE FROM vectors WHERE section = ?", gone)
        self._db.executemany("DELETE FROM sections WHERE id = ?", gone)
        self._db.executemany("INSERT INTO changes (section) VALUES (?)", gone)
        return len(gone)
