"""Vectors in two bytes a number: the high bytes are what a search scans, both together what it scores by.

A row is scaled so that its largest number is 127. Rounding gives the high bytes; what rounding left over, 256 times
enlarged, the low bytes. That is a step of 1/32,512 of the largest number: finer than a 16-bit float for the numbers
that matter, in the same space, with an 8-bit row inside it for free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passageway.embedder import Vectors

LOW_STEPS = 256
_HIGH_MAX = 127
_LOW_MAX = 127
"""The rest after rounding is at most ±0.5, so ±128 steps; the one value that does not fit a byte is cut by a step."""


@dataclass(frozen=True, slots=True)
class Codes:
    """n packed rows: `scale` float32 (n,), `high` and `low` int8 (n, dimension)."""

    scale: NDArray[np.float32]
    high: NDArray[np.int8]
    low: NDArray[np.int8]

    def chosen(self, which: NDArray[np.bool_]) -> "Codes":
        """The rows where `which` is true."""
        return Codes(self.scale[which], self.high[which], self.low[which])


def pack(vectors: Vectors) -> Codes:
    """The rows (n, dimension) as codes; a row of zeros has scale 0. Raises ValueError for an infinite or no number."""
    rows = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(rows).max(axis=1) if rows.size else np.zeros(len(rows), dtype=np.float32)
    if not np.isfinite(largest).all():
        raise ValueError("a vector holds a number that is not finite")
    scale = (largest / _HIGH_MAX).astype(np.float32)
    scaled = rows / np.where(scale > 0, scale, 1)[:, None]
    high = np.rint(scaled)
    low = np.clip(np.rint((scaled - high) * LOW_STEPS), -_LOW_MAX, _LOW_MAX)
    return Codes(scale, high.astype(np.int8), low.astype(np.int8))


def unpack(codes: Codes) -> Vectors:
    """The rows again, float32 (n, dimension), each number within 1/32,000 of the row's largest."""
    rows = codes.low.astype(np.float32)
    rows *= 1 / LOW_STEPS
    rows += codes.high
    rows *= codes.scale[:, None]
    return rows


def to_blobs(codes: Codes) -> list[bytes]:
    """One value for the `codes` column a row: all high bytes, then all low ones."""
    both = np.hstack((codes.high, codes.low))
    return [row.tobytes() for row in both]


def from_blobs(scales: Sequence[float], blobs: Sequence[bytes], dimension: int) -> Codes:
    """Codes of rows read back. Raises ValueError when a row is not of this dimension."""
    both = np.frombuffer(b"".join(blobs), dtype=np.int8)
    if any(len(blob) != 2 * dimension for blob in blobs):
        raise ValueError(f"a stored vector is not of {dimension} numbers")
    both = both.reshape(len(blobs), 2 * dimension)
    with np.errstate(over="ignore"):  # a damaged one becomes infinite, which whoever reads a file looks for
        scale = np.array(scales, dtype=np.float32)
    return Codes(scale, both[:, :dimension], both[:, dimension:])
