"""Items into what the index stores: their passages and a vector for each, embedding only text not seen before."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

import numpy as np

from passageway.embedder import Embedder, EmbedderInfo, Vectors, embed_with
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import Passage, split_item
from passageway.records import Item

PASSAGES_PER_CALL = 16
"""Passages in one call to the embedder: about a second of work, so that stopping and progress are never far away."""


def prepare(
    items: Sequence[Item], writer: IndexWriter, embedder: Embedder, model: EmbedderInfo, step: Callable[[int], None]
) -> list[PreparedItem]:
    """The items with passages and float32 unit vectors (len(passages), dimension).

    `step` is called before each call to the embedder with how many of the items have their vectors; it may raise. A
    text the source already has a vector for is not embedded again, nor one that occurs twice. Raises EmbedderError.
    """
    passages = [split_item(item) for item in items]
    texts = {passage.hash: passage.embedded for of_item in passages for passage in of_item}
    vectors = dict(writer.known_vectors(list(texts)))
    missing = [key for key in texts if key not in vectors]
    for keys in _chunks(missing, PASSAGES_PER_CALL):
        step(_ready(passages, vectors))
        vectors.update(zip(keys, embed_with(embedder, model, [texts[key] for key in keys], "passage"), strict=True))
    return [
        PreparedItem(item, tuple(of_item), _stacked(of_item, vectors, model.dimension))
        for item, of_item in zip(items, passages, strict=True)
    ]


def _ready(passages: Sequence[Sequence[Passage]], vectors: Mapping[bytes, Vectors]) -> int:
    """How many of the items, from the first on, lack no vector."""
    return sum(1 for _ in takewhile(lambda of_item: all(passage.hash in vectors for passage in of_item), passages))


def _stacked(passages: Sequence[Passage], vectors: dict[bytes, Vectors], dimension: int) -> Vectors:
    stacked = np.empty((len(passages), dimension), dtype=np.float32)
    for row, passage in enumerate(passages):
        stacked[row] = vectors[passage.hash]
    return stacked


def _chunks(keys: Sequence[bytes], size: int) -> Iterator[list[bytes]]:
    remaining = iter(keys)
    while chunk := list(islice(remaining, size)):
        yield chunk
