"""Two rankings into one, and one section an item.

A section's score is

    1 / (60 + keyword rank)  +  1 / (60 + vector rank)  +  cosine / 30

where a rank that is not among the first fifty adds nothing. The first two are reciprocal rank fusion (Cormack, Clarke
and Büttcher, SIGIR 2009, whose constant 60 is). Ranks forget distances, so a question that fits one section far better
than all others looks like one that fits nothing; the cosine puts the distance back: a tenth more of it weighs as much
as the step from rank 15 to rank 1. The divisor is the middle of a plateau (docs/how-it-works.md has the sweep). The sum
is multiplied by the item's weight, and by 1.1 where a word of the client's folder stands in title, path or labels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passageway_query.lexical import KeywordMatches
from passageway_query.rows import RowNumbers
from passageway_query.semantic import VectorMatches

RANK_CONSTANT = 60
COSINE_DIVISOR = 30
CONTEXT_BOOST = 1.1


@dataclass(frozen=True, slots=True)
class Fused:
    """Candidate rows, all arrays (n,): ranks from 1, 0 for none; similarity is nan where there is no vector."""

    rows: RowNumbers
    keyword_rank: NDArray[np.int32]
    vector_rank: NDArray[np.int32]
    similarity: NDArray[np.float32]
    score: NDArray[np.float64]


def candidate_rows(keywords: KeywordMatches, vectors: VectorMatches | None) -> RowNumbers:
    """The rows of both rankings, each once, ascending."""
    return np.unique(keywords.rows if vectors is None else np.concatenate((keywords.rows, vectors.rows)))


def fused(
    rows: RowNumbers, keywords: KeywordMatches, vectors: VectorMatches | None, similarity: NDArray[np.float32]
) -> Fused:
    """The candidates with their scores, weights left out. `similarity` is that of `rows`, nan without a vector."""
    keyword_rank = _ranks(rows, keywords.rows)
    vector_rank = np.zeros_like(keyword_rank) if vectors is None else _ranks(rows, vectors.rows)
    score = np.where(np.isnan(similarity), 0.0, similarity.astype(np.float64) / COSINE_DIVISOR)
    for rank in (keyword_rank, vector_rank):
        score += np.where(rank > 0, 1 / (RANK_CONSTANT + rank), 0)
    return Fused(rows, keyword_rank, vector_rank, similarity, score)


def best_of_each(scores: NDArray[np.float64], items: NDArray[np.int32]) -> list[int]:
    """Places of the best candidate of each item, best first; equal scores by place."""
    order = np.argsort(-scores, kind="stable")
    _, firsts = np.unique(items[order], return_index=True)
    best: list[int] = order[np.sort(firsts)].tolist()
    return best


def _ranks(rows: RowNumbers, ranked: RowNumbers) -> NDArray[np.int32]:
    """The rank from 1 of each of `rows`, which are ascending and hold all the `ranked`; 0 for the others."""
    ranks = np.zeros(len(rows), dtype=np.int32)
    ranks[np.searchsorted(rows, ranked)] = np.arange(1, len(ranked) + 1, dtype=np.int32)
    return ranks
