"""The index files of the data folder, followed while they come, change, break and go, and their rows in memory."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from passageway.errors import IndexDamagedError, StorageError
from passageway.index.layout import SUFFIX, index_path
from passageway.index.news import ItemRows, Model, News, Place, SectionRows
from passageway.index.reader import IndexReader
from passageway.index.state import SourceState
from passageway.index.trouble import lost_rows
from passageway_query.column import Ascending, Column
from passageway_query.rows import Rows

logger = logging.getLogger(__name__)

_RETRY_S = 2.0
"""How often a file that could not be used is tried again, unless it was replaced meanwhile."""

_CLOCK_STEP_NS = 2_000_000_000
"""File systems stamp changes with a clock that stands still for up to 2 s (FAT; 10 ms on Linux's own)."""

_MOST_SEGMENTS = 1_000
"""Remembered additions of rows. Beyond them word caches start anew, which costs each word a few milliseconds once."""


@dataclass(slots=True)
class Source:
    """One index file. `number` is the source's in `Rows`; `problem` says why it cannot be searched."""

    name: str
    number: int
    path: Path
    inode: int
    reader: IndexReader | None = None
    place: Place = Place()
    state: SourceState = SourceState()
    generation: int = 0
    sections: Ascending = field(default_factory=Ascending)
    items: Ascending = field(default_factory=Ascending)
    problem: str | None = None
    unread: bool = True
    retry_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows from `first` on that came from a source's sections above `after`."""

    first: int
    source: int
    after: int


class Sources:
    """All sources and their rows. For one thread at a time.

    `version` changes when rows got new numbers, so that whoever remembers some forgets them.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._by_name: dict[str, Source] = {}
        self._numbers: dict[str, int] = {}
        self.by_number: dict[int, Source] = {}
        self.model: Model | None = None
        self.rows = Rows(0)
        self.weight: Column[np.float32] = Column(np.float32)
        self.item_number: Column[np.int64] = Column(np.int64)
        self.segments: list[Segment] = []
        self.version = 0
        self.problem: str | None = None
        """Why the folder cannot be read; what was found in it before stays."""
        self._folder_time_ns = -1

    def __iter__(self) -> Iterator[Source]:
        return iter(sorted(self._by_name.values(), key=lambda source: source.name))

    def __getitem__(self, name: str) -> Source:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def close(self) -> None:
        """Give back every file."""
        for source in list(self._by_name.values()):
            self._drop(source)

    @contextmanager
    def current(self, model: Model | None) -> Iterator[None]:
        """Everything as it is now, for the length of the `with`: what is read from any file there is of one moment.

        Vectors are `model`'s, or with None those of the first file. A file that cannot be read gets a `problem`; this
        never raises.
        """
        try:
            self._refresh(model)
            yield
        finally:
            for source in self._by_name.values():
                if source.reader is not None:
                    source.reader.end()

    def _refresh(self, model: Model | None) -> None:
        self._follow_folder()
        if model is not None and model != self.model:
            self._start_anew(model)
        for source in list(self._by_name.values()):
            self._follow(source)
        if self.rows.to_be_packed:
            self._pack()
        if len(self.segments) > _MOST_SEGMENTS:
            self.segments.clear()
            self.version += 1

    def fail(self, source: Source, error: StorageError, *, drop: bool = False) -> None:
        """Note an error while a source was read; `drop` takes what was read from it out of the search."""
        if source.problem is None:
            logger.error("source %s: %s", source.name, error)
        source.problem = str(error)
        source.unread, source.retry_at = True, time.monotonic() + _RETRY_S
        # A locked or unreachable file says nothing against the rows read from it before; a damaged one does.
        if drop or isinstance(error, IndexDamagedError):
            self._forget_rows(source)
            if source.reader is not None:
                source.reader.close()
                source.reader = None

    def _follow_folder(self) -> None:
        changed_ns = self._folder_changed_ns()
        if changed_ns == self._folder_time_ns:
            return
        try:
            found = self._files()
        except OSError as error:  # that there are too many open files says nothing against those that are open
            if self.problem is None:
                logger.error("data folder %s cannot be read: %s", self._data_dir, error)
            self.problem = f"the data folder cannot be read: {error.strerror or error}"
            return
        self.problem = None
        # A change within the clock's step after this look would carry the same time, so such a look does not count.
        settled = time.time_ns() - changed_ns > _CLOCK_STEP_NS
        self._folder_time_ns = changed_ns if settled else -1
        for source in list(self._by_name.values()):
            if found.get(source.name) != source.inode:
                self._drop(source)
        for name, inode in found.items():
            if name not in self._by_name:
                number = self._numbers.setdefault(name, len(self._numbers))
                source = Source(name, number, index_path(self._data_dir, name), inode)
                self._by_name[name] = self.by_number[number] = source

    def _folder_changed_ns(self) -> int:
        """When an entry of the folder last came, went or was replaced; 0 without a folder. 2 µs."""
        try:
            return os.stat(self._data_dir).st_mtime_ns
        except OSError:
            return 0

    def _files(self) -> dict[str, int]:
        """The index files by name, each with its inode; none without a folder. Raises OSError."""
        try:
            with os.scandir(self._data_dir) as entries:
                return {
                    entry.name.removesuffix(SUFFIX): entry.inode() for entry in entries if entry.name.endswith(SUFFIX)
                }
        except FileNotFoundError:
            return {}

    def _follow(self, source: Source) -> None:
        if source.reader is None and time.monotonic() < source.retry_at:
            return
        try:
            if source.reader is None:
                source.reader = IndexReader(source.path)
            if source.reader.begin() or source.unread:
                self._read(source, source.reader)
        except StorageError as error:
            self.fail(source, error)

    def _read(self, source: Source, reader: IndexReader) -> None:
        source.unread = True
        news = reader.news(source.place, self.model)
        if news.anything:
            try:
                self._take_in(source, news)
            except BaseException:
                # Taken in by half; the next look reads the file from its start.
                self._forget_rows(source)
                raise
        source.state, source.place = news.state(), news.place
        source.problem, source.unread = None, False

    def _take_in(self, source: Source, news: News) -> None:
        if news.whole:
            news.check_whole()
            self._forget_rows(source)
        if self.model is None and news.model is not None:
            self._start_anew(news.model)
        source.generation += 1
        # Item numbers in `changed_items` and section numbers in `replaced` are from before, so these come first.
        replaced, removed = news.replaced()
        rows = source.sections.find(replaced.section)
        known = rows >= 0
        self.rows.replace_vectors(rows[known], _chosen(replaced, known))
        rows = source.sections.find(removed)
        self.rows.kill(rows[rows >= 0])
        self._reweigh(source, news.changed_items())
        self._add_items(source, news.items())
        first = self.rows.count
        for sections in news.sections():
            items = source.items.find(sections.item)
            if (items < 0).any():
                raise lost_rows(source.path)
            numbers = self.rows.append(sections, source.number, items)
            source.sections.append(sections.section, numbers)
        if self.rows.count > first:
            self.segments.append(Segment(first, source.number, source.place.section))

    def _reweigh(self, source: Source, items: ItemRows) -> None:
        places = source.items.find(items.item)
        known = places >= 0
        self.weight.used[places[known]] = items.weight[known]

    def _add_items(self, source: Source, items: ItemRows) -> None:
        first = len(self.weight)
        self.weight.append(items.weight)
        self.item_number.append(items.item)
        source.items.append(items.item, np.arange(first, first + len(items.item), dtype=np.int32))

    def _forget_rows(self, source: Source) -> None:
        rows = source.sections.values
        self.rows.kill(rows[rows >= 0])
        source.sections, source.items, source.place = Ascending(), Ascending(), Place()

    def _drop(self, source: Source) -> None:
        self._forget_rows(source)
        if source.reader is not None:
            source.reader.close()
        del self._by_name[source.name]

    def _start_anew(self, model: Model) -> None:
        """Forget every row: vectors of another model have another width and mean nothing beside these."""
        self.model = model
        self.rows = Rows(model.dimension)
        self.weight, self.item_number = Column(np.float32), Column(np.int64)
        self.segments.clear()
        self.version += 1
        for source in self._by_name.values():
            source.sections, source.items, source.place = Ascending(), Ascending(), Place()
            source.unread = True

    def _pack(self) -> None:
        moved = self.rows.pack()
        for source in self._by_name.values():
            source.sections.replace(moved[source.sections.values])
        self.segments.clear()
        self.version += 1


def _chosen(sections: SectionRows, which: NDArray[np.bool_]) -> SectionRows:
    return SectionRows(
        sections.section[which],
        sections.item[which],
        sections.length[which],
        sections.current[which],
        sections.codes.chosen(which),
    )
