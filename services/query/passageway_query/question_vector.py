"""The embedding of a question, on its own thread where the asker cannot wait for ever."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from passageway.embedder import Embedder, EmbedderInfo, Vectors, embed_with
from passageway.errors import EmbedderError, ModelChangedError

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_CHARS = 4_000
"""Models read 512 tokens, at most about seven letters each; a tokenizer would read a megabyte first."""

_MOST_WAITING = 8
"""Embeddings that may be under way past their deadline. With a hanging embedder, later questions do not wait at all."""


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A unit vector (dimension,) and its model, or `reason`: why there is none."""

    info: EmbedderInfo | None
    vector: Vectors | None
    reason: str | None = None


class QuestionEmbedder:
    """Embeds questions, one at a time or several at once as the embedder allows."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._waiting = threading.BoundedSemaphore(_MOST_WAITING)

    def info(self) -> EmbedderInfo:
        """The model behind the questions. Raises EmbedderError."""
        return _with_the_model_of_now(self._embedder.info)

    def embed(self, text: str, deadline_s: float | None) -> QuestionVector:
        """The question's vector. Raises EmbedderError without a deadline; with one, an error is a `reason` as well."""
        if deadline_s is None:
            return _with_the_model_of_now(lambda: self._embed(text))
        if not self._waiting.acquire(blocking=False):
            return QuestionVector(None, None, "the embedder is too slow: earlier questions still wait for it")
        done: list[QuestionVector | Exception] = []
        finished = threading.Event()
        thread = threading.Thread(target=self._deliver, args=(text, done, finished), name="question", daemon=True)
        thread.start()
        if not finished.wait(deadline_s):
            return QuestionVector(None, None, "the embedder did not answer in time")
        result = done[0]
        if isinstance(result, EmbedderError):
            return QuestionVector(None, None, f"the embedder failed: {result}")
        if isinstance(result, Exception):
            raise result
        return result

    def _deliver(self, text: str, done: list[QuestionVector | Exception], finished: threading.Event) -> None:
        try:
            done.append(_with_the_model_of_now(lambda: self._embed(text)))
        except Exception as error:  # the thread ends here; whoever waits raises it
            done.append(error)
        finally:
            finished.set()
            self._waiting.release()

    def _embed(self, text: str) -> QuestionVector:
        info = self._embedder.info()
        vectors = embed_with(self._embedder, info, [text[:_MOST_CHARS]], "query")
        if vectors.shape != (1, info.dimension):
            raise EmbedderError(
                f"{info.name}: a question's vector has shape {vectors.shape}, expected (1, {info.dimension})"
            )
        return QuestionVector(info, vectors[0])


def _with_the_model_of_now(ask: Callable[[], T]) -> T:
    """What it gives, asked again when another model took the place of the one it began with."""
    try:
        return ask()
    except ModelChangedError:
        return ask()
