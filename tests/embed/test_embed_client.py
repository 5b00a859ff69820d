"""The client against the real service: many at once, restarts in the middle, and services that are none."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import numpy as np
import orjson
import pytest

from passageway.embed_client import CHARACTERS_A_REQUEST, HttpEmbedder
from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError
from passageway_embed.onnx import OnnxModel

Eventually = Callable[[Callable[[], bool]], None]


class Service(Protocol):
    """A started embed service."""

    url: str
    model_dir: Path | None

    def start(self) -> None: ...

    def wait(self) -> None: ...

    def kill(self) -> None: ...


@pytest.fixture
def embedder(service: Service) -> Iterator[HttpEmbedder]:
    with closing(HttpEmbedder(service.url, timeout_s=120)) as embedder:
        yield embedder


def test_over_http_the_vectors_are_those_of_the_model(
    embedder: HttpEmbedder, model: OnnxModel, texts: list[str]
) -> None:
    assert embedder.info() == EmbedderInfo("multilingual-e5-small-q4", 384, 0.845)
    assert np.array_equal(embedder.embed(texts[:70], "passage"), model.vectors(texts[:70], "passage"))
    assert np.array_equal(embedder.embed(texts[:3], "query"), model.vectors(texts[:3], "query"))
    assert embedder.embed([], "passage").shape == (0, 384)


def test_vectors_may_be_written_to(embedder: HttpEmbedder) -> None:
    row = embedder.embed(["tea"], "query")

    row *= 2

    assert float(np.linalg.norm(row)) == pytest.approx(2, abs=1e-4)


def test_a_lone_surrogate_is_a_question_mark_also_over_http(embedder: HttpEmbedder, model: OnnxModel) -> None:
    assert np.array_equal(embedder.embed(["broken \ud83d"], "query")[0], model.vector("broken ?", "query"))


def test_passages_of_any_length_are_spread_over_requests(embedder: HttpEmbedder, model: OnnxModel) -> None:
    books = ["tea " * (CHARACTERS_A_REQUEST // 4), "bread " * (CHARACTERS_A_REQUEST // 2), "milk"]

    assert np.array_equal(embedder.embed(books, "passage"), model.vectors(books, "passage"))


def test_a_thousand_questions_at_once_each_get_their_own_answer(tiny_service: Service) -> None:
    """Of a small model: what a thousand runs of the real one would add is only their time."""
    tiny_service.start()
    tiny_service.wait()
    questions = ["tea " * (n % 40) + "bread " * (1 + n // 40) for n in range(1000)]
    with closing(HttpEmbedder(tiny_service.url, timeout_s=120)) as embedder:
        expected = embedder.embed(questions, "query")
        with ThreadPoolExecutor(1000) as pool:
            rows = list(pool.map(lambda question: embedder.embed([question], "query")[0], questions))

    assert np.array_equal(np.stack(rows), expected)
    assert len(np.unique(expected, axis=0)) > 500


def test_passages_outlive_a_service_that_is_killed_and_started_again(
    tiny_service: Service, eventually: Eventually
) -> None:
    tiny_service.start()
    tiny_service.wait()
    texts = ["tea bread " * (1 + n % 200) for n in range(3_000)]
    with closing(HttpEmbedder(tiny_service.url)) as embedder, ThreadPoolExecutor(1) as pool:
        expected = embedder.embed(texts[:400], "passage")
        answered = threading.Event()

        def embed() -> np.ndarray:
            rows = [embedder.embed(texts[:400], "passage")]
            answered.set()
            return np.concatenate([*rows, embedder.embed(texts, "passage")])

        rows = pool.submit(embed)
        assert answered.wait(timeout=30)
        tiny_service.kill()
        with pytest.raises(EmbedderError, match=r"no embed service .* is `passageway embed` running\?"):
            embedder.embed(["tea"], "query")
        assert not rows.done()
        tiny_service.start()

        all_rows = rows.result(timeout=240)

        assert all_rows.shape == (3_400, 4)
        assert np.array_equal(all_rows[:400], all_rows[400:800])
        assert np.array_equal(all_rows[:400], expected)
        assert embedder.embed(["tea"], "query").shape == (1, 4)


def test_a_service_that_comes_back_with_another_model_is_noticed(
    tiny_service: Service, tiny_model: Callable[..., None], texts: list[str]
) -> None:
    tiny_service.start()
    tiny_service.wait()
    with closing(HttpEmbedder(tiny_service.url)) as embedder:
        before = embedder.info()
        tiny_service.kill()
        assert tiny_service.model_dir is not None
        tokenizer = tiny_service.model_dir / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        tiny_service.start()

        with pytest.raises(EmbedderError, match=f"now serves the model .*, it was '{before.name}'"):
            embedder.embed(["tea"], "passage")

        assert embedder.info().name != before.name
        assert embedder.embed(["tea"], "passage").shape == (1, 4)


def test_info_tells_within_seconds_that_the_service_is_gone(tiny_service: Service, eventually: Eventually) -> None:
    tiny_service.start()
    tiny_service.wait()
    with closing(HttpEmbedder(tiny_service.url)) as embedder:
        embedder.info()
        tiny_service.kill()

        def gone() -> bool:
            try:
                embedder.info()
            except EmbedderError as error:
                return "is `passageway embed` running?" in str(error)
            return False

        eventually(gone)


def test_passages_that_wait_for_a_service_end_when_the_client_is_closed(tiny_service: Service) -> None:
    embedder = HttpEmbedder(tiny_service.url)
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(embedder.embed, ["tea"], "passage")
        embedder.close()

        with pytest.raises(EmbedderError):
            rows.result(timeout=30)


class Answers(BaseHTTPRequestHandler):
    """Gives one prepared answer after the other, and the last one for ever."""

    server: "Stand"

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def answer(self) -> None:
        status, headers, body = self.server.next_answer()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class Stand(ThreadingHTTPServer):
    """Something on the port that is not the service of this version."""

    daemon_threads = True

    def __init__(self, answers: list[tuple[int, dict[str, str], bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self._answers = answers
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.silent = threading.Event()
        self.silent.set()

    def next_answer(self) -> tuple[int, dict[str, str], bytes]:
        self.silent.wait()
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@contextmanager
def standing(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[Stand]:
    with Stand(list(answers)) as stand:
        thread = threading.Thread(target=stand.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stand
        finally:
            stand.silent.set()
            stand.shutdown()
            thread.join()


Answer = tuple[int, dict[str, str], bytes]

INFO: Answer = (200, {}, orjson.dumps({"name": "two", "dimension": 2, "min_similarity": 0.5}))
ROW: Answer = (200, {"X-Rows": "1", "X-Dimension": "2", "X-Model": "two"}, np.array([0, 1], "<f4").tobytes())
BUSY: Answer = (503, {"Retry-After": "0"}, b'{"error": "256 texts are waiting"}')
LOADING: Answer = (503, {}, b'{"error": "the model is still being loaded"}')


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_a_busy_service_is_asked_again(kind: str) -> None:
    with standing(INFO, BUSY, BUSY, ROW) as stand, closing(HttpEmbedder(stand.url)) as embedder:
        assert embedder.embed(["tea"], "query" if kind == "query" else "passage").tolist() == [[0, 1]]


def test_a_service_that_stays_busy_is_an_error_in_its_own_words() -> None:
    busy = (503, {"Retry-After": "60"}, BUSY[2])
    with standing(INFO, busy) as stand, closing(HttpEmbedder(stand.url)) as embedder:  # noqa: SIM117
        with pytest.raises(EmbedderError, match="256 texts are waiting"):
            embedder.embed(["tea"], "query")


def test_passages_wait_for_a_model_that_loads_and_a_question_says_so() -> None:
    with standing(INFO, LOADING, LOADING, ROW) as stand, closing(HttpEmbedder(stand.url)) as embedder:
        with pytest.raises(EmbedderError, match="still being loaded"):
            embedder.embed(["tea"], "query")

        assert embedder.embed(["tea"], "passage").tolist() == [[0, 1]]


def test_a_service_that_says_nothing_is_an_error_after_the_timeout() -> None:
    with standing(INFO, ROW) as stand, closing(HttpEmbedder(stand.url, timeout_s=0.3)) as embedder:
        embedder.info()
        stand.silent.clear()

        with pytest.raises(EmbedderError, match="took too long"):
            embedder.embed(["tea"], "query")


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"X-Rows": "2", "X-Dimension": "2", "X-Model": "two"}, bytes(16)),
        (200, {"X-Rows": "1", "X-Dimension": "3", "X-Model": "two"}, bytes(12)),
        (200, {"X-Rows": "1", "X-Dimension": "2", "X-Model": "two"}, bytes(7)),
        (200, {"X-Model": "two"}, b"<html>"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer: Answer) -> None:
    with standing(INFO, answer) as stand, closing(HttpEmbedder(stand.url)) as embedder:  # noqa: SIM117
        with pytest.raises(EmbedderError, match="expected 1 of 2"):
            embedder.embed(["tea"], "query")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"name": "two"}', b"null"])
def test_another_program_on_the_port_is_told_from_the_service(body: bytes) -> None:
    with standing((200, {}, body)) as stand, closing(HttpEmbedder(stand.url)) as embedder:  # noqa: SIM117
        with pytest.raises(EmbedderError, match="is no embed service of this version"):
            embedder.info()


def test_a_refused_request_is_an_error_with_the_reason() -> None:
    refusal: Answer = (400, {}, b'{"error": "kind: unknown"}')
    with standing(INFO, refusal) as stand, closing(HttpEmbedder(stand.url)) as embedder:  # noqa: SIM117
        with pytest.raises(EmbedderError, match="kind: unknown"):
            embedder.embed(["tea"], "passage")
