"""Long lists of values for `IN (…)`, in pieces."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")

_MOST = 500
"""Values a statement; SQLite takes 32,766, and equal statements are prepared only once."""


def parts(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """The values, at most 500 at a time."""
    return (values[start : start + _MOST] for start in range(0, len(values), _MOST))


def marks(values: Sequence[object]) -> str:
    """A question mark for each value."""
    return ", ".join("?" * len(values))
