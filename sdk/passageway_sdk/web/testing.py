"""For the tests of a connector: a real HTTP server on this machine that answers what a test says, and a clock.

`127.0.0.1` and `localhost` are two hosts to a client and both lead here: enough to test a redirect to another host.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked. `query` has the last value of each parameter, `headers` have names in small letters."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    target: str
    """Path and query as they were sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server sends. With `cut` the body stops half-way and the connection closes, as when a proxy dies."""

    body: bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: bool = False


@dataclass(slots=True)
class Clock:
    """Seconds since 1970 that pass only when somebody sleeps; `slept` are the waits in order."""

    now_s: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Let the seconds pass without waiting."""
        self.slept.append(seconds)
        self.now_s += seconds

    def now(self) -> float:
        """The time it is."""
        return self.now_s


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client may hang up, as one does that has read all it wants; anything else is a fault of the test."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class LocalServer:
    """Serves `answer(request)` on a free port of 127.0.0.1 while its `with` block runs."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """Its address, without `/` at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_url(self) -> str:
        """The same server under another host name."""
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def spoilt(value: Any, damage: Iterable[tuple[int, Any]]) -> Any:
    """The JSON value, changed in place: what `damage` holds stands at its places, and `...` takes one out.

    Places are numbered from the outside in and counted round, so that any number is a place of any value.
    """
    holder = [value]
    for number, odd in damage:
        places = list(_places(holder))
        container, key = places[number % len(places)]
        if odd is ... and container is not holder:
            del container[key]
        else:
            container[key] = None if odd is ... else deepcopy(odd)
    return holder[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    yield from ((value, key) for key in keys)
    for key in keys:
        yield from _places(value[key])


def _handler(server: LocalServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Without it the small packets of an answer wait for the client's acknowledgement, 40 ms each time.
        disable_nagle_algorithm = True
        # Head and body leave together, which spares the client a read.
        wbufsize = -1
        # A client that keeps its connection open must not keep the server's thread for ever.
        timeout = 30

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, self.path)
            server.requests.append(request)
            self._send(server.answer(request))

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode("utf-8") if isinstance(answer.body, str) else answer.body
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.cut:
                self.close_connection = True
                body = body[: len(body) // 2]
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test keeps the requests."""

    return Handler
