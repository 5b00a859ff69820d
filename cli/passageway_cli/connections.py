"""One connection of a client, as uvicorn keeps it, with limits on how long nothing comes of it and on their number.

uvicorn waits for the head of a request for ever. A few hundred clients that never finish one would use up the files
that a process may open; then nobody gets in, and asyncio writes two thousand tracebacks a second.
"""

import asyncio
import contextlib
import resource
import sys
from math import inf
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_TIMEOUT_S = 20.0
"""A head is 64 KiB at most (h11's limit), which the slowest line sends in that time."""

MAX_CONNECTIONS = 2_000
"""Twice the questions that may wait (`passageway_embed.engine`), so that a crowd of them comes in whole."""
MAX_BACKLOG = 1_024
"""Connections that the system accepts for us meanwhile. Of a thousand at once it dropped some when this was 128; all of
them come in before one can be turned away, so files are kept free for them."""
_OTHER_FILES = 100
"""Open at other times than a request's: libraries, index files, pipes to connectors and embedders."""
_FEWEST = 16

# Who is sent both may not keep the connection, since whoever passed it on may have read the other (RFC 9112, 6.1).
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
_CLOSE = (b"connection", b"close")


def allow_files() -> None:
    """Let the process open as many files as its connections take, where the system's own limit is lower and soft."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + MAX_BACKLOG + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """How many connections may be open, by the files that may be."""
    return min(MAX_CONNECTIONS, max(_FEWEST, _files_to_spare() - backlog()))


def backlog() -> int:
    """How many connections the system may accept meanwhile, by the files that may be open."""
    return min(MAX_BACKLOG, max(_FEWEST, _files_to_spare() // 3))


def _files_to_spare() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft - _OTHER_FILES


class Connection(H11Protocol):
    """Closes when no whole head of a request came in time or no answer was taken, and after a request of two lengths.

    When there are too many, the one that waits longest for a request makes room for the newest.
    """

    head_timeout_s = HEAD_TIMEOUT_S
    most = staticmethod(most_connections)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._patience: asyncio.TimerHandle | None = None
        self._unread_bytes = inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most():
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_answering():
            self._wait()
        elif not self.flow.write_paused:
            self._stop_waiting()

    def pause_writing(self) -> None:
        """The client reads too slowly, or not at all."""
        super().pause_writing()
        self._unread_bytes = inf
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_answering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()
        if self._is_answering():  # the next request was here already
            self._stop_waiting()

    def _should_upgrade(self) -> bool:
        """Never: there is nothing here to upgrade to, and uvicorn would write two lines of advice on it each time."""
        if {name for name, _ in self.headers} >= _LENGTHS:
            self.headers.append(_CLOSE)
        return False

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self.head_timeout_s, self._lose_patience)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _asked_by(self) -> float:
        """The time by which something has to come of it; infinity while a request is being answered."""
        return inf if self._patience is None else self._patience.when()

    def _make_room(self) -> None:
        others = [other for other in self.connections if isinstance(other, Connection)]
        longest = min(others, key=Connection._asked_by)
        # Forgotten at once, so that the next one in the same turn of the loop does not choose it again.
        self.connections.discard(longest)
        longest.transport.abort()

    def _lose_patience(self) -> None:
        self._patience = None
        unread_bytes = self.transport.get_write_buffer_size()
        if 0 < unread_bytes < self._unread_bytes:
            self._unread_bytes = unread_bytes
            self._wait()
        elif unread_bytes:
            self.transport.abort()  # a close would wait until the client has read all of it
        elif not self._is_answering():
            self.transport.close()
