"""The core's side of the embedder protocol with a program that keeps it."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import DEFAULT_MIN_SIMILARITY, EmbedderInfo
from passageway.errors import EmbedderError

Make = Callable[..., CommandEmbedder]
TEXTS = ["Lighthouses guide ships.", "Bananas are yellow.", "A lock lifts a boat."]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.rule("E2")
def test_info_is_the_name_and_the_dimension_that_the_program_gives(fake: Make) -> None:
    assert fake(FAKE_NAME="bge", FAKE_DIM=8).info() == EmbedderInfo("bge", 8, 0.5)


def test_without_a_gate_the_built_in_one_is_used_and_a_warning_says_so_once(
    fake: Make, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = fake(min_similarity=None)
    assert embedder.info().min_similarity == embedder.info().min_similarity == DEFAULT_MIN_SIMILARITY
    assert [record.levelno for record in caplog.records if "min_similarity" in record.message] == [logging.WARNING]


@pytest.mark.rule("E5")
def test_vectors_come_in_order_at_unit_length_as_float32(fake: Make) -> None:
    embedder = fake()
    vectors = embedder.embed(TEXTS, "passage")
    assert vectors.shape == (3, 64) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(embedder.embed(TEXTS[::-1], "passage"), vectors[::-1])


@pytest.mark.rule("E5")
def test_numbers_too_big_for_a_float32_keep_their_direction(fake: Make) -> None:
    np.testing.assert_allclose(
        fake(FAKE_MISBEHAVE="big-numbers").embed(TEXTS, "passage"), fake().embed(TEXTS, "passage"), atol=1e-6
    )


@pytest.mark.rule("E1")
def test_one_process_answers_every_request(fake: Make, log_path: Path) -> None:
    embedder = fake()
    for _ in range(3):
        embedder.embed(["a question"], "query")
    assert lines(log_path) == ["start", "info", *["embed query 1"] * 3]


@pytest.mark.rule("E7")
def test_texts_are_sent_in_batches_and_put_together_in_order(fake: Make, log_path: Path) -> None:
    texts = [f"word{number}" for number in range(7)]
    whole = fake().embed(texts, "passage")
    log_path.write_text("", encoding="utf-8")
    np.testing.assert_array_equal(fake(batch_size=3).embed(texts, "passage"), whole)
    assert lines(log_path) == ["start", "info", "embed passage 3", "embed passage 3", "embed passage 1"]


def test_no_texts_give_no_rows_and_no_request(fake: Make, log_path: Path) -> None:
    assert fake(FAKE_DIM=8).embed([], "passage").shape == (0, 8)
    assert lines(log_path) == ["start", "info"]


def test_a_batch_bigger_than_a_pipe_goes_through(fake: Make) -> None:
    texts = ["word " * 20_000] * 32
    assert fake(FAKE_DIM=4096).embed(texts, "passage").shape == (32, 4096)


@pytest.mark.rule("E1")
def test_blank_lines_are_skipped(fake: Make) -> None:
    embedder = fake(FAKE_MISBEHAVE="blank-line")
    assert len(embedder.embed(TEXTS, "passage")) == len(embedder.embed(TEXTS, "passage")) == 3


def test_a_text_that_utf_8_cannot_hold_is_embedded_all_the_same(fake: Make) -> None:
    embedder = fake()
    np.testing.assert_array_equal(embedder.embed(["boat \ud83e"], "query"), embedder.embed(["boat ?"], "query"))


ECHO = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    print(line, end="", file=sys.stderr, flush=True)
    seen = json.dumps(dict(os.environ)) if request["op"] == "info" else ""
    print(json.dumps({"name": seen, "dim": 1} if seen else {"vectors": [[1]] * len(request["texts"])}), flush=True)
"""


@pytest.mark.rule("E13")
def test_the_program_sees_path_home_the_version_its_settings_and_its_secrets(
    scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSAGEWAY_LOGIN_PASSWORD", "the server's own")
    embedder = scripted(ECHO, env={"MODEL": "bge"}, secrets={"API_KEY": "k3y"})
    seen = json.loads(embedder.info().name)
    seen.pop("LC_CTYPE", None)  # Python sets it itself when no locale is given (PEP 538)
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    assert seen == {**inherited, "PASSAGEWAY_PROTOCOL": "1", "MODEL": "bge", "API_KEY": "k3y"}


@pytest.mark.rule("E6")
def test_a_request_says_whether_it_holds_questions_or_passages(
    scripted: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    embedder = scripted(ECHO)
    embedder.embed(["Wo ist “es”?"], "query")
    embedder.embed(["Hier."], "passage")
    embedder.close()
    requests = [record.getMessage().partition(": ")[2] for record in caplog.records if '{"op"' in record.getMessage()]
    assert [json.loads(request) for request in requests] == [
        {"op": "info"},
        {"op": "embed", "kind": "query", "texts": ["Wo ist “es”?"]},
        {"op": "embed", "kind": "passage", "texts": ["Hier."]},
    ]


@pytest.mark.rule("E18")
def test_a_question_waits_for_one_batch_of_passages_at_the_most(fake: Make, log_path: Path) -> None:
    embedder = fake(batch_size=1, FAKE_DELAY=0.05)
    embedder.info()
    importing = threading.Thread(target=embedder.embed, args=([f"passage {n}" for n in range(40)], "passage"))
    importing.start()
    deadline = time.monotonic() + 30
    while "embed passage 1" not in lines(log_path):
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
    embedder.embed(["a question"], "query")
    before = lines(log_path).count("embed passage 1")
    importing.join(60)
    assert before < 40 and lines(log_path).count("embed passage 1") == 40


@pytest.mark.rule("E18")
def test_people_who_never_stop_asking_do_not_stop_a_build(fake: Make, log_path: Path) -> None:
    embedder = fake(batch_size=1, FAKE_DELAY=0.01)
    embedder.info()
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            embedder.embed(["a question"], "query")

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    embedder.embed([f"passage {n}" for n in range(10)], "passage")
    done.set()
    for thread in asking:
        thread.join(60)
    seen = lines(log_path)
    first = seen.index("embed passage 1")
    last = len(seen) - 1 - seen[::-1].index("embed passage 1")
    # Four between two batches, and more only while the builder is on its way to the next.
    assert seen[first:last].count("embed query 1") < 9 * 12


def test_calls_from_many_threads_get_their_own_answers(fake: Make) -> None:
    embedder = fake(batch_size=2)
    expected = {number: embedder.embed([f"word{number}"], "passage") for number in range(8)}
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            if not np.array_equal(embedder.embed([f"word{number}"], "passage"), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_a_closed_embedder_refuses_further_calls(fake: Make) -> None:
    embedder = fake()
    embedder.embed(TEXTS, "passage")
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderError, match="embedder 'fake': is closed"):
        embedder.embed(TEXTS, "passage")


@pytest.mark.rule("E15")
def test_a_program_may_tidy_up_when_its_input_ends(scripted: Make, tmp_path: Path) -> None:
    source = ECHO + f"\nopen({str(tmp_path / 'tidied')!r}, 'w').close()"
    embedder = scripted(source)
    embedder.info()
    embedder.close()
    assert (tmp_path / "tidied").exists()


def test_a_command_that_is_no_list_of_words_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a list of words"):
        CommandEmbedder("mine", "python embedder.py")


def test_a_missing_program_is_an_error_that_names_it() -> None:
    embedder = CommandEmbedder("mine", ["/nowhere/embedder"])
    with pytest.raises(EmbedderError, match="embedder 'mine': the program '/nowhere/embedder' does not exist"):
        embedder.info()
    embedder.close()
