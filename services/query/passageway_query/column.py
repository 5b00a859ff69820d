"""Arrays that grow at their end, and a look-up from ascending numbers to values, both for one thread at a time."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from passageway.index.news import Numbers

_S = TypeVar("_S", bound=np.generic)

_FIRST_ROOM = 1024
_GROWTH = 2
"""Room that no row has been written to takes no memory, and a new array gets large pages where numpy asks for them
(Linux): a scan of 100,000 rows takes a fifth less time."""


class Column(Generic[_S]):
    """One array of rows that are numbers, or vectors of `width` numbers. Views of it are void after `append`."""

    def __init__(self, dtype: type[_S], width: int | None = None) -> None:
        self.count = 0
        self._rows: NDArray[_S] = np.empty(_FIRST_ROOM if width is None else (_FIRST_ROOM, width), dtype=dtype)

    def __len__(self) -> int:
        return self.count

    @property
    def used(self) -> NDArray[_S]:
        """A view of the rows, to be written to as well."""
        return self._rows[: self.count]

    def append(self, rows: NDArray[Any]) -> None:
        """Put the rows behind the others."""
        count = self.count + len(rows)
        if count > len(self._rows):
            rows_before, room = self.used, max(count, len(self._rows) * _GROWTH)
            self._rows = np.empty((room, *self._rows.shape[1:]), dtype=self._rows.dtype)
            self._rows[: self.count] = rows_before
        self._rows[self.count : count] = rows
        self.count = count

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Keep only these rows, ascending; the room of the others is given back."""
        self._rows = self._rows[rows]
        self.count = len(rows)


class Ascending:
    """Values of numbers that only grow: section numbers to rows, item numbers to items."""

    def __init__(self) -> None:
        self._keys: Column[np.int64] = Column(np.int64)
        self._values: Column[np.int32] = Column(np.int32)
        self._gapless = True

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def values(self) -> NDArray[np.int32]:
        """A view of the values, in the order of their numbers."""
        return self._values.used

    def append(self, keys: Numbers, values: NDArray[np.int32]) -> None:
        """Add numbers, which must be ascending and above those that are there."""
        self._keys.append(keys)
        self._values.append(values)
        self._look_for_gaps()

    def find(self, keys: Numbers) -> NDArray[np.int32]:
        """The values of the numbers, -1 for an unknown one; int32 (len(keys),)."""
        known, values = self._keys.used, self._values.used
        if not len(known) or not len(keys):
            return np.full(len(keys), -1, dtype=np.int32)
        if self._gapless:
            # Numbers count up by one until something is removed, so the place is known without looking.
            places = keys - known[0]
            unknown = (places < 0) | (places >= len(known))
            places[unknown] = 0
        else:
            places = np.searchsorted(known, keys)
            places[places == len(known)] = 0
            unknown = known[places] != keys
        found: NDArray[np.int32] = values[places]
        found[unknown] = -1
        return found

    def replace(self, values: NDArray[np.int32]) -> None:
        """Give all numbers new values, -1 for those to forget."""
        kept = np.flatnonzero(values >= 0)
        self._keys.keep(kept)
        self._values.keep(kept)
        self._values.used[:] = values[kept]
        self._look_for_gaps()

    def _look_for_gaps(self) -> None:
        keys = self._keys.used
        self._gapless = len(keys) > 0 and int(keys[-1] - keys[0]) == len(keys) - 1
