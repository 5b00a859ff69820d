"""Keyword search: BM25 over all sources at once, from postings that are read from FTS5 a word at a time and kept.

FTS5 ranks by itself, but for each file alone and anew for each question: 1.4 µs a matched row, and the same word
weighs differently in two files. Here a word's postings are read once (0.3 µs a row) and extended when sections come;
a question adds them up in numpy, with one document frequency and one mean length over everything there is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passageway_query.postings import Postings, PostingsCache
from passageway_query.rows import Mask, RowNumbers, Rows
from passageway_query.words import Word

K1, B = 1.2, 0.75
"""BM25's usual constants, which FTS5 has as well (sqlite.org/fts5.html#the_bm25_function)."""

_COMMON_SHARE, _COMMON_ROWS = 0.07, 5_000
"""A word in more sections than both is left out when there is a rarer one: it adds nothing to the ranking (a mean
reciprocal rank of 0.948 with, 0.956 without) and most of the time."""


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """The best rows by BM25, best first, and where each of `words` stands: `places[i]` has word `place_words[i]`.

    `common` words were left out: they stand in too many sections to say anything. `rarities` are the inverse document
    frequencies of `words`, `absent_rarity` that of a word that stands nowhere.
    """

    rows: RowNumbers
    scores: NDArray[np.float32]
    words: tuple[Word, ...]
    common: frozenset[Word]
    places: RowNumbers
    place_words: NDArray[np.int16]
    rarities: NDArray[np.float32]
    absent_rarity: float

    def words_of(self, rows: RowNumbers) -> NDArray[np.bool_]:
        """Which of `words` stand in which of the rows, which must be distinct: (len(rows), len(words))."""
        found = np.zeros((len(rows), len(self.words)), dtype=np.bool_)
        if not len(rows) or not len(self.places):
            return found
        order = np.argsort(rows)
        ascending = rows[order]
        spots = np.searchsorted(ascending, self.places)
        spots[spots == len(rows)] = 0
        hits = np.flatnonzero(ascending[spots] == self.places)
        found[order[spots[hits]], self.place_words[hits]] = True
        return found


class Lexicon:
    """Ranks rows by the words of a question. For one thread at a time."""

    def __init__(self, postings: PostingsCache) -> None:
        self._postings = postings
        self._sums = np.zeros(0, dtype=np.float32)
        self._marks = np.zeros(0, dtype=np.int32)

    def search(self, rows: Rows, words: Sequence[Word], allowed: Mask | None, limit: int) -> KeywordMatches:
        """The `limit` best rows that are alive and allowed. Raises SourceFailed."""
        chosen, common = self._worth_reading(rows, words)
        entries = [self._postings.of(word) for word in chosen]
        sizes = [len(entry.rows) for entry in entries]
        places = np.concatenate([np.zeros(0, dtype=np.int32), *(entry.rows for entry in entries)])
        place_words = np.repeat(np.arange(len(chosen), dtype=np.int16), sizes)
        rarities = _rarities(sizes, rows.count)
        weights = np.repeat(rarities, sizes)
        found, scores = self._added_up(rows, places, self._impacts(rows, entries, weights, places))
        keep = rows.live.used[found]
        if allowed is not None:
            keep &= allowed[found]
        best, best_scores = _best(found[keep], scores[keep], limit)
        (absent,) = _rarities([0], rows.count).tolist()
        return KeywordMatches(best, best_scores, tuple(chosen), common, places, place_words, rarities, absent)

    def _worth_reading(self, rows: Rows, words: Sequence[Word]) -> tuple[list[Word], frozenset[Word]]:
        """The words that stand anywhere but for common ones, and these; the rarest one when all are common."""
        limit = max(_COMMON_ROWS, _COMMON_SHARE * rows.count)
        frequency = {word: self._postings.frequency(word, limit) for word in words}
        there = [word for word in words if frequency[word]]
        chosen = [word for word in there if frequency[word] <= limit] or sorted(there, key=frequency.__getitem__)[:1]
        return chosen, frozenset(there) - frozenset(chosen)

    def _impacts(
        self, rows: Rows, entries: Sequence[Postings], weights: NDArray[np.float32], places: RowNumbers
    ) -> NDArray[np.float32]:
        """What each place adds to its row's score: BM25's term for one word."""
        counts = np.concatenate([np.zeros(0, dtype=np.float32), *(entry.counts for entry in entries)])
        lengths = rows.length.used[places]
        norm = np.float32(K1 * (1 - B)) + lengths * np.float32(K1 * B / rows.mean_length)
        impacts: NDArray[np.float32] = weights * counts * np.float32(K1 + 1) / (counts + norm)
        return impacts

    def _added_up(
        self, rows: Rows, places: RowNumbers, impacts: NDArray[np.float32]
    ) -> tuple[RowNumbers, NDArray[np.float32]]:
        """The distinct rows and their sums, without a pass over all rows there are."""
        if len(self._sums) < rows.count:
            self._sums = np.zeros(int(rows.count * 1.25), dtype=np.float32)
            self._marks = np.zeros(len(self._sums), dtype=np.int32)
        # A row's last place is the one that stays written, so it is the one place that finds itself.
        turn = np.arange(len(places), dtype=np.int32)
        self._marks[places] = turn
        last = self._marks[places] == turn
        distinct = places[last]
        np.add.at(self._sums, places, impacts)
        sums = self._sums[distinct]
        self._sums[distinct] = 0
        return distinct, sums


def _rarities(frequencies: Iterable[int], total: int) -> NDArray[np.float32]:
    """Inverse document frequencies, one a word, in the form that stays above 0 for a word in every section."""
    return np.array([math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in frequencies], dtype=np.float32)


def _best(rows: RowNumbers, scores: NDArray[np.float32], limit: int) -> tuple[RowNumbers, NDArray[np.float32]]:
    """The rows of the highest scores, highest first, equal ones by row."""
    if len(rows) > limit:
        chosen = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
        rows, scores = rows[chosen], scores[chosen]
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]
