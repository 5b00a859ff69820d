"""The relevance gate: what is good enough to be said at all.

A passage passes when its cosine with the question reaches the model's `min_similarity`, or when it holds three distinct
words of the question that say something. How well words rank never counts: in a small index a keyword score can be
high for a passage that shares nothing but a chance word with the question.

By words alone, without vectors, three words are too much to ask of `warranty`: there, two thirds of the question's
words that say something are enough, and never more than three.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_WORDS = 3
WORDS_ALONE_SHARE = 2 / 3
"""On the sample corpus 28 of 30 unanswerable questions stay unanswered so, and 19 with a half; 34 of 70 answerable ones
are answered right, 43 with a half (docs/how-it-works.md)."""


@dataclass(frozen=True, slots=True)
class Gate:
    """`said` is how many words of the question say something, common ones left out."""

    min_similarity: float
    said: float

    def passing(self, similarity: NDArray[np.float32], matched: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which passages pass. `matched` counts distinct words; similarity is nan without a vector. All (n,)."""
        needed = min(MIN_WORDS, WORDS_ALONE_SHARE * self.said)
        # Shares are halves and thirds, which floats hold only nearly.
        by_words_alone = (matched >= needed - 1e-6) & (matched > 0)
        with_vector = (similarity >= self.min_similarity) | (matched >= MIN_WORDS)
        return np.where(np.isnan(similarity), by_words_alone, with_vector)
