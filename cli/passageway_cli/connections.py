"""One connection of a client, as uvicorn keeps it, with a limit on how long nothing comes of it.

uvicorn waits for the head of a request for ever. A few hundred clients that never finish one would use up the files
that a process may open, and then nobody gets in.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_TIMEOUT_S = 20.0
"""A head is 64 KiB at most (h11's limit), which the slowest line sends in that time."""

# Who is sent both may not keep the connection, since whoever passed it on may have read the other (RFC 9112, 6.1).
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
_CLOSE = (b"connection", b"close")


class Connection(H11Protocol):
    """Closes when no whole head of a request came in time, and after a request that states its length in two ways."""

    head_timeout_s = HEAD_TIMEOUT_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_a_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_a_head()

    def on_response_complete(self) -> None:
        self._wait_for_a_head()
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

    def _wait_for_a_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self.head_timeout_s, self._lose_patience)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if not self._is_answering():
            self.transport.close()
