"""Filters as a mask over the rows, made before anything is ranked: the best fifty are fifty that may be found."""

from collections.abc import Iterable

import numpy as np

from passageway.index.news import Numbers
from passageway.index.rows import seconds_since_1970
from passageway_query.answer import Filters
from passageway_query.postings import asked
from passageway_query.rows import Mask
from passageway_query.sources import Source, Sources

_MASKS_KEPT = 16


def updated_after_s(filters: Filters) -> float | None:
    """The instant of `updated_after`, None when it is empty. Raises ValueError for text that is no date or time."""
    if not filters.updated_after.strip():
        return None
    seconds = seconds_since_1970(filters.updated_after)
    if seconds is None:
        raise ValueError(
            f"updated_after is {filters.updated_after!r}, expected an ISO 8601 date or time, such as 2026-03-01"
        )
    return seconds


class FilterMasks:
    """Masks over all rows, the last few kept until a source changes. For one thread at a time."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._kept: dict[object, Mask] = {}

    def mask(self, filters: Filters, exclude: Iterable[tuple[str, str]] = ()) -> Mask | None:
        """Which rows may be found, bool (rows,); None for all. Raises SourceFailed."""
        hidden = self._hidden(exclude)
        if filters == Filters() and not len(hidden):
            return None
        allowed = self._of(filters)
        if len(hidden):
            allowed = allowed & ~np.isin(self._sources.rows.item.used, hidden)
        return allowed

    def _of(self, filters: Filters) -> Mask:
        key = (filters, self._sources.version, tuple((source.name, source.generation) for source in self._sources))
        mask = self._kept.pop(key, None)
        if mask is None:
            mask = np.zeros(self._sources.rows.count, dtype=np.bool_)
            for source in self._sources:
                if source.reader is not None and filters.source in ("", source.name):
                    mask[self._rows(source, filters)] = True
            mask &= self._sources.rows.live.used
        self._kept[key] = mask
        if len(self._kept) > _MASKS_KEPT:
            del self._kept[next(iter(self._kept))]
        return mask

    def _rows(self, source: Source, filters: Filters) -> Numbers:
        rows = source.sections.values
        after_s = updated_after_s(filters)
        if not filters.path.strip() and not filters.label.strip() and after_s is None:
            return rows.astype(np.int64)
        numbers = asked(source, lambda reader: reader.matching_items(filters.path, filters.label, after_s))
        wanted = np.zeros(len(self._sources.weight), dtype=np.bool_)
        items = source.items.find(numbers)
        wanted[items[items >= 0]] = True
        return rows[wanted[self._sources.rows.item.used[rows]]].astype(np.int64)

    def _hidden(self, exclude: Iterable[tuple[str, str]]) -> Numbers:
        ids: dict[str, list[str]] = {}
        for name, item_id in exclude:
            ids.setdefault(name, []).append(item_id)
        hidden: list[Numbers] = []
        for name, own in ids.items():
            if name in self._sources and self._sources[name].reader is not None:
                source = self._sources[name]
                found = asked(source, lambda reader, own=own: reader.items_by_id(own))  # type: ignore[misc]
                numbers = np.array([item.number for item in found.values()], dtype=np.int64)
                hidden.append(source.items.find(numbers).astype(np.int64))
        return np.concatenate(hidden) if hidden else np.zeros(0, dtype=np.int64)
