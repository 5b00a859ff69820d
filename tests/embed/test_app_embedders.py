"""The embed service over other embedders than a loaded model: a program, one that is still loading, one that failed."""

import http.client
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
import uvicorn

from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder, EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError
from passageway_embed.app import create_app

Eventually = Callable[[Callable[[], bool]], None]

FAKE = [sys.executable, "-m", "passageway.testing.fake_embedder"]
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


# Its number is in its name; while the file named in GONE is there, it ends as soon as it starts.
MORTAL = """
import json, os, sys
from pathlib import Path
if Path(os.environ["GONE"]).exists():
    sys.exit("no memory left")
for line in sys.stdin:
    reply = {"name": f"model {os.getpid()}", "dim": 1} if "info" in line else {"vectors": [[1]]}
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.anyio
async def test_health_tells_of_a_program_that_died_after_it_was_well(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    env = {"GONE": str(gone)}
    command = [sys.executable, "-c", MORTAL]
    with closing(CommandEmbedder("mortal", command, env=env, min_similarity=0.5)) as embedder:
        async with asking(embedder) as client:
            well = (await client.get("/health")).json()
            gone.touch()
            os.kill(int(well["name"].split()[1]), signal.SIGKILL)
            health = await client.get("/health")
            while health.status_code == 200 or health.json()["status"] == "loading":
                health = await client.get("/health")
            info = await client.get("/info")

    assert well["status"] == "ok"
    assert (health.status_code, health.json()["status"]) == (503, "error")
    assert "no memory left" in health.json()["error"] and "no memory left" in info.json()["error"]


@pytest.mark.anyio
async def test_health_keeps_the_reason_while_the_next_try_takes_its_time(tmp_path: Path) -> None:
    env = {"FAKE_LOG": str(tmp_path / "log"), "FAKE_MISBEHAVE": "error", "FAKE_DELAY": "2"}
    with closing(CommandEmbedder("slow", FAKE, env=env, min_similarity=0.5)) as embedder:
        async with asking(embedder) as client:
            answer = await client.post("/embed", json={"kind": "query", "texts": ["tea"]})
            health = await client.get("/health")

    assert "refused the key" in answer.json()["error"]
    assert (health.status_code, health.json()["status"]) == (503, "error")
    assert "refused the key" in health.json()["error"]


@contextmanager
def served(embedder: Embedder) -> Iterator[int]:
    """The service over a socket, whose other end may be closed; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(embedder), log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)


def test_a_program_works_no_further_for_a_caller_that_left(tmp_path: Path, eventually: Eventually) -> None:
    log = tmp_path / "log"
    env = {"FAKE_LOG": str(log), "FAKE_DELAY": "0.05"}
    with closing(CommandEmbedder("slow", FAKE, env=env, batch_size=1, min_similarity=0.5)) as embedder:
        embedder.info()
        with served(embedder) as port:
            caller = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            body = json.dumps({"kind": "passage", "texts": [f"passage {n}" for n in range(200)]})
            caller.request("POST", "/embed", body, {"Content-Type": "application/json"})
            eventually(lambda: "embed passage" in log.read_text(encoding="utf-8"))
            caller.close()
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                eventually(lambda: client.get("/info").json()["waiting"]["passages"] == 0)
                assert client.post("/embed", json={"kind": "passage", "texts": ["tea"]}).status_code == 200

    assert log.read_text(encoding="utf-8").count("embed passage") < 200
