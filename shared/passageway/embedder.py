"""The one interface behind which every embedding model sits.

Three implementations: in process (`passageway_embed.engine`), over loopback HTTP (`passageway.embed_client`) and a
program of any language (`passageway.embed_command`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from passageway.errors import ModelChangedError

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

DEFAULT_MIN_SIMILARITY = 0.845
"""Cosine; the gate of multilingual-e5-small, used with a warning for a model nobody measured."""


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What identifies a model. `name` and `dimension` are stored with every index; the gate is a cosine from 0 to 1."""

    name: str
    dimension: int
    min_similarity: float


class Embedder(Protocol):
    """Thread-safe and blocking. A question is not made to wait behind passages."""

    def info(self) -> EmbedderInfo:
        """The model behind this embedder. Raises EmbedderError while it cannot be reached."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors, one row a text, float32 (len(texts), dimension). Raises EmbedderError."""
        ...

    def close(self) -> None:
        """Give back the model, the process or the connection; safe to call twice."""
        ...


def embed_with(embedder: Embedder, model: EmbedderInfo, texts: Sequence[str], kind: Kind) -> Vectors:
    """As `Embedder.embed`, and surely of that model: ModelChangedError when the embedder has another one now.

    One embedder serves many threads, and whichever of them notices a new model first makes it the one of all.
    """
    vectors = embedder.embed(texts, kind)
    now = embedder.info()
    if (now.name, now.dimension) != (model.name, model.dimension):
        raise ModelChangedError(f"the model changed from {model.name!r} to {now.name!r} meanwhile; ask again")
    return vectors
