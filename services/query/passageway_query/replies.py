"""What every door says when it refuses: one JSON shape, `{"error": code, "message": sentence}`, and bounded bodies."""

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from passageway.errors import PassagewayError

logger = logging.getLogger(__name__)

BODY_TIMEOUT_S = 30.0
"""A body is a mebibyte at most; who sends less in that time holds a connection open and nothing else."""

NOTHING_STORED = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_CODES = {404: "not_found", 405: "method_not_allowed"}


class Refusal(Exception):
    """A request that is answered with a status and a reason instead of what it asked for."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The refusal as the JSON every client of ours gets."""
        return refusal(self.status, self.code, self.message, self.headers)


def refusal(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer in the one shape of a refusal."""
    return JSONResponse({"error": code, "message": message}, status, headers={**NOTHING_STORED, **(headers or {})})


def throttled(retry_after_s: int) -> Refusal:
    """429 with the seconds to wait."""
    return Refusal(
        429,
        "too_many_attempts",
        f"too many wrong passwords; wait {retry_after_s} s and try again with the right one",
        {"Retry-After": str(retry_after_s)},
    )


async def bounded(stream: AsyncIterator[bytes], max_bytes: int, timeout_s: float = BODY_TIMEOUT_S) -> bytes:
    """All of a body. Raises Refusal: 413 as soon as it is longer, whatever its Content-Length said; 408 when it takes
    too long; 400 when the client left in the middle of it, which nobody reads.
    """
    body = bytearray()
    try:
        with anyio.fail_after(timeout_s):
            async for chunk in stream:
                body += chunk
                if len(body) > max_bytes:
                    raise Refusal(
                        413, "too_large", f"the body is over {max_bytes:,} bytes, the most this address takes"
                    )
    except TimeoutError:
        message = f"the body did not come within {timeout_s:g} s"
        raise Refusal(408, "too_slow", message, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refusal(400, "incomplete", "the body ended before its end") from None
    return bytes(body)


def _methods(app: FastAPI, path: str) -> list[str]:
    """What an address takes, all its routes together; the router knows of one at a time."""
    return sorted(method.upper() for method in app.openapi()["paths"].get(path, {}))


def install(app: FastAPI) -> None:
    """Make every refusal of the app, its router's included, the one JSON shape."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return error.response()

    async def by_router(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        what: Any = error.detail
        headers = dict(error.headers or {})
        if error.status_code == 404:
            what = f"nothing is at {request.url.path!r}; /mcp, /recall and /health are"
        elif error.status_code == 405:
            what = f"{request.method} is not for {request.url.path!r}"
            if allowed := _methods(app, request.url.path):
                headers["Allow"] = ", ".join(allowed)
        code = _CODES.get(error.status_code, "refused")
        return refusal(error.status_code, code, str(what), headers)

    async def unavailable(_: Request, error: Exception) -> Response:
        # The text may name files; it is for the log, not for whoever asks.
        logger.error("a request failed: %s", error)
        return refusal(503, "temporarily_unavailable", "the server cannot do this now; its log says why")

    async def failed(_: Request, error: Exception) -> Response:
        return refusal(500, "internal_error", "something went wrong in the server; its log says what")

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(PassagewayError, unavailable)
    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(HTTPException, by_router)
