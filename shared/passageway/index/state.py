"""What a source's file says about the source itself, so that query needs no other channel to sync."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "indexing", "failing"]


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
