"""The messages of embedder protocol v1: what a request looks like, and the rules that a reply must keep.

`docs/reference/embedder-protocol.schema.json` states the same rules for other languages.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from passageway.embedder import Kind, Vectors
from passageway.errors import EmbedderError

PROTOCOL_VERSION = "1"

MAX_DIMENSION = 65_536
"""Numbers in a vector. The longest of public models have 8,192; more is a mistake that would fill the memory."""

MAX_NAME_CHARACTERS = 4_096
"""Of a model's name, which goes into every index and, percent-encoded, into a header of 100 kB at the most."""

_NOT_FINITE = re.compile(r"-?(NaN|Infinity)")
"""What many JSON writers, Python's for one, print for numbers that JSON does not have."""


class FailedRequest(EmbedderError):
    """The program answered that it could not do it. It stays in use."""


class WrongReply(EmbedderError):
    """The program answered what no reply to this request is. What comes next could belong to another request."""


def info_request() -> bytes:
    """The line that asks which model it is."""
    return b'{"op":"info"}\n'


def embed_request(texts: Sequence[str], kind: Kind) -> bytes:
    """The line that asks for vectors. What UTF-8 cannot hold in a text is replaced by question marks."""
    request = {"op": "embed", "kind": kind, "texts": list(texts)}
    try:
        return orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        request["texts"] = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE)


def parse_info(line: bytes) -> tuple[str, int]:
    """The model's (name, dimension). Raises FailedRequest, or WrongReply."""
    reply = _reply(line)
    version = reply.get("protocol", PROTOCOL_VERSION)
    if version != PROTOCOL_VERSION:
        raise WrongReply(f"it speaks protocol {version!r}, this passageway speaks {PROTOCOL_VERSION!r}")
    name, dimension = reply.get("name"), reply.get("dim")
    if not isinstance(name, str) or not name.strip():
        raise WrongReply("its reply to `info` has no 'name', a string that identifies the model")
    if len(name) > MAX_NAME_CHARACTERS:
        raise WrongReply(
            f"its reply to `info` has a 'name' of {len(name):,} characters, {MAX_NAME_CHARACTERS:,} at the most"
        )
    if isinstance(dimension, bool) or not isinstance(dimension, int | float) or dimension != dimension // 1:
        raise WrongReply("its reply to `info` has no 'dim', the whole number of numbers in a vector")
    if not 1 <= dimension <= MAX_DIMENSION:
        raise WrongReply(f"its reply to `info` has 'dim' {dimension}, expected 1 to {MAX_DIMENSION:,}")
    return name, int(dimension)


def parse_vectors(line: bytes, count: int, dimension: int) -> Vectors:
    """The vectors at unit length: (count, dimension) float32.

    Raises FailedRequest, also for a vector of length 0, or WrongReply.
    """
    rows = _reply(line).get("vectors")
    if not isinstance(rows, list):
        raise WrongReply("its reply to `embed` has no 'vectors', a list of lists of numbers")
    if len(rows) != count:
        raise WrongReply(f"it answered {count} texts with {len(rows)} vectors")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list) or not set(map(type, row)) <= {int, float}:
            raise WrongReply(f"vector {number} of its reply is no list of numbers")
        if len(row) != dimension:
            raise WrongReply(f"vector {number} of its reply has {len(row)} numbers, expected {dimension}")
    return _unit_rows(np.array(rows, dtype=np.float64).reshape(count, dimension))


def _unit_rows(vectors: NDArray[np.float64]) -> Vectors:
    # Divided by the largest number first, so that no square is too big or too small for a float.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise FailedRequest(f"vector {int(np.argmin(largest)) + 1} of its reply has length 0")
    vectors = vectors / largest
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _reply(line: bytes) -> Mapping[str, Any]:
    try:
        reply = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if "infinity" in error.msg or _NOT_FINITE.match(error.doc, error.pos):
            raise WrongReply("its reply has NaN or Infinity for a number; every number has to be finite") from None
        raise WrongReply(
            f"a line of its output is not JSON ({error.msg}); only replies belong on stdout, all else on stderr"
        ) from None
    if not isinstance(reply, dict):
        raise WrongReply("a line of its output is no JSON object, as every reply is")
    problem = reply.get("error")
    if problem is not None:
        if not isinstance(problem, str):
            raise WrongReply("its reply has an 'error' that is no string")
        raise FailedRequest(problem or "the request failed, it does not say why")
    return reply
