"""Query's door to an index file: what is new, where a word stands, and the texts themselves. Read-only.

What a question reads between `begin` and `end` is of one moment. Nothing is kept open between questions, so a writer's
log can always be emptied.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np

from passageway.errors import IndexDamagedError, StorageError
from passageway.index.bindings import marks, parts
from passageway.index.layout import APPLICATION_ID, READ_CACHE_KB, READ_TIMEOUT_MS, SCHEMA_VERSION
from passageway.index.news import Model, News, Numbers, Place
from passageway.index.rows import entries_key
from passageway.index.trouble import as_storage_error, check_keywords, contents_errors, storage_errors

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item without its text."""

    number: int
    id: str
    title: str
    url: str
    weight: float
    path: tuple[str, ...]
    links: tuple[str, ...]
    labels: tuple[str, ...]
    updated: str | None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """One section's own text, and whose it is."""

    item: ItemRow
    heading: str | None
    text: str


_NOWHERE: Numbers = np.empty(0, dtype=np.int64)

COLUMNS = ("title", "trail", "text", "extra")
"""Columns of the keyword index, by the numbers that `occurrences` gives."""

_COLUMN_NUMBER = "CASE col WHEN 'title' THEN 0 WHEN 'trail' THEN 1 WHEN 'text' THEN 2 ELSE 3 END"
_ITEM = "items.id, item_id, title, url, weight, path, links, labels, updated"
_PASSAGE = f"SELECT {_ITEM}, heading, text FROM sections JOIN items ON items.id = item WHERE sections.id = ?"


