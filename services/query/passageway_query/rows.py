"""Every searched section of every source in memory: what a scan reads, and whose section a row is.

One row a section, in one set of arrays whatever source it came from, so that a question costs the same for one source
as for fifty. The row of a removed section is marked dead; when many are, all are packed anew. Two bytes a number and
24 bytes a row make 792 bytes for 384 numbers.
"""

import numpy as np
from numpy.typing import NDArray

from passageway.index.news import SectionRows
from passageway_query.column import Column

RowNumbers = NDArray[np.int32]
Mask = NDArray[np.bool_]

_DEAD_SHARE = 0.25
_DEAD_ROWS = 5_000
"""Dead rows are scanned like others, 0.1 ms for these many; from here on and a quarter of all, they are packed away."""


class Rows:
    """The arrays. `source` and `item` hold the numbers their owner gave; a row's own number changes only in `pack`."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.high = Column(np.int8, dimension)
        self.low = Column(np.int8, dimension)
        self.scale = Column(np.float32)
        self.length = Column(np.int32)
        self.section = Column(np.int64)
        self.source = Column(np.int16)
        self.item = Column(np.int32)
        self.live = Column(np.bool_)
        self.dead = 0
        self.total_length = 0
        self._columns: tuple[Column[np.generic], ...] = (
            self.high, self.low, self.scale, self.length, self.section, self.source, self.item, self.live,
        )  # type: ignore[assignment]  # fmt: skip
        self._unscanned: RowNumbers | None = None

    @property
    def count(self) -> int:
        """Rows in the arrays, dead ones included."""
        return self.live.count

    @property
    def living(self) -> int:
        """Rows that stand for a section."""
        return self.count - self.dead

    @property
    def has_vectors(self) -> bool:
        """Whether any row has a vector of the current model."""
        return len(self.unscanned) < self.count

    @property
    def stale(self) -> RowNumbers:
        """Living rows whose vectors are of another model, which only words find."""
        if len(self.unscanned) == self.dead:  # the dead ones have no vector either
            return np.empty(0, np.int32)
        return self.unscanned[self.live.used[self.unscanned]]

    @property
    def mean_length(self) -> float:
        """Characters of a living section, never less than one."""
        return max(1.0, self.total_length / max(1, self.living))

    @property
    def unscanned(self) -> RowNumbers:
        """Rows that no vector search may find: dead, or without a vector of the current model (their scale is 0)."""
        if self._unscanned is None:
            self._unscanned = np.flatnonzero(self.scale.used == 0).astype(np.int32)
        return self._unscanned

    def append(self, sections: SectionRows, source: int, items: NDArray[np.int32]) -> RowNumbers:
        """Add sections of a source, with the items they belong to; the numbers of their rows."""
        first, more = self.count, len(sections.section)
        self.high.append(sections.codes.high)
        self.low.append(sections.codes.low)
        self.scale.append(sections.codes.scale)
        self.length.append(sections.length)
        self.section.append(sections.section)
        self.source.append(np.full(more, source, dtype=np.int16))
        self.item.append(items)
        self.live.append(np.ones(more, dtype=np.bool_))
        self.total_length += int(sections.length.sum())
        self._unscanned = None
        return np.arange(first, first + more, dtype=np.int32)

    def replace_vectors(self, rows: RowNumbers, sections: SectionRows) -> None:
        """Put other vectors in these rows."""
        self.high.used[rows] = sections.codes.high
        self.low.used[rows] = sections.codes.low
        self.scale.used[rows] = sections.codes.scale
        self._unscanned = None

    def kill(self, rows: RowNumbers) -> None:
        """Mark rows dead: no search finds them any more."""
        rows = rows[self.live.used[rows]]
        self.live.used[rows] = False
        self.scale.used[rows] = 0
        self.dead += len(rows)
        self.total_length -= int(self.length.used[rows].sum())
        self._unscanned = None

    @property
    def to_be_packed(self) -> bool:
        """Whether so many rows are dead that packing pays."""
        return self.dead > _DEAD_ROWS and self.dead > _DEAD_SHARE * self.count

    def pack(self) -> RowNumbers:
        """Take the dead rows out. The new number of every old row, -1 for a dead one."""
        kept = np.flatnonzero(self.live.used)
        moved = np.full(self.count, -1, dtype=np.int32)
        moved[kept] = np.arange(len(kept), dtype=np.int32)
        for column in self._columns:
            column.keep(kept)
        self.dead = 0
        self._unscanned = None
        return moved
