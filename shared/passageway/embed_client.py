"""An embedder in another process of this machine, asked over HTTP on loopback."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import httpx
import numpy as np
import orjson

from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError, ModelChangedError

logger = logging.getLogger(__name__)

TEXTS_A_REQUEST = 32
"""Few enough that a request takes seconds and that several sources share the service fairly."""

CHARACTERS_A_REQUEST = 1_000_000
"""All texts of a request together, and the end of a longer one: no model reads that far."""

RESTART_S = 60.0
"""How long passages wait for a service that is gone: a container restarts, a model loads."""

PASSAGE_PATIENCE = 10
"""How many times longer than a question a request of passages may take: it waits behind those of other sources."""

_INFO_AGE_S = 5.0
"""How long an answer to `info` counts: it is wanted before every question, and has to tell when the service is gone."""

_DEAD_CONNECTIONS = 2  # a kept connection may have died with the process at its other end; a new one is tried
_CONNECT_S = 2.0  # on loopback a connection is there at once or not at all
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_CONNECTIONS = 64


class _Away(EmbedderError):
    """The service is not there, or its model is not; either may be in a moment."""


class HttpEmbedder:
    """An Embedder that asks the embed service. Thread-safe.

    A question gets its answer or an error; passages wait for a service that is away for up to `RESTART_S`. Both wait
    their turn when the service says that it is busy.
    """

    def __init__(self, url: str, *, timeout_s: float = 30.0) -> None:
        """`url` such as http://127.0.0.1:8182; `timeout_s` is what a question may take in all."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)
        # No environment: a proxy for the internet is no way to this machine.
        self._client = httpx.Client(base_url=self._url, limits=limits, trust_env=False)
        self._closed = threading.Event()
        self._info: EmbedderInfo | None = None
        self._info_asked = 0.0

    def info(self) -> EmbedderInfo:
        """As Embedder.info. ModelChangedError, once, when the service now serves another model than before."""
        known = self._info
        if known is not None and time.monotonic() - self._info_asked < _INFO_AGE_S:
            return known
        response = self._ask("GET", "/info", b"", self._timeout_s)
        try:
            values = orjson.loads(response.content)
            info = EmbedderInfo(str(values["name"]), int(values["dimension"]), float(values["min_similarity"]))
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"{self._url}/info is no embed service of this version: {error!r}") from error
        if known is not None and (info.name, info.dimension) != (known.name, known.dimension):
            raise self._changed(info.name, known)
        self._info, self._info_asked = info, time.monotonic()
        return info

    def _changed(self, model: str, known: EmbedderInfo) -> ModelChangedError:
        """The error of a service that changed its model; the next call takes the new one."""
        self._info = None
        return ModelChangedError(f"{self._url} now serves the model {model!r}, it was {known.name!r}; ask again")

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """As Embedder.embed. ModelChangedError when the service now serves another model than `info` said."""
        ask = self._batch if kind == "query" else self._patient_batch
        parts = [ask(batch, kind) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.empty((0, self.info().dimension), np.float32)

    def close(self) -> None:
        """Close the connections; calls that still wait end with EmbedderError."""
        self._closed.set()
        self._client.close()

    def _patient_batch(self, texts: list[str], kind: Kind) -> Vectors:
        """As `_batch`, tried again while the service is away."""
        give_up = None
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._batch(texts, kind)
            except _Away as error:
                if give_up is None:
                    give_up = time.monotonic() + RESTART_S
                    logger.warning("passages wait for the embed service: %s", error)
                if time.monotonic() + pause_s > give_up:
                    raise
            self._pause(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _batch(self, texts: list[str], kind: Kind) -> Vectors:
        info = self.info()
        body = orjson.dumps({"kind": kind, "texts": texts})
        timeout_s = self._timeout_s if kind == "query" else self._timeout_s * PASSAGE_PATIENCE
        response = self._ask("POST", "/embed", body, timeout_s)
        if (model := response.headers.get("X-Model")) != quote(info.name):
            raise self._changed(str(model), info)
        return self._vectors(response, len(texts), info)

    def _vectors(self, response: httpx.Response, rows: int, info: EmbedderInfo) -> Vectors:
        shape = (response.headers.get("X-Rows"), response.headers.get("X-Dimension"))
        if shape != (str(rows), str(info.dimension)) or len(response.content) != rows * info.dimension * 4:
            raise EmbedderError(
                f"{self._url} sent {len(response.content)} bytes as {shape[0]} vectors of {shape[1]} numbers, "
                f"expected {rows} of {info.dimension}"
            )
        vectors = np.frombuffer(response.content, "<f4").reshape(rows, info.dimension)
        return vectors.astype(np.float32)  # a copy: the buffer cannot be written to

    def _ask(self, method: str, path: str, body: bytes, timeout_s: float) -> httpx.Response:
        """The service's answer. Waits and asks again while it is busy, until the time is over."""
        deadline = time.monotonic() + timeout_s
        while True:
            response = self._exchange(method, path, body, deadline)
            if response.is_success:
                return response
            message = f"{self._url}{path}: {_error_of(response)}"
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                raise EmbedderError(message)
            pause_s = _seconds(response.headers.get("Retry-After"))
            if pause_s is None:
                raise _Away(message)
            if time.monotonic() + pause_s > deadline:
                raise EmbedderError(message)
            self._pause(pause_s)

    def _exchange(self, method: str, path: str, body: bytes, deadline: float) -> httpx.Response:
        dead_connections = 0
        while True:
            left_s = max(deadline - time.monotonic(), 0.001)
            timeout = httpx.Timeout(left_s, connect=min(_CONNECT_S, left_s))
            headers = {"Content-Type": "application/json"} if body else {}
            try:
                return self._client.request(method, path, content=body or None, headers=headers, timeout=timeout)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise _Away(f"no embed service at {self._url} ({error}); is `passageway embed` running?") from error
            except httpx.TimeoutException as error:
                raise EmbedderError(f"{self._url}{path} took too long ({type(error).__name__})") from error
            except httpx.HTTPError as error:
                dead_connections += 1
                if dead_connections > _DEAD_CONNECTIONS:
                    raise _Away(f"{self._url}{path} broke off: {error!r}") from error
            except RuntimeError as error:  # httpx, about a client that was closed meanwhile
                raise EmbedderError(f"{self._url}{path}: {error}") from error

    def _pause(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise EmbedderError("the embedder is closed")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in lists that one request takes; a lone surrogate, which is no text, becomes `?`."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        text = text[:CHARACTERS_A_REQUEST].encode("utf-8", "replace").decode("utf-8")
        if batch and (len(batch) == TEXTS_A_REQUEST or characters + len(text) > CHARACTERS_A_REQUEST):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _error_of(response: httpx.Response) -> str:
    try:
        return str(orjson.loads(response.content)["error"])
    except (ValueError, KeyError, TypeError):
        return f"answered {response.status_code} {response.reason_phrase}"


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(float(value), 0.0)
    except ValueError:
        return None
