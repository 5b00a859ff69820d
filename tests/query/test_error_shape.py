"""Every refusal and failure is `{"error": code, "message": sentence}`."""

from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import ClientDisconnect

from passageway.errors import StorageError
from passageway_query.replies import Refusal, bounded, install


def failing_app() -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    install(app)

    @app.get("/refused")
    def refused() -> None:
        raise Refusal(418, "teapot", "no coffee here", {"X-Kind": "pot"})

    @app.get("/disk")
    def disk() -> None:
        raise StorageError("/srv/secret-place/oauth.sqlite: disk full")

    @app.get("/bug")
    def bug() -> None:
        raise RuntimeError("a detail that is nobody's business")

    return app


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/refused", 418, "teapot"),
        ("GET", "/disk", 503, "temporarily_unavailable"),
        ("GET", "/bug", 500, "internal_error"),
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/bug", 405, "method_not_allowed"),
    ],
)
async def test_a_failure_has_one_shape_and_tells_strangers_no_details(
    method: str, path: str, status: int, code: str
) -> None:
    transport = httpx.ASGITransport(failing_app(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.request(method, path)
    assert reply.status_code == status
    assert set(reply.json()) == {"error", "message"}
    assert reply.json()["error"] == code
    assert reply.headers["cache-control"] == "no-store"
    assert "secret-place" not in reply.text
    assert "nobody" not in reply.text


@pytest.mark.anyio
async def test_a_refusal_keeps_its_headers() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(failing_app()), base_url="http://localhost") as client:
        assert (await client.get("/refused")).headers["x-kind"] == "pot"


async def trickle() -> AsyncIterator[bytes]:
    while True:
        yield b"a"
        await anyio.sleep(0.001)


@pytest.mark.anyio
async def test_a_body_that_trickles_in_is_408_and_ends_its_connection() -> None:
    with pytest.raises(Refusal) as refused:
        await bounded(trickle(), 10**9, timeout_s=0.05)
    assert refused.value.status == 408
    assert refused.value.headers == {"Connection": "close"}


@pytest.mark.anyio
async def test_a_body_whose_sender_left_is_a_refusal_and_no_crash() -> None:
    async def left() -> AsyncIterator[bytes]:
        yield b"a"
        raise ClientDisconnect

    with pytest.raises(Refusal) as refused:
        await bounded(left(), 10)
    assert refused.value.status == 400
