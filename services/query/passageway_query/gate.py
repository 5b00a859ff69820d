"""The relevance gate: what is good enough to be said at all.

A passage passes when its cosine with the question reaches the model's `min_similarity`, or when it holds three distinct
words of the question that say something. How well words rank never counts: in a small index a keyword score can be
high for a passage that shares nothing but a chance word with the question.

By words alone, without vectors, three words are too much to ask of `warranty`: there, two thirds of the question's
words that say something are enough, and never more than three.

A prompt is no question to the sources: most of what is typed at an assistant is about something else, and shares a few
words with anything. What is added to it unasked has to bear on it clearly. There, a passage has to be similar and to
hold a quarter of what the prompt says, its words weighed by how rare they are; or to be so similar that words do not
matter. Three words alone are no reason.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_WORDS = 3
WORDS_ALONE_SHARE = 2 / 3
"""On the sample corpus 28 of 30 unanswerable questions stay unanswered so, and 19 with a half; 34 of 70 answerable ones
are answered right, 43 with a half (docs/how-it-works.md)."""

CAUTIOUS_COVERAGE = 1 / 4
CAUTIOUS_STEP = 1 / 5
"""Of the way from the model's gate to 1: the similarity at which words do not matter for what is added unasked. With
both, none of 60 prompts of coding work is given a passage, of which the plain gate gives 17 one; 30 of 30 that the
sample corpus answers still are (docs/mcp.md)."""


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


@dataclass(frozen=True, slots=True)
class CautiousGate:
    """The gate for what is added unasked."""

    min_similarity: float

    def passing(self, similarity: NDArray[np.float32], coverage: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which passages pass. `coverage` is the share of what was said that a passage holds, from 0 to 1. All (n,)."""
        clear = self.min_similarity + CAUTIOUS_STEP * (1 - self.min_similarity)
        both = (similarity >= self.min_similarity) & (coverage >= CAUTIOUS_COVERAGE)
        return np.where(np.isnan(similarity), coverage >= WORDS_ALONE_SHARE, (similarity >= clear) | both)
