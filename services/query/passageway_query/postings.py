"""Where words stand: read from the files a word at a time, kept in memory, extended when sections come."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from passageway.errors import StorageError
from passageway.index.news import Numbers
from passageway.index.reader import IndexReader
from passageway_query.rows import RowNumbers
from passageway_query.sources import Source, Sources
from passageway_query.words import Word

_T = TypeVar("_T")

Places = tuple[RowNumbers, Numbers]

COLUMN_WEIGHTS = np.array([2.0, 1.0, 1.0, 1.0], dtype=np.float32)
"""What an occurrence counts for in the columns title, trail, text and extra of the index."""

_MOST_PLACES = 8_000_000
"""Kept together, at 8 bytes each: 64 MB. The words asked for longest ago go first."""


_SAMPLE = 0.25
"""Share of all sections from which a word's frequency is estimated; a wrong estimate costs a few milliseconds once."""


class SourceFailed(Exception):
    """A source's file could not be read in the middle of a search; `error` says why."""

    def __init__(self, source: Source, error: StorageError) -> None:
        super().__init__(str(error))
        self.source = source
        self.error = error


@dataclass(frozen=True, slots=True)
class Postings:
    """Rows with a word and its weighted count there; `seen` is how many rows there were when this was read."""

    rows: RowNumbers
    counts: NDArray[np.float32]
    seen: int


class PostingsCache:
    """Postings of the words that were asked for. For one thread at a time; every method may raise SourceFailed."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._version = sources.version
        self._kept: dict[tuple[str, bool], Postings] = {}
        self._places = 0
        self._common: dict[tuple[str, bool], tuple[int, int]] = {}

    def of(self, word: Word) -> Postings:
        """The word's postings over everything there is."""
        self._forget_if_moved()
        known = self._kept.pop(word.key, None)
        count = self._sources.rows.count
        if known is None:
            entry = Postings(*_counted(self._read(source, word) for source in self._readable()), count)
        elif known.seen < count:
            self._places -= len(known.rows)
            rows, counts = _counted(self._read_since(word, known.seen))
            entry = Postings(np.concatenate((known.rows, rows)), np.concatenate((known.counts, counts)), count)
        else:
            self._kept[word.key] = known
            return known
        self._kept[word.key] = entry
        self._places += len(entry.rows)
        while self._places > _MOST_PLACES and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._places -= len(self._kept.pop(oldest).rows)
        return entry

    def frequency(self, word: Word, limit: float) -> int:
        """The number of sections with the word; above `limit` roughly, and without reading where."""
        self._forget_if_moved()
        count = self._sources.rows.count
        if word.key in self._common:
            frequency, seen = self._common[word.key]
            if count <= 1.1 * seen:
                return frequency
        if word.key not in self._kept and not word.prefix and count > limit:
            frequency = self._estimate(word)
            if frequency > limit:
                self._common[word.key] = frequency, count
                return frequency
        return len(self.of(word).rows)

    def _estimate(self, word: Word) -> int:
        """The number of sections with the word if all sources were like the largest ones."""
        largest = sorted(self._readable(), key=lambda source: -len(source.sections))
        frequency = sections = 0
        for source in largest:
            frequency += asked(source, lambda reader: reader.frequency(word.term))
            sections += len(source.sections)
            if sections >= _SAMPLE * self._sources.rows.count:
                break
        return int(frequency * self._sources.rows.count / max(1, sections))

    def _forget_if_moved(self) -> None:
        if self._version != self._sources.version:
            self._version = self._sources.version
            self._kept.clear()
            self._common.clear()
            self._places = 0

    def _readable(self) -> Iterator[Source]:
        return (source for source in self._sources if source.reader is not None and len(source.sections))

    def _read_since(self, word: Word, seen: int) -> Iterator[Places]:
        """Places in rows from `seen` on, from the sources that such rows came from."""
        after: dict[int, int] = {}
        for segment in reversed(self._sources.segments):
            if segment.first < seen:
                break
            after[segment.source] = min(segment.after, after.get(segment.source, segment.after))
        for number, section in after.items():
            source = self._sources.by_number.get(number)
            if source is None or source.reader is None:
                continue
            if asked(source, lambda reader, after=section: reader.has_since(word.term, after, prefix=word.prefix)):  # type: ignore[misc]
                yield self._read(source, word, section, seen)

    def _read(self, source: Source, word: Word, after: int = 0, first: int = 0) -> Places:
        """Row and column of each occurrence in sections above `after`, as far as their rows are `first` or above."""
        found = asked(source, lambda reader: reader.occurrences(word.term, prefix=word.prefix, after=after))
        rows = source.sections.find(found >> 2)
        known = rows >= first
        return rows[known], found[known] & 3


def _counted(places: Iterable[Places]) -> tuple[RowNumbers, NDArray[np.float32]]:
    """Rows with their weighted counts. The occurrences of a row follow each other."""
    read = [part for part in places if len(part[0])]
    if not read:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    rows = np.concatenate([part[0] for part in read])
    weights = COLUMN_WEIGHTS[np.concatenate([part[1] for part in read])]
    is_first = np.empty(len(rows), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(rows[1:], rows[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    return rows[firsts], np.add.reduceat(weights, firsts)


def asked(source: Source, question: Callable[[IndexReader], _T]) -> _T:
    """What the source's reader answers. Raises SourceFailed when its file cannot be read."""
    assert source.reader is not None
    try:
        return question(source.reader)
    except StorageError as error:
        raise SourceFailed(source, error) from error
