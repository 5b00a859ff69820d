"""Turns at an embedder that answers one request at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from passageway.embedder import Kind

_QUESTIONS_IN_A_ROW = 4
"""Then a batch of passages goes first, or a crowd that never stops asking would stop a build."""

_GLANCE_S = 0.2
"""How often somebody who waits is looked after: whether there is still a caller."""


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Turns:
    """A lock under which a waiting question goes before waiting passages, which get a turn now and then."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Kind, int] = {"query": 0, "passage": 0}
        self._questions_in_a_row = 0
        self.taken = False

    @contextmanager
    def take(self, kind: Kind, gone: threading.Event | None = None) -> Iterator[None]:
        """Hold the turn in the block, waited for. Raises Abandoned once `gone` is set."""
        with self._changed:
            self._waiting[kind] += 1
            try:
                self._wait(kind, gone)
                self._questions_in_a_row = self._questions_in_a_row + 1 if kind == "query" else 0
                self.taken = True
            finally:
                self._waiting[kind] -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self.taken = False
                self._changed.notify_all()

    def _wait(self, kind: Kind, gone: threading.Event | None) -> None:
        while not (gone is not None and gone.is_set()):
            if not self.taken and self._is_next(kind):
                return
            self._changed.wait(None if gone is None else _GLANCE_S)
        raise Abandoned

    def _is_next(self, kind: Kind) -> bool:
        passages_due = self._waiting["passage"] > 0 and self._questions_in_a_row >= _QUESTIONS_IN_A_ROW
        if kind == "passage":
            return passages_due or not self._waiting["query"]
        return not passages_due