class IndexReader:
    """One file, read by one thread at a time. Methods raise StorageError, of a damaged file IndexDamagedError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        uri = f"file:{quote(str(path))}?mode=ro"
        with storage_errors(path):
            self._db = sqlite3.connect(
                uri, uri=True, timeout=READ_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
            )
        try:
            with storage_errors(path):
                self._check()
                self._db.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab (main, words, instance)")
                self._db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, words, row)")
                self._db.execute("PRAGMA query_only = 1")
                self._db.execute(f"PRAGMA cache_size = -{READ_CACHE_KB}")
        except BaseException:
            self._db.close()
            raise
        self._data_version = -1

    def close(self) -> None:
        """Give back the file; safe to call twice."""
        self._db.close()

    def begin(self) -> bool:
        """Hold on to the file as it is now, until `end`. True when it changed since `news` was last asked for; 6 µs."""
        # Asked of every file before every question, so without the with statement of the others, which takes as long.
        try:
            self._db.execute("BEGIN")
            version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.end()
            raise as_storage_error(self.path, error) from error
        return version != self._data_version

    def end(self) -> None:
        """Let go of the file; safe to call at any time."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def news(self, since: Place, model: Model | None) -> News:
        """What came since a place, to be read before `end`.

        Vectors are those of `model`, or of the model the file was last written with when None.
        """
        with contents_errors(self.path):
            self._data_version = self._db.execute("PRAGMA data_version").fetchone()[0]
            check_keywords(self._db, self.path)
            return News(self.path, self._db, since, model)

    def frequency(self, term: str) -> int:
        """The number of sections with the term, also those a reader of `news` has not seen; 0.04 µs a section."""
        with contents_errors(self.path):
            row = self._db.execute("SELECT doc FROM temp.vocabulary WHERE term = ?", (term,)).fetchone()
            return 0 if row is None else int(row[0])

    def occurrences(self, term: str, *, prefix: bool = False, after: int = 0) -> Numbers:
        """Where a term stands: section number times 4 plus column (`COLUMNS`), one entry an occurrence, by section.

        Only sections above `after` count. A `prefix` gives all terms that begin so. 0.24 µs an occurrence: the numbers
        travel as one text, because a row of its own for each would take twice as long, and FTS5's `rank` six times.
        """
        condition, bounds = "term = ?", [term]
        if prefix:
            condition, bounds = "term >= ? AND term <= ?", [term, term + "\U0010ffff"]
        query = f"SELECT group_concat(doc * 4 + {_COLUMN_NUMBER}) FROM temp.instances WHERE {condition} AND doc > ?"
        with contents_errors(self.path):
            text = self._db.execute(query, (*bounds, after)).fetchone()[0]
        if text is None:
            return _NOWHERE
        numbers = np.fromstring(text, dtype=np.int64, sep=",")
        return np.sort(numbers) if prefix else numbers

    def has_since(self, term: str, after: int, *, prefix: bool = False) -> bool:
        """Whether the term stands in a section above `after`; FTS5 skips to it, whatever stands before."""
        query = f'"{term}"*' if prefix else f'"{term}"'
        with contents_errors(self.path):
            return (
                self._db.execute(
                    "SELECT 1 FROM words WHERE words MATCH ? AND rowid > ? LIMIT 1", (query, after)
                ).fetchone()
                is not None
            )

    def passage(self, section: int) -> PassageRow | None:
        """The section with its item, None when it is gone."""
        rows = self._rows(_PASSAGE, (section,), lambda row: PassageRow(_item(row[:9]), *_heading_and_text(row[9:])))
        return rows[0] if rows else None

    def items(self, numbers: Sequence[int]) -> dict[int, ItemRow]:
        """The items that are still there, by number."""
        found: dict[int, ItemRow] = {}
        for part in parts(numbers):
            rows = self._rows(f"SELECT {_ITEM} FROM items WHERE id IN ({marks(part)})", part, _item)
            found.update((item.number, item) for item in rows)
        return found

    def items_by_id(self, ids: Sequence[str]) -> dict[str, ItemRow]:
        """The items that are there, by the connector's id."""
        found: dict[str, ItemRow] = {}
        for part in parts(ids):
            rows = self._rows(f"SELECT {_ITEM} FROM items WHERE item_id IN ({marks(part)})", part, _item)
            found.update((item.id, item) for item in rows)
        return found

    def text(self, item: int) -> list[tuple[str | None, str]]:
        """Heading and text of the item's sections, in order."""
        query = "SELECT heading, text FROM sections WHERE item = ? ORDER BY position"
        return self._rows(query, (item,), _heading_and_text)

    def matching_items(self, path: str, label: str, updated_after_s: float | None) -> Numbers:
        """Numbers of the items that pass the filters, ascending; `""` and None let everything pass.

        `path` is one entry of the trail, or the start of the whole trail with `›` or `/` between entries.
        """
        conditions: list[str] = []
        values: list[object] = []
        if path.strip():
            starts = [entries_key([part for part in path.split(mark) if part.strip()])[:-1] for mark in ("›", "/")]
            conditions.append("(instr(path_key, ?) OR instr(path_key, ?) = 1 OR instr(path_key, ?) = 1)")
            values += [entries_key([path]), *starts]
        if label.strip():
            conditions.append("instr(labels_key, ?)")
            values.append(entries_key([label]))
        if updated_after_s is not None:
            conditions.append("updated_s >= ?")
            values.append(updated_after_s)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        numbers = self._rows(f"SELECT id FROM items{where} ORDER BY id", values, lambda row: int(row[0]))
        return np.array(numbers, dtype=np.int64)

    def counts(self) -> tuple[int, int]:
        """Items and sections in the file."""
        query = "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM sections)"
        ((items, sections),) = self._rows(query, (), tuple)
        return items, sections

    def labels(self) -> set[str]:
        """Every label of the source."""
        query = "SELECT DISTINCT labels FROM items WHERE labels != '[]'"
        return set[str]().union(*self._rows(query, (), lambda row: _entries(row[0])))

    def _rows(self, query: str, values: Sequence[object], make: Callable[[Any], _T]) -> list[_T]:
        """What `make` makes of each row."""
        with contents_errors(self.path):
            return [make(row) for row in self._db.execute(query, values)]

    def _check(self) -> None:
        application_id = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if application_id == version == 0 and not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            raise StorageError(f"{self.path}: empty; the next sync fills it")
        if application_id != APPLICATION_ID or version != SCHEMA_VERSION:
            raise IndexDamagedError(f"{self.path}: not an index of this version; the next sync brings it up to date")
        check_keywords(self._db, self.path)


def _item(row: Sequence[Any]) -> ItemRow:
    number, *texts, weight, path, links, labels, updated = row
    item_id, title, url = map(_text, texts)
    lists = (_entries(path), _entries(links), _entries(labels))
    return ItemRow(number, item_id, title, url, weight, *lists, None if updated is None else _text(updated))


def _heading_and_text(row: Sequence[Any]) -> tuple[str | None, str]:
    heading, text = row
    return None if heading is None else _text(heading), _text(text)


def _text(value: Any) -> str:
    """The value. Raises TypeError for another kind, as which SQLite gives a text whose type was damaged."""
    if not isinstance(value, str):
        raise TypeError("a text is stored as something else")
    return value


def _entries(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(map(_text, json.loads(text)))
