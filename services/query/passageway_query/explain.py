"""Why an answer came out as it did: every candidate with its ranks and what the gate made of it. Never for a model."""

from collections.abc import Sequence

from passageway_query.answer import Candidate, Explanation
from passageway_query.hits import Found, read_passage
from passageway_query.ranking import Ranked, RankedItems

BELOW_GATE = "below the gate"


def explanation(
    ranked: RankedItems, found: Sequence[Found], sections_searched: int, min_similarity: float | None
) -> Explanation:
    """The candidates in order of their scores, and the one that came nearest to passing. Raises SourceFailed."""
    hits = {(entry.source.name, entry.item) for entry, _ in found}
    candidates = tuple(_candidate(entry, (entry.source.name, entry.item) in hits) for entry in ranked)
    rejected = [candidate for candidate in candidates if candidate.verdict == BELOW_GATE]
    nearest = max(rejected, key=lambda one: (one.similarity or 0.0, len(one.matched), one.score), default=None)
    return Explanation(candidates, sections_searched, min_similarity, nearest)


def _candidate(entry: Ranked, hit: bool) -> Candidate:
    passage = read_passage(entry)
    return Candidate(
        source=entry.source.name,
        id="" if passage is None else passage.item.id,
        title="" if passage is None else passage.item.title,
        heading=None if passage is None else passage.heading,
        keyword_rank=entry.keyword_rank,
        vector_rank=entry.vector_rank,
        similarity=entry.similarity,
        matched=entry.matched_words,
        weight=entry.weight,
        score=entry.score,
        verdict=_verdict(entry, hit),
    )


def _verdict(entry: Ranked, hit: bool) -> str:
    if not entry.passes:
        return BELOW_GATE
    return "hit" if hit else "passes, but three better ones are there"
