"""Turns at an embedder that answers one request at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from passageway.embedder import Kind

_GLANCE_S = 0.2
"""How often somebody who waits is looked after: whether there is still a caller."""


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Turns:
    """A lock under which a waiting question goes before waiting passages."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting_questions = 0
        self.taken = False

    @contextmanager
    def take(self, kind: Kind, gone: threading.Event | None = None) -> Iterator[None]:
        """Hold the turn in the block, waited for. Raises Abandoned once `gone` is set."""
        question = kind == "query"
        with self._changed:
            self._waiting_questions += question
            try:
                while self.taken or (self._waiting_questions and not question):
                    if gone is not None and gone.is_set():
                        raise Abandoned
                    self._changed.wait(None if gone is None else _GLANCE_S)
                if gone is not None and gone.is_set():
                    raise Abandoned
                self.taken = True
            finally:
                self._waiting_questions -= question
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self.taken = False
                self._changed.notify_all()
