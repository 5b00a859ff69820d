"""The embed service over other embedders than a loaded model: a program, one that is still loading, one that failed."""

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import numpy as np
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder, EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError
from passageway_embed.app import create_app

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "letters_embedder.py"


class Unfinished:
    """An embedder of which `ready` is all there is."""

    def __init__(self, ready: Callable[[], Embedder]) -> None:
        self.ready = ready

    def info(self) -> EmbedderInfo:
        return self.ready().info()

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        return self.ready().embed(texts, kind)

    def close(self) -> None:
        """Nothing to give back."""


@asynccontextmanager
async def asking(embedder: Embedder) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(embedder))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8182", timeout=30) as client:
        yield client


@pytest.fixture
def program() -> Iterator[CommandEmbedder]:
    with closing(CommandEmbedder("letters", [sys.executable, str(PROGRAM)], min_similarity=0.7)) as embedder:
        yield embedder


@pytest.mark.anyio
async def test_a_program_is_served_like_a_model(program: CommandEmbedder) -> None:
    async with asking(program) as client:
        info = (await client.get("/info")).json()
        answer = await client.post("/embed", json={"kind": "passage", "texts": ["tea", "bread"]})

    assert (info["min_similarity"], info["provider"]) == (0.7, None)
    rows = np.frombuffer(answer.content, "<f4").reshape(2, info["dimension"])
    assert np.array_equal(rows, program.embed(["tea", "bread"], "passage"))


@pytest.mark.anyio
async def test_a_program_that_fails_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with closing(CommandEmbedder("gone", [str(tmp_path / "no-such-program")])) as embedder:
        async with asking(embedder) as client:
            answer = await client.post("/embed", json={"kind": "query", "texts": ["tea"]})
            health = await client.get("/health")

    assert (answer.status_code, health.status_code) == (503, 503)
    assert "no-such-program" in answer.json()["error"]
    assert "retry-after" not in answer.headers
    assert health.json()["status"] == "error"


@pytest.mark.anyio
async def test_health_answers_while_the_model_loads_and_after(program: CommandEmbedder) -> None:
    loaded = threading.Event()

    def ready() -> Embedder:
        assert loaded.wait(timeout=30)
        return program

    async with asking(Unfinished(ready)) as client:
        loading = await client.get("/health")
        loaded.set()
        finished = await client.get("/health")

    assert (loading.status_code, loading.json()) == (503, {"status": "loading"})
    assert (finished.status_code, finished.json()["status"]) == (200, "ok")


@pytest.mark.anyio
async def test_a_model_that_cannot_be_loaded_is_said_in_its_own_words() -> None:
    def ready() -> Embedder:
        raise EmbedderError("the disk is full")

    async with asking(Unfinished(ready)) as client:
        health = await client.get("/health")
        answer = await client.post("/embed", json={"kind": "query", "texts": ["tea"]})

    assert (health.status_code, health.json()) == (503, {"status": "error", "error": "the disk is full"})
    assert (answer.status_code, answer.json()) == (503, {"error": "the disk is full"})
