"""A question and what comes back: at most three passages, or silence with its reason."""

from dataclasses import dataclass
from enum import StrEnum

from passageway.index.state import SourceState
from passageway.records import Section

MAX_HITS = 3


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be found at all; applied before ranking. Empty means everything.

    `path` matches a breadcrumb entry (or the start of the whole trail), `label` a label, both without case.
    `updated_after` is an ISO 8601 date or time.
    """

    source: str = ""
    path: str = ""
    label: str = ""
    updated_after: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Any text. `deadline_s` bounds the wait for the embedding: past it the answer is by words alone, and says so.

    `context_words` (from the client's working directory) give a small boost. `exclude` hides items, as
    (source, id): what was shown before, or what a measurement leaves out. `cautious` asks for what clearly bears on the
    text, for one that was not put to the sources.
    """

    text: str
    filters: Filters = Filters()
    deadline_s: float | None = None
    context_words: frozenset[str] = frozenset()
    exclude: frozenset[tuple[str, str]] = frozenset()
    explain: bool = False
    cautious: bool = False


@dataclass(frozen=True, slots=True)
class Related:
    """An indexed item that a hit links to."""

    source: str
    id: str
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage. `similarity` is a cosine, None in an answer by words alone; `matched` are the shared query words."""

    source: str
    id: str
    title: str
    url: str
    path: tuple[str, ...]
    labels: tuple[str, ...]
    updated: str | None
    heading: str | None
    text: str
    similarity: float | None
    score: float
    matched: tuple[str, ...]


class SilenceReason(StrEnum):
    """Why nothing came back."""

    NOTHING_INDEXED = "nothing indexed"
    BELOW_GATE = "below the gate"
    FILTERED_OUT = "filtered out"
    STILL_INDEXING = "still indexing"
    SOURCE_FAILING = "a source is failing"
    NOT_A_QUESTION = "not a question"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of the explanation: where an item stood and what the gate made of it. Ranks start at 1."""

    source: str
    id: str
    title: str
    heading: str | None
    keyword_rank: int | None
    vector_rank: int | None
    similarity: float | None
    matched: tuple[str, ...]
    weight: float
    score: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """On demand, and never given to a model: how the answer came about."""

    candidates: tuple[Candidate, ...]
    sections_searched: int
    min_similarity: float | None
    nearest_rejected: Candidate | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, best first, or none and a `silence`. Times in milliseconds.

    `keyword_only` names why meaning played no part (a late embedder, vectors of another model); None when it did.
    `problems` names each source that could not be searched, with the reason: silence says nothing about those.
    """

    hits: tuple[Hit, ...]
    related: tuple[Related, ...] = ()
    silence: SilenceReason | None = None
    keyword_only: str | None = None
    took_ms: float = 0.0
    embed_ms: float = 0.0
    explanation: Explanation | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedItem:
    """One item's whole text by sections, as its connector gave it."""

    source: str
    id: str
    title: str
    url: str
    path: tuple[str, ...]
    labels: tuple[str, ...]
    updated: str | None
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What one source's file holds and says of itself; a file that cannot be read says so in `state.error`.

    `vectors_current` is False while stored vectors are of another model than the embedder's.
    """

    name: str
    state: SourceState
    items: int
    sections: int
    vectors_current: bool
