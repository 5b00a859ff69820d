"""What the index holds, item by item, and which items are an accepted answer to a question."""

from collections.abc import Iterable
from dataclasses import dataclass

from passageway_cli.eval.cases import Case

Key = tuple[str, str]
"""(source, id): what identifies an item over all sources."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One indexed item by everything that a case can accept it for."""

    source: str
    id: str
    title: str
    url: str
    headings: tuple[str, ...]


class Catalogue:
    """All indexed items."""

    def __init__(self, entries: Iterable[Entry]):
        self._entries = tuple(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def accepted(self, case: Case) -> frozenset[Key]:
        """The items that hold an accepted answer: by id, title, address or the heading of any section."""
        return frozenset(
            (entry.source, entry.id)
            for entry in self._entries
            if case.accepts(entry.id, (entry.title, entry.url, *entry.headings))
        )
