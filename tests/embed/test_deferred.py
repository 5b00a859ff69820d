"""An embedder that is made in the background: waited for, told about, tried again, and given back."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import uvicorn

from passageway.embedder import Embedder
from passageway.errors import EmbedderError, ModelError
from passageway_embed.app import MAX_TEXTS, create_app
from passageway_embed.deferred import DeferredEmbedder
from passageway_embed.engine import Engine
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel
from passageway_embed.presets import PRESETS

Eventually = Callable[[Callable[[], bool]], None]


@pytest.fixture
def tiny(tmp_path: Path, tiny_model: Callable[[Path, str], None]) -> Iterator[Engine]:
    """An engine over a small model."""
    tiny_model(tmp_path, "model.onnx")
    preset = PRESETS["jina-v2-base-de"]
    files = ModelFiles("tiny", preset, tmp_path, tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    engine = Engine(OnnxModel(files))
    yield engine
    engine.close()


def test_a_question_that_comes_early_waits_for_the_model(tiny: Engine) -> None:
    loaded = threading.Event()

    def make() -> Embedder:
        assert loaded.wait(timeout=30)
        return tiny

    with closing(DeferredEmbedder(make)) as embedder, ThreadPoolExecutor(1) as pool:
        early = pool.submit(embedder.embed, ["tea"], "query")
        assert not early.done()
        loaded.set()

        assert early.result(timeout=30).shape == (1, 4)
        assert embedder.info().name == "tiny"


def test_who_waits_longer_than_a_while_is_told_that_the_model_is_loading() -> None:
    loaded = threading.Event()

    def make() -> Embedder:
        loaded.wait(timeout=30)
        raise EmbedderError("too late for this test")

    with closing(DeferredEmbedder(make, wait_s=0.05)) as embedder:
        with pytest.raises(EmbedderError, match="still being loaded"):
            embedder.embed(["tea"], "query")
        loaded.set()


def test_a_failure_is_told_at_once_and_mended_by_a_later_try(tiny: Engine, eventually: Eventually) -> None:
    tries: list[str] = []
    disk_is_free = threading.Event()

    def make() -> Embedder:
        tries.append("try")
        if not disk_is_free.is_set():
            raise ModelError("the disk is full")
        return tiny

    with closing(DeferredEmbedder(make, retry_s=0.05)) as embedder:
        eventually(lambda: len(tries) >= 2)
        with pytest.raises(EmbedderError, match="the disk is full"):
            embedder.info()

        disk_is_free.set()

        eventually(lambda: _is_ready(embedder))
        assert embedder.ready() is tiny


def _is_ready(embedder: DeferredEmbedder) -> bool:
    try:
        return embedder.info().name == "tiny"
    except EmbedderError:
        return False


def test_a_model_that_is_ready_after_the_end_is_closed_too(tiny: Engine, eventually: Eventually) -> None:
    loading, loaded = threading.Event(), threading.Event()

    def make() -> Embedder:
        loading.set()
        assert loaded.wait(timeout=30)
        return tiny

    embedder = DeferredEmbedder(make)
    assert loading.wait(timeout=30)
    embedder.close()
    loaded.set()

    eventually(lambda: _is_closed(tiny))
    with pytest.raises(EmbedderError, match="closed"):
        embedder.embed(["tea"], "query")


def _is_closed(engine: Engine) -> bool:
    try:
        engine.embed(["tea"], "query")
    except EmbedderError:
        return True
    return False


def test_behind_the_service_the_work_of_a_caller_that_left_is_dropped_as_well(
    model: OnnxModel, eventually: Eventually
) -> None:
    engine = Engine(model)
    config = uvicorn.Config(create_app(DeferredEmbedder(lambda: engine)), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        body = {"kind": "passage", "texts": ["tea and bread " * 100] * MAX_TEXTS}
        with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ReadTimeout):
            client.post(f"http://127.0.0.1:{port}/embed", json=body, timeout=1)

        eventually(lambda: engine.waiting().passages == 0)

        assert len(engine.embed(["tea"], "passage")) == 1
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        engine.close()
