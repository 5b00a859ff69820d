"""Two queues over one model: questions first, no more waiting than fits, nothing lost and nothing mixed up."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path

import numpy as np
import pytest

from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError
from passageway_embed.engine import MAX_PASSAGES, Engine, Waiting
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel
from passageway_embed.presets import PRESETS

Eventually = Callable[[Callable[[], bool]], None]

LONG = "The keeper climbs the stairs every evening and lights the lamp before the sun is gone. " * 12


@pytest.fixture
def poisoned(tmp_path: Path, tiny_model: Callable[[Path, str], None]) -> Iterator[Engine]:
    """An engine whose model fails on the word `poison`."""
    tiny_model(tmp_path, "model.onnx")
    preset = PRESETS["jina-v2-base-de"]
    files = ModelFiles("tiny", preset, tmp_path, tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    engine = Engine(OnnxModel(files))
    yield engine
    engine.close()


def test_the_engine_says_what_the_model_is(engine: Engine) -> None:
    assert engine.info() == EmbedderInfo("multilingual-e5-small-q4", 384, 0.845)
    assert engine.provider == "CPUExecutionProvider"


def test_a_configured_gate_wins_over_the_models_own(model: OnnxModel) -> None:
    engine = Engine(model, min_similarity=0.9)
    try:
        assert engine.info().min_similarity == 0.9
    finally:
        engine.close()


def test_rows_come_in_the_order_of_the_texts(engine: Engine, model: OnnxModel, texts: list[str]) -> None:
    assert np.array_equal(engine.embed(texts[:40], "passage"), model.vectors(texts[:40], "passage"))
    assert np.array_equal(engine.embed(texts[:40], "query"), model.vectors(texts[:40], "query"))


def test_no_texts_are_no_rows(engine: Engine) -> None:
    assert engine.embed([], "passage").shape == (0, 384)


def test_many_threads_get_each_their_own_vectors(model: OnnxModel, texts: list[str]) -> None:
    engine = Engine(model, workers=2)
    try:
        with ThreadPoolExecutor(16) as pool:
            questions = [pool.submit(engine.embed, [text], "query") for text in texts[:80]]
            passages = [pool.submit(engine.embed, texts[n : n + 5], "passage") for n in range(0, 80, 5)]
            answers = np.concatenate([future.result() for future in questions])
            rows = np.concatenate([future.result() for future in passages])
    finally:
        engine.close()

    assert np.array_equal(answers, model.vectors(texts[:80], "query"))
    assert np.array_equal(rows, model.vectors(texts[:80], "passage"))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_question_is_answered_while_passages_wait(model: OnnxModel, workers: int) -> None:
    engine = Engine(model, workers=workers)
    try:
        bulk = engine.submit([LONG] * 100, "passage")

        engine.embed(["how do lighthouses warn ships"], "query")

        assert not bulk.done()
        assert engine.waiting().passages > 50
        bulk.cancel()
    finally:
        engine.close()


def test_no_more_passages_wait_than_the_queue_holds(engine: Engine, model: OnnxModel, eventually: Eventually) -> None:
    count = MAX_PASSAGES + 60
    with ThreadPoolExecutor(1) as pool:
        handing_in = pool.submit(engine.embed, [f"number {n}" for n in range(count)], "passage")
        eventually(lambda: engine.waiting().passages == MAX_PASSAGES)

        rows = handing_in.result()

    assert rows.shape == (count, 384)
    assert np.array_equal(rows[-1], model.vector(f"number {count - 1}", "passage"))
    assert engine.waiting() == Waiting(0, 0)


def test_cancelled_passages_leave_the_queue_to_others(engine: Engine, model: OnnxModel) -> None:
    dropped = engine.submit([LONG] * MAX_PASSAGES, "passage")
    behind = engine.submit(["tea"], "passage")

    assert dropped.cancel()

    assert np.array_equal(behind.result(timeout=10)[0], model.vector("tea", "passage"))
    assert engine.waiting() == Waiting(0, 0)


def test_closing_ends_the_wait_of_who_still_hands_in(engine: Engine, eventually: Eventually) -> None:
    engine.submit([LONG] * MAX_PASSAGES, "passage")
    with ThreadPoolExecutor(1) as pool:
        handing_in = pool.submit(engine.submit, ["tea"] * 5, "passage")
        eventually(lambda: engine.waiting().passages == MAX_PASSAGES)

        engine.close()

        with pytest.raises(EmbedderError, match="closed"):
            handing_in.result(timeout=30)


def test_a_text_that_fails_fails_its_own_job_only(poisoned: Engine) -> None:
    bad = poisoned.submit(["tea", "poison", "bread"], "passage")
    good = poisoned.submit(["tea", "bread"], "passage")

    wait_for([bad, good], timeout=30)

    with pytest.raises(EmbedderError, match="tiny gave a vector of length nan"):
        bad.result()
    assert good.result().shape == (2, 4)
    assert poisoned.embed(["bread"], "query").shape == (1, 4)


def test_closing_fails_what_waits_and_what_comes_later(engine: Engine) -> None:
    waiting = engine.submit([LONG] * 50, "passage")

    engine.close()
    engine.close()

    with pytest.raises(EmbedderError, match="closed"):
        waiting.result(timeout=10)
    with pytest.raises(EmbedderError, match="closed"):
        engine.embed(["tea"], "query")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_passage_threads_yield_to_questions(engine: Engine) -> None:
    engine.embed(["tea"], "passage")
    engine.embed(["tea"], "query")
    threads = {thread.name: thread.native_id for thread in threading.enumerate()}
    own = os.getpriority(os.PRIO_PROCESS, 0)

    def niceness(name: str) -> int:
        number = threads[name]
        assert number is not None
        return os.getpriority(os.PRIO_PROCESS, number)

    assert niceness("embed question 0") == own
    assert own + 10 <= niceness("embed passage 0") <= 19 or own > 9
