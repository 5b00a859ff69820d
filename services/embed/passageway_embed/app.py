"""The embed service: vectors over HTTP on loopback, for the sync and query processes of the same machine.

`POST /embed` takes `{"kind": "query" | "passage", "texts": [...]}` and answers float32 little-endian, row by row. The
headers `X-Rows`, `X-Dimension` and `X-Model` (percent-encoded) say what they are. `GET /info` names the model, and
`GET /health` answers at once, also while the model is loading. An error is `{"error": "..."}` with status 400, 413 or
415 for the request; 503 with `Retry-After` when too much is waiting, and without it when the model cannot answer.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import quote

import anyio
import anyio.to_thread
import numpy as np
import orjson
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder, EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError
from passageway_embed.engine import MAX_PASSAGES, MAX_QUESTIONS, Engine

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Of a request: a question may be a megabyte long, and JSON may take six bytes for a character."""

MAX_TEXTS = MAX_PASSAGES
"""In one request, so that every request fits into an empty queue."""

RETRY_AFTER_S = 1

_NOBODY_THERE = 499  # what nginx logs for a client that left; nobody is there to read it
_LOADING_S = 0.5  # what /health waits for a model before it says that it is loading
_HOSTS = ["127.0.0.1", "localhost", "[::1]"]  # other names mean a web page that points its own name at this machine

T = TypeVar("T")


class EmbedRequest(BaseModel):
    """The body of `POST /embed`."""

    kind: Kind
    texts: Annotated[list[str], Field(max_length=MAX_TEXTS)]


@runtime_checkable
class Deferred(Protocol):
    """An embedder that is still being made; `ready` waits for the finished one or raises EmbedderError."""

    def ready(self) -> Embedder: ...


class _Refusal(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class _Room:
    """How many texts of each kind are being worked on or waited for, over all requests."""

    def __init__(self) -> None:
        self.taken: dict[Kind, int] = {"query": 0, "passage": 0}
        self._limits: dict[Kind, int] = {"query": MAX_QUESTIONS, "passage": MAX_PASSAGES}

    @contextmanager
    def take(self, kind: Kind, texts: int) -> Iterator[None]:
        if self.taken[kind] + texts > self._limits[kind]:
            message = f"{self.taken[kind]} texts are waiting already; try again in {RETRY_AFTER_S} s"
            raise _Refusal(503, message, {"Retry-After": str(RETRY_AFTER_S)})
        self.taken[kind] += texts
        try:
            yield
        finally:
            self.taken[kind] -= texts


class _Service:
    """One embedder behind the routes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._room = _Room()
        self._finished = None if isinstance(embedder, Deferred) else embedder
        self._problem: str | None = None
        # A thread for each kind of call, so that slow passages of a program leave room for questions.
        self._limits: dict[Kind, anyio.CapacityLimiter] = {
            "query": anyio.CapacityLimiter(16),
            "passage": anyio.CapacityLimiter(8),
        }

    async def health(self, _request: Request) -> Response:
        with anyio.move_on_after(_LOADING_S):
            try:
                _, info = await self._model()
            except EmbedderError as error:
                return _json({"status": "error", "error": str(error)}, 503)
            return _json({"status": "ok", "name": info.name, "dimension": info.dimension})
        if self._problem is None:
            return _json({"status": "loading"}, 503)
        return _json({"status": "error", "error": self._problem}, 503)

    async def info(self, _request: Request) -> Response:
        embedder, info = await self._model()
        waiting = {"questions": self._room.taken["query"], "passages": self._room.taken["passage"]}
        values = {"name": info.name, "dimension": info.dimension, "min_similarity": info.min_similarity}
        provider = embedder.provider if isinstance(embedder, Engine) else None
        return _json({**values, "provider": provider, "waiting": waiting})

    async def embed(self, request: Request) -> Response:
        asked = _parsed(request, await _body(request))
        with self._room.take(asked.kind, len(asked.texts)):
            answer = await _unless_disconnected(request, self._answer(asked))
        return Response(status_code=_NOBODY_THERE) if answer is None else answer

    async def _answer(self, asked: EmbedRequest) -> Response:
        embedder, info = await self._model()
        with self._noted():
            vectors = await self._vectors(embedder, asked.texts, asked.kind)
        rows, dimension = vectors.shape
        headers = {"X-Rows": str(rows), "X-Dimension": str(dimension), "X-Model": quote(info.name)}
        return Response(np.ascontiguousarray(vectors, "<f4").tobytes(), 200, headers, "application/octet-stream")

    async def _vectors(self, embedder: Embedder, texts: Sequence[str], kind: Kind) -> Vectors:
        if isinstance(embedder, Engine):
            # Never blocks: all requests together have as much room as the engine. Cancelled, it leaves the queue there.
            return await asyncio.wrap_future(embedder.submit(texts, kind))
        if isinstance(embedder, CommandEmbedder):
            gone = threading.Event()
            try:
                return await _in_thread(partial(embedder.embed, texts, kind, gone=gone), limiter=self._limits[kind])
            finally:
                gone.set()
        return await _in_thread(embedder.embed, texts, kind, limiter=self._limits[kind])

    async def _model(self) -> tuple[Embedder, EmbedderInfo]:
        with self._noted():
            embedder = await self._ready()
            return embedder, await _info(embedder)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Remember the last error, until something works, for when the next one keeps a health check waiting."""
        try:
            yield
        except EmbedderError as error:
            self._problem = str(error)
            raise
        self._problem = None

    async def _ready(self) -> Embedder:
        if self._finished is None:
            assert isinstance(self._embedder, Deferred)
            self._finished = await _in_thread(self._embedder.ready)
        return self._finished


async def _in_thread(function: Callable[..., T], *arguments: Any, limiter: anyio.CapacityLimiter | None = None) -> T:
    return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True, limiter=limiter)


async def _info(embedder: Embedder) -> EmbedderInfo:
    return embedder.info() if isinstance(embedder, Engine) else await _in_thread(embedder.info)


def create_app(embedder: Embedder) -> FastAPI:
    """The service over the embedder, which the caller closes. Serve it on loopback only: it asks for no password."""
    service = _Service(embedder)
    app = FastAPI(title="passageway embed", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False)
    app.add_route("/health", _guarded(service.health), methods=["GET"])
    app.add_route("/info", _guarded(service.info), methods=["GET"])
    app.add_route("/embed", _guarded(service.embed), methods=["POST"])
    return app


def _guarded(route: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await route(request)
        except ClientDisconnect:
            return Response(status_code=_NOBODY_THERE)
        except _Refusal as refusal:
            return _json({"error": str(refusal)}, refusal.status, refusal.headers)
        except EmbedderError as error:
            logger.error("%s failed: %s", request.url.path, error)
            return _json({"error": str(error)}, 503)

    return answer


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _Refusal(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
    return bytes(body)


def _parsed(request: Request, body: bytes) -> EmbedRequest:
    # A page in a browser cannot send this type to another site without asking first, which is never answered here.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _Refusal(415, "expected Content-Type: application/json")
    try:
        return EmbedRequest.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise _Refusal(400, f"the body is not JSON: {error}") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise _Refusal(400, f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}") from None


async def _unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work gives, or None when the caller went away first and the work was cancelled."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(values: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(values), status, headers, "application/json")
