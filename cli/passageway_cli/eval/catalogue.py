"""What the index holds, item by item: which items answer a question, and which are copies of each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from passageway_cli.eval.cases import Case, folded_text
from passageway_query.answer import OpenedItem

Key = tuple[str, str]
"""(source, id): what identifies an item over all sources."""

COPY_SHARE = 0.5
"""An item of which more than this share stands word for word in another one is a copy of it."""

TELLING_CHARACTERS = 100
"""Shorter sections repeat by nature, such as a licence line or a footer, and say nothing about a copy."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item by what a case can accept it for, all in one text, and by its sections: hash of a text to its length."""

    accepted_for: str
    sections: Mapping[int, int]

    def telling(self) -> set[int]:
        return {digest for digest, length in self.sections.items() if length >= TELLING_CHARACTERS}


class Catalogue:
    """All indexed items. Holds titles, addresses and headings, but no text."""

    def __init__(self, items: Iterable[OpenedItem]):
        self._entries = {(item.source, item.id): _entry(item) for item in items}
        self._holders: dict[int, list[Key]] = {}
        for key, entry in self._entries.items():
            for digest in entry.telling():
                self._holders.setdefault(digest, []).append(key)

    def accepted(self, case: Case) -> frozenset[Key]:
        """The items that hold an accepted answer: by id, title, address or the heading of any section."""
        parts = case.folded_expect()
        return frozenset(
            key
            for key, entry in self._entries.items()
            if key[1] in case.expect_id or any(part in entry.accepted_for for part in parts)
        )

    def with_copies(self, keys: frozenset[Key]) -> frozenset[Key]:
        """These items and the copies of them, such as the same page in another source."""
        shared = {digest for key in keys for digest in self._entries[key].telling()}
        near = {key for digest in shared for key in self._holders[digest]}
        return keys | {key for key in near if self._is_copy(self._entries[key], shared)}

    @staticmethod
    def _is_copy(entry: _Entry, shared: set[int]) -> bool:
        common = sum(length for digest, length in entry.sections.items() if digest in shared)
        return common > COPY_SHARE * sum(entry.sections.values())


def _entry(item: OpenedItem) -> _Entry:
    headings = dict.fromkeys(section.heading for section in item.sections if section.heading)
    # NUL keeps a text from matching across the end of one and the start of the next.
    accepted_for = "\0".join(folded_text(text) for text in (item.title, item.url, *headings))
    texts = [" ".join(section.text.split()) for section in item.sections]
    return _Entry(accepted_for, {hash(text): len(text) for text in texts if text})
