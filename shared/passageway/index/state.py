"""What a source's file says about the source itself, so that query needs no other channel to sync."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

State = Literal["ok", "indexing", "failing"]

STATE_COLUMNS = 'state, fetched, "of", error, heartbeat, last_success, built'
"""Of the table `source`, in the order of SourceState's fields."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of one source. Times are seconds since 1970 in UTC; None means never or not known.

    `indexing` means the first build has not finished; `fetched` of `of` items are done while one runs. `heartbeat` is
    written every few seconds by the sync process that looks after the source, so an old one means it is gone.
    """

    state: State = "indexing"
    fetched: int | None = None
    of: int | None = None
    error: str | None = None
    heartbeat: float | None = None
    last_success: float | None = None
    built: bool = False


def source_state(row: Sequence[Any] | None) -> SourceState:
    """The state in a row of `STATE_COLUMNS`. Raises ValueError for no row, or one that no sync wrote."""
    if row is None:
        raise ValueError("the file says nothing about its source")
    state, fetched, of, error, heartbeat, last_success, built = row
    numbers = (fetched, of, heartbeat, last_success)
    if (
        state not in get_args(State)
        or not all(number is None or isinstance(number, int | float) for number in numbers)
        or not (error is None or isinstance(error, str))
    ):
        raise ValueError("what the file says about its source was not written by a sync")
    return SourceState(state, fetched, of, error, heartbeat, last_success, bool(built))
