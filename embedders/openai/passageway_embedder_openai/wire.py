"""What goes over the wire: the body of a request, and the vectors in a reply, for each of the three APIs."""

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

from passageway_embedder_openai.settings import Settings

Kind = Literal["query", "passage"]
Vector = list[float]


class ReplyError(Exception):
    """The service answered something else than the vectors that were asked for."""


def request_body(settings: Settings, texts: Sequence[str], kind: Kind) -> dict[str, Any]:
    """The JSON to post."""
    prefix = settings.query_prefix if kind == "query" else settings.passage_prefix
    # OpenAI refuses an empty text.
    body: dict[str, Any] = {"model": settings.model, "input": [prefix + text or " " for text in texts]}
    if settings.provider == "voyage":
        body["input_type"] = "query" if kind == "query" else "document"
    if settings.dimensions is not None:
        body["output_dimension" if settings.provider == "voyage" else "dimensions"] = settings.dimensions
    return body


def vectors_in(settings: Settings, reply: bytes, count: int) -> list[Vector]:
    """The vectors of a successful reply in the order of the texts. Raises ReplyError."""
    try:
        message = json.loads(reply)
    except (ValueError, RecursionError):
        raise ReplyError("it answered something that is not JSON; is BASE_URL right?") from None
    vectors = _listed(message) if settings.provider == "ollama" else _indexed(message)
    if len(vectors) != count:
        raise ReplyError(f"it answered {count} texts with {len(vectors)} vectors")
    expected = settings.dimensions or len(vectors[0])
    for vector in vectors:
        if len(vector) != expected:
            hint = "; DIMENSIONS must be what the model gives" if settings.dimensions else ""
            raise ReplyError(f"it answered with {len(vector)} numbers in a vector, expected {expected}{hint}")
    return vectors


def _listed(message: Any) -> list[Vector]:
    """Ollama: `{"embeddings": [[…], …]}`."""
    rows = message.get("embeddings") if isinstance(message, dict) else None
    if not isinstance(rows, list):
        raise ReplyError("its reply has no list 'embeddings'")
    return [_vector(row) for row in rows]


def _indexed(message: Any) -> list[Vector]:
    """OpenAI and Voyage: `{"data": [{"index": 0, "embedding": […]}, …]}`, in any order."""
    entries = message.get("data") if isinstance(message, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ReplyError("its reply has no list 'data'")
    order = [entry.get("index", number) for number, entry in enumerate(entries)]
    if not all(type(index) is int for index in order) or sorted(order) != list(range(len(entries))):
        raise ReplyError("the 'index' of its vectors does not count from 0 up")
    rows = {index: entry.get("embedding") for index, entry in zip(order, entries, strict=True)}
    return [_vector(rows[index]) for index in range(len(rows))]


def _vector(row: Any) -> Vector:
    if not isinstance(row, list) or not row or not set(map(type, row)) <= {int, float}:
        raise ReplyError("a vector of its reply is no list of numbers")
    if not all(map(_is_finite, row)):
        raise ReplyError("a vector of its reply holds a number that is not finite")
    return row


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def problem_in(reply: bytes) -> str:
    """What the service says went wrong, in one line: OpenAI nests a message, Ollama and Voyage name it directly."""
    try:
        message = json.loads(reply)
    except (ValueError, RecursionError):
        return ""
    found = message.get("error", message.get("detail")) if isinstance(message, dict) else None
    if isinstance(found, dict):
        found = found.get("message")
    return " ".join(found.split()) if isinstance(found, str) else ""
