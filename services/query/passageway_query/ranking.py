"""One question against the rows: both searches, fusion, gate. Everything an answer or its explanation is made of."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passageway.embedder import Vectors
from passageway.index.reader import ItemRow
from passageway_query.fuse import CONTEXT_BOOST, Fused, best_of_each, candidate_rows, fused
from passageway_query.gate import CautiousGate, Gate
from passageway_query.lexical import KeywordMatches, Lexicon
from passageway_query.postings import asked
from passageway_query.rows import Mask
from passageway_query.semantic import nearest, similarities
from passageway_query.sources import Source, Sources
from passageway_query.words import Tokenizer, Word, Words

CANDIDATES = 50
"""From each of the two searches."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best section of one item, and whether it passes the gate."""

    source: Source
    section: int
    item: int
    keyword_rank: int | None
    vector_rank: int | None
    similarity: float | None
    matched: tuple[Word, ...]
    score: float
    weight: float
    passes: bool

    @property
    def matched_words(self) -> tuple[str, ...]:
        """The words of the question that say something and stand here, as they are shown."""
        return tuple(dict.fromkeys(word.shown for word in self.matched if word.share))


class Ranking:
    """Ranks what `sources` hold. For one thread at a time; methods raise SourceFailed."""

    def __init__(self, sources: Sources, lexicon: Lexicon, tokenizer: Tokenizer) -> None:
        self._sources = sources
        self._lexicon = lexicon
        self._tokenizer = tokenizer

    def ranked(
        self,
        words: Words,
        vector: Vectors | None,
        allowed: Mask | None,
        min_similarity: float,
        context_words: Collection[str] = (),
        *,
        cautious: bool = False,
    ) -> "RankedItems":
        """The candidates, one an item; `cautious` lets pass only what may be said unasked."""
        rows = self._sources.rows
        keywords = self._lexicon.search(rows, words.searched, allowed, CANDIDATES)
        vectors = None if vector is None else nearest(rows, vector, allowed, CANDIDATES)
        chosen = candidate_rows(keywords, vectors)
        similarity = np.full(len(chosen), np.nan, dtype=np.float32)
        if vector is not None and vectors is not None:
            similarity[np.searchsorted(chosen, vectors.rows)] = vectors.similarity
            left = np.flatnonzero(np.isnan(similarity) & (rows.scale.used[chosen] > 0))
            similarity[left] = similarities(rows, vector, chosen[left])
        candidates = fused(chosen, keywords, vectors, similarity)
        items = rows.item.used[chosen]
        scores = candidates.score * self._sources.weight.used[items]
        if context_words:
            scores *= self._boosts(chosen, items, context_words)
        said = words.said - sum(word.share for word in keywords.common)
        gate = CautiousGate(min_similarity) if cautious else Gate(min_similarity, said)
        return RankedItems(self._sources, keywords, candidates, scores, items, gate, said)

    def _boosts(
        self, chosen: NDArray[np.int32], items: NDArray[np.int32], context_words: Collection[str]
    ) -> NDArray[np.float64]:
        """1.1 where a context word stands in the item's title, path or labels, else 1."""
        wanted = {token for word in context_words for token in self._tokenizer.tokens(word)}
        boosts = np.ones(len(chosen))
        by_source: dict[int, list[int]] = {}
        for place, number in enumerate(self._sources.rows.source.used[chosen].tolist()):
            by_source.setdefault(number, []).append(place)
        for number, places in by_source.items():
            numbers = self._sources.item_number.used[items[places]].tolist()
            found = asked(self._sources.by_number[number], lambda reader, own=numbers: reader.items(own))  # type: ignore[misc]
            for place, item in zip(places, numbers, strict=True):
                if item in found and wanted & self._place_words(found[item]):
                    boosts[place] = CONTEXT_BOOST
        return boosts

    def _place_words(self, item: ItemRow) -> set[str]:
        return {token for text in (item.title, *item.path, *item.labels) for token in self._tokenizer.tokens(text)}


class RankedItems:
    """The candidates of one question, best first. Only those asked for are made: an answer needs three of a hundred."""

    def __init__(
        self,
        sources: Sources,
        keywords: KeywordMatches,
        candidates: Fused,
        scores: NDArray[np.float64],
        items: NDArray[np.int32],
        gate: Gate | CautiousGate,
        said: float,
    ) -> None:
        self._sources = sources
        self._keywords = keywords
        self._candidates = candidates
        self._scores = scores
        self._items = items
        self._matched = keywords.words_of(candidates.rows)
        shares = np.array([word.share for word in keywords.words], dtype=np.float32)
        if isinstance(gate, CautiousGate):
            weights = shares * keywords.rarities
            absent = max(0.0, said - float(shares.sum())) * keywords.absent_rarity
            whole = float(weights.sum()) + absent
            matched = self._matched @ (weights / whole if whole else weights)
        else:
            matched = self._matched @ shares
        self._passes = gate.passing(candidates.similarity, matched)
        self._order = best_of_each(scores, items)

    @property
    def any_passes(self) -> bool:
        """Whether any item passes the gate."""
        return bool(self._passes[self._order].any())

    def passing(self) -> Iterator[Ranked]:
        """The items that pass the gate."""
        return (self._ranked(place) for place in self._order if self._passes[place])

    def __iter__(self) -> Iterator[Ranked]:
        return map(self._ranked, self._order)

    def _ranked(self, place: int) -> Ranked:
        rows, candidates = self._sources.rows, self._candidates
        row, item = int(candidates.rows[place]), int(self._items[place])
        cosine = float(candidates.similarity[place])
        return Ranked(
            source=self._sources.by_number[int(rows.source.used[row])],
            section=int(rows.section.used[row]),
            item=int(self._sources.item_number.used[item]),
            keyword_rank=int(candidates.keyword_rank[place]) or None,
            vector_rank=int(candidates.vector_rank[place]) or None,
            similarity=None if math.isnan(cosine) else cosine,
            matched=tuple(self._keywords.words[number] for number in np.flatnonzero(self._matched[place])),
            score=float(self._scores[place]),
            weight=float(self._sources.weight.used[item]),
            passes=bool(self._passes[place]),
        )
