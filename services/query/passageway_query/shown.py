"""What each conversation was shown already, so that a hook does not add the same item twice."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Item = tuple[str, str]
"""(source, id)."""

MAX_SESSIONS = 1_000
MAX_ITEMS = 1_000
MAX_IDLE_S = 24 * 3600.0
"""A conversation picked up a day later has most likely lost what it was shown."""


@dataclass(slots=True)
class _Session:
    used: float
    items: OrderedDict[Item, None] = field(default_factory=OrderedDict)


class ShownItems:
    """Items by session, bounded in sessions, items and age. Thread-safe; `clock` counts seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()

    def of(self, session_id: str) -> frozenset[Item]:
        """What this session was shown; nothing for a request without a session."""
        with self._lock:
            self._forget_idle()
            session = self._sessions.get(_key(session_id))
            return frozenset(session.items) if session else frozenset()

    def add(self, session_id: str, items: Iterable[Item]) -> None:
        """Remember that the session was shown these items."""
        if not session_id:
            return
        with self._lock:
            session = self._sessions.setdefault(_key(session_id), _Session(self._clock()))
            session.used = self._clock()
            self._sessions.move_to_end(_key(session_id))
            session.items.update(dict.fromkeys(items))
            while len(session.items) > MAX_ITEMS:
                session.items.popitem(last=False)
            self._forget_idle()

    def _forget_idle(self) -> None:
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if len(self._sessions) <= MAX_SESSIONS and self._clock() - oldest.used <= MAX_IDLE_S:
                return
            self._sessions.popitem(last=False)


def _key(session_id: str) -> bytes:
    """A session id of any length as 32 bytes."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()
