"""What came into an index file since a reader last looked, so that 100,000 rows are not read again for one edit."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from passageway.index.bindings import marks, parts
from passageway.index.state import STATE_COLUMNS, SourceState, source_state
from passageway.index.trouble import contents_errors, lost_rows
from passageway.index.vectors import Codes, from_blobs

Numbers = NDArray[np.int64]

_CHUNK = 4096
"""Rows fetched at a time while vectors are read: 3 MB of them."""

_VECTORS = "SELECT section, item, length, model, scale, codes FROM vectors"


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model of stored vectors."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Place:
    """How far a reader has read a file; the default is nothing at all."""

    epoch: int = -1
    generation: int = -1
    section: int = 0
    item: int = 0
    change: int = 0


@dataclass(frozen=True, slots=True)
class SectionRows:
    """n sections: numbers, their items' numbers and lengths in characters, all (n,); codes where `current` is true."""

    section: Numbers
    item: Numbers
    length: Numbers
    current: NDArray[np.bool_]
    codes: Codes


@dataclass(frozen=True, slots=True)
class ItemRows:
    """n items: numbers and weights, both (n,)."""

    item: Numbers
    weight: NDArray[np.float32]


class News:
    """What came since a place, read while the reader holds on to the file. With `whole`, forget everything before.

    Methods raise StorageError.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, since: Place, model: Model | None) -> None:
        self._path = path
        self._db = connection
        epoch, generation, number = self._one("SELECT epoch, generation, model FROM file")
        oldest, last = self._one("SELECT min(id), max(id) FROM changes")
        missed = oldest is not None and oldest > since.change + 1
        self.whole = epoch != since.epoch or generation < since.generation or missed
        self._since = Place() if self.whole else since
        self.model = model or self._model(number)
        self._number = number if model is None else self._number_of(model)
        self.anything = self.whole or generation > since.generation
        self.place = Place(
            epoch,
            generation,
            max(self._since.section, self._one("SELECT max(section) FROM vectors")[0] or 0),
            max(self._since.item, self._one("SELECT max(id) FROM items")[0] or 0),
            last or 0,
        )

    def state(self) -> SourceState:
        """What the file says about its source."""
        with contents_errors(self._path):
            return source_state(self._one(f"SELECT {STATE_COLUMNS} FROM source"))

    def check_whole(self) -> None:
        """Raises IndexDamagedError when a section lacks its vector: nothing would find it, and nobody would know."""
        with contents_errors(self._path):
            sections, vectors = self._one("SELECT (SELECT count(*) FROM sections), (SELECT count(*) FROM vectors)")
        if sections != vectors:
            raise lost_rows(self._path)

    def items(self) -> ItemRows:
        """Items that are new, by ascending number."""
        with contents_errors(self._path):
            return _item_rows(
                self._db.execute(
                    "SELECT id, weight FROM items WHERE id > ? ORDER BY id", (self._since.item,)
                ).fetchall()
            )

    def sections(self) -> Iterator[SectionRows]:
        """Sections that are new, by ascending number, some thousand at a time."""
        with contents_errors(self._path):
            cursor = self._db.execute(f"{_VECTORS} WHERE section > ? ORDER BY section", (self._since.section,))
            while rows := cursor.fetchmany(_CHUNK):
                yield self._section_rows(rows)

    def replaced(self) -> tuple[SectionRows, Numbers]:
        """Sections from before whose vectors are others now, and the numbers of those that are gone."""
        with contents_errors(self._path):
            known = self._logged("section", self._since.section)
            rows = self._select(f"{_VECTORS} WHERE section IN", known)
            gone = set(known) - {row[0] for row in rows}
            return self._section_rows(rows), np.array(sorted(gone), dtype=np.int64)

    def changed_items(self) -> ItemRows:
        """Items from before that are still there and may have another weight, path or label now."""
        with contents_errors(self._path):
            return _item_rows(
                self._select("SELECT id, weight FROM items WHERE id IN", self._logged("item", self._since.item))
            )

    def _logged(self, column: str, up_to: int) -> list[int]:
        if self.whole:
            return []
        query = f"SELECT DISTINCT {column} FROM changes WHERE id > ? AND {column} <= ? ORDER BY {column}"
        return [row[0] for row in self._db.execute(query, (self._since.change, up_to))]

    def _select(self, query: str, numbers: Sequence[int]) -> list[Any]:
        return [row for part in parts(numbers) for row in self._db.execute(f"{query} ({marks(part)})", part)]

    def _section_rows(self, rows: Sequence[tuple[int, int, int, int, float, bytes]]) -> SectionRows:
        dimension = 0 if self.model is None else self.model.dimension
        current = [row[3] == self._number for row in rows]
        nothing = bytes(2 * dimension)
        codes = from_blobs(
            [row[4] if is_current else 0.0 for row, is_current in zip(rows, current, strict=True)],
            [row[5] if is_current else nothing for row, is_current in zip(rows, current, strict=True)],
            dimension,
        )
        section, item, length = (np.array([row[column] for row in rows], dtype=np.int64) for column in range(3))
        if not np.isfinite(codes.scale).all() or (length < 0).any():
            raise ValueError("a vector or a section has no length")
        return SectionRows(section, item, length, np.array(current, dtype=np.bool_), codes)

    def _model(self, number: int | None) -> Model | None:
        row = self._db.execute("SELECT name, dimension FROM models WHERE id = ?", (number,)).fetchone()
        return None if row is None else Model(*row)

    def _number_of(self, model: Model) -> int | None:
        row = self._db.execute(
            "SELECT id FROM models WHERE name = ? AND dimension = ?", (model.name, model.dimension)
        ).fetchone()
        return None if row is None else int(row[0])

    def _one(self, query: str) -> Any:
        return self._db.execute(query).fetchone()


def _item_rows(rows: Sequence[tuple[int, float]]) -> ItemRows:
    weight = np.array([row[1] for row in rows], dtype=np.float64)
    if not (weight >= 0).all():
        raise ValueError("a weight is below 0")
    # A source may give any finite weight, and the largest float32 outranks everything as well.
    weight = np.minimum(weight, np.finfo(np.float32).max)
    return ItemRows(np.array([row[0] for row in rows], dtype=np.int64), weight.astype(np.float32))
