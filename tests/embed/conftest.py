"""The real model, converted once for all tests, and the embed service as a process of its own."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from passageway.settings import Settings
from passageway_embed.engine import Engine
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def data_dir(model_data_dir: Path) -> Path:
    return model_data_dir


@pytest.fixture(scope="session")
def settings(model_settings: Settings) -> Settings:
    return model_settings


@pytest.fixture(scope="session")
def files(model_files: ModelFiles) -> ModelFiles:
    return model_files


@pytest.fixture(scope="session")
def model(files: ModelFiles) -> OnnxModel:
    return OnnxModel(files)


@pytest.fixture
def engine(model: OnnxModel) -> Iterator[Engine]:
    engine = Engine(model)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """200 texts of many kinds, one a line, then four long ones made of them."""
    lines = Path(__file__).with_name("texts.txt").read_text(encoding="utf-8").splitlines()
    short = [line.replace("\\n", "\n") for line in lines]
    spans = ((26, 6), (44, 10), (86, 10), (120, 12))
    return short + ["\n\n".join(short[start : start + count]) for start, count in spans]


class Service:
    """`serve.py` beside this file on a port of its own, killed and started at will."""

    def __init__(self, data_dir: Path, port: int, model_dir: Path | None = None) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{self.port}"
        self._data_dir = data_dir
        self.model_dir = model_dir
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return at once; clients find it when its model is loaded."""
        program = Path(__file__).with_name("serve.py")
        further = [str(self.model_dir)] if self.model_dir else []
        self._process = subprocess.Popen([sys.executable, program, str(self._data_dir), str(self.port), *further])

    def wait(self) -> None:
        """Return when it answers."""
        deadline = time.monotonic() + 60
        with httpx.Client(timeout=60, trust_env=False) as client:
            while True:
                assert self._process is not None
                assert self._process.poll() is None, "the service ended"
                try:
                    assert client.get(f"{self.url}/health").json()["status"] == "ok"
                    return
                except httpx.ConnectError:
                    assert time.monotonic() < deadline, "the service does not listen"
                    threading.Event().wait(0.02)

    def kill(self) -> None:
        """As the kernel does when memory is short."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=30)


@pytest.fixture(scope="module")
def service(files: ModelFiles, data_dir: Path, unused_port: Callable[[], int]) -> Iterator[Service]:
    """A service with the default model that answers."""
    service = Service(data_dir, unused_port())
    service.start()
    try:
        service.wait()
        yield service
    finally:
        service.kill()


@pytest.fixture
def tiny_service(
    data_dir: Path, tmp_path: Path, tiny_model: Callable[[Path, str], None], unused_port: Callable[[], int]
) -> Iterator[Service]:
    """A service with a small model, not started yet."""
    tiny_model(tmp_path / "tiny", "model.onnx")
    service = Service(data_dir, unused_port(), tmp_path / "tiny")
    try:
        yield service
    finally:
        service.kill()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Returns once the condition holds; fails when it does not within 30 seconds."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        never = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, "the condition never held"
            never.wait(0.002)

    return wait


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tiny_model() -> Callable[[Path, str], None]:
    """Puts a graph under the given name and a tokenizer.json into a folder: a model of three words."""

    def make(folder: Path, graph: str) -> None:
        program = Path(__file__).with_name("tiny_model.py")
        subprocess.run([sys.executable, program, str(folder), graph], check=True, timeout=60)

    return make
