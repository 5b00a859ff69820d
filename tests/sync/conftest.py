import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from passageway.config import ConnectorConfig
from passageway.embed_command import CommandEmbedder
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter
from passageway_sync.sync import SourceSync

PROGRAMS = Path(__file__).parent / "programs"


@dataclass
class Bench:
    """A source, an embedder and a data folder: all real processes and files, told what to do by the test."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "data" / "notes.db"

    def tell(self, **state: Any) -> None:
        (self.folder / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def config(self, **limits: Any) -> ConnectorConfig:
        return ConnectorConfig(
            name="notes",
            command=[sys.executable, str(PROGRAMS / "source.py")],
            env={"STATE": str(self.folder / "state.json"), "CALLS": str(self.folder / "calls")},
            **limits,
        )

    def embedder(self, name: str = "toy", dim: int = 64) -> CommandEmbedder:
        env = {
            "TEXTS": str(self.folder / "texts"),
            "BROKEN": str(self.folder / "broken"),
            "NAME": name,
            "DIM": str(dim),
        }
        return CommandEmbedder(name, [sys.executable, str(PROGRAMS / "embedder.py")], env=env)

    @contextlib.contextmanager
    def sync(self, name: str = "toy", dim: int = 64, **limits: Any) -> Iterator[SourceSync]:
        """A sync whose embedder and file are closed at the end."""
        self.path.parent.mkdir(exist_ok=True)
        with contextlib.closing(self.embedder(name, dim)) as embedder:
            sync = SourceSync(self.config(**limits), self.path.parent, embedder)
            with contextlib.closing(sync):
                yield sync

    def calls(self, mode: str) -> list[list[str]]:
        """The ids of each call of the mode, oldest first."""
        return [ids for called, *ids in map(json.loads, self._lines("calls")) if called == mode]

    def embedded(self) -> list[str]:
        """Texts embedded so far, and forget them."""
        texts = [json.loads(line) for line in self._lines("texts")]
        (self.folder / "texts").unlink(missing_ok=True)
        return texts

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def stored(self) -> list[str]:
        """Ids in the file, sorted."""
        with IndexWriter.open(self.path) as writer:
            return sorted(writer.versions())

    def state(self) -> SourceState:
        with IndexWriter.open(self.path) as writer:
            return writer.read_state()


@pytest.fixture
def served() -> Iterator[Callable[[FastAPI], str]]:
    """Serves an application on a port of its own until the test ends; its address."""
    with contextlib.ExitStack() as stack:

        def serve(app: FastAPI) -> str:
            listener = socket.create_server(("127.0.0.1", 0))
            server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=2))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            stack.callback(thread.join, 20)
            stack.callback(setattr, server, "should_exit", True)
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

        yield serve


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
