"""Where notes stand: the area they belong to, its weight, and the titles above them.

A note may have several parents, and parents may form circles. Each note gets the place that ranks best: the area of
most weight, then the shortest way down from it, then the way whose ids come first. A note's place depends on the notes
above it alone, so it comes out the same whether the whole tree is known or only that part.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from passageway_connector_trilium.notes import ROOT_ID, Note

AREA_LABEL = "llmWikiPart"
JOURNAL_LABEL = "calendarRoot"
JOURNAL = "journal"
WEIGHTS = {"wiki": 1.0, "schema": 1.0, "sources": 0.8, JOURNAL: 0.6}
OTHER_WEIGHT = 0.6
PLUMBING = frozenset(("locks", "templates", "views"))
"""Areas that keep an LLM wiki running and hold nothing to be found."""

_RANKS = {area: rank for rank, area in enumerate(WEIGHTS)}
_OTHER_RANK = len(WEIGHTS)
_PLUMBING_RANK = _OTHER_RANK + 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note stands. `area` is empty outside every area; `path` has the titles below the area's root."""

    area: str
    path: tuple[str, ...]

    @property
    def weight(self) -> float:
        """What a hit on a note of this area counts."""
        return WEIGHTS.get(self.area, OTHER_WEIGHT)

    @property
    def is_plumbing(self) -> bool:
        """Whether the area is left out."""
        return self.area in PLUMBING


@dataclass(frozen=True, slots=True, order=True)
class _Way:
    """One way down to a note; the smaller one wins."""

    rank: int
    length: int
    ids: tuple[str, ...]
    """Along the way, from below the area's root to the note."""
    note_id: str
    area: str
    path: tuple[str, ...]
    below: tuple[str, ...]
    """The path of the note's children."""


def places(notes: Mapping[str, Note]) -> dict[str, Place]:
    """The place of each note. `notes` must hold, for each of its notes, every note above it that there is."""
    children: dict[str, list[Note]] = defaultdict(list)
    for note in notes.values():
        for parent in note.parents:
            children[parent].append(note)
    found: dict[str, Place] = {}
    _walk(list(_roots(notes)), children, found)
    # What no root leads to hangs below a note that is hidden, or goes round in a circle.
    lost = [note for note in notes.values() if note.id not in found]
    _walk([_lost(note) for note in lost if not any(parent in notes for parent in note.parents)], children, found)
    _walk([_lost(note) for note in lost if note.id not in found], children, found)
    return found


def _roots(notes: Mapping[str, Note]) -> Iterator[_Way]:
    for note in notes.values():
        area = _own_area(note)
        if area or note.id == ROOT_ID:
            yield _Way(_rank(area), 0, (), note.id, area, (), ())


def _lost(note: Note) -> _Way:
    return _Way(_OTHER_RANK, 0, (), note.id, "", (), _shown(note))


def _walk(ways: list[_Way], children: Mapping[str, list[Note]], found: dict[str, Place]) -> None:
    """Dijkstra's algorithm: a step never makes a way better, so the first way to reach a note is its best."""
    heapify(ways)
    while ways:
        way = heappop(ways)
        if way.note_id in found:
            continue
        found[way.note_id] = Place(way.area, way.path)
        for child in children.get(way.note_id, ()):
            if child.id not in found and not _own_area(child):
                ids, below = (*way.ids, child.id), (*way.below, *_shown(child))
                heappush(ways, _Way(way.rank, way.length + 1, ids, child.id, way.area, way.below, below))


def _own_area(note: Note) -> str:
    """The area that starts at this note, or an empty string."""
    own = dict(reversed(note.own_labels))
    if area := own.get(AREA_LABEL, "").lower():
        return area
    return JOURNAL if JOURNAL_LABEL in own else ""


def _rank(area: str) -> int:
    return _PLUMBING_RANK if area in PLUMBING else _RANKS.get(area, _OTHER_RANK)


def _shown(note: Note) -> tuple[str, ...]:
    """The note's title as part of a path; a protected note shows none."""
    return () if note.is_protected else (note.title,)
