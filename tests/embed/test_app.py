"""The embed service as a real process: its answers, its limits, and what it refuses."""

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import httpx
import numpy as np
import pytest

from passageway_embed.app import MAX_BODY_BYTES, MAX_TEXTS
from passageway_embed.onnx import OnnxModel

Eventually = Callable[[Callable[[], bool]], None]


class Service(Protocol):
    """A started embed service."""

    url: str
    port: int


LONG = "The keeper climbs the stairs every evening and lights the lamp before the sun is gone. " * 20


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as client:
        yield client


def passages_waiting(client: httpx.Client) -> int:
    return int(client.get("/info").json()["waiting"]["passages"])


class Bulk:
    """A request of as many passages as fit, sent without waiting for its answer."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"kind": "passage", "texts": [LONG] * MAX_TEXTS})
        self._connection.request("POST", "/embed", body, {"Content-Type": "application/json"})

    def leave(self) -> None:
        """Close the connection without having read anything."""
        self._connection.close()


@pytest.fixture
def bulk(service: Service, client: httpx.Client, eventually: Eventually) -> Iterator[Bulk]:
    """A service that is full of passages."""
    request = Bulk(service.port)
    eventually(lambda: passages_waiting(client) == MAX_TEXTS)
    yield request
    request.leave()
    eventually(lambda: passages_waiting(client) == 0)


def test_health_and_info_name_the_model(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok", "name": "multilingual-e5-small-q4", "dimension": 384}
    assert client.get("/info").json() == {
        "name": "multilingual-e5-small-q4",
        "dimension": 384,
        "min_similarity": 0.845,
        "provider": "CPUExecutionProvider",
        "waiting": {"questions": 0, "passages": 0},
    }


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_vectors_arrive_as_little_endian_numbers_with_their_shape(
    client: httpx.Client, model: OnnxModel, kind: Any
) -> None:
    texts = ["tea", "Überraschung", "灯台守"]

    answer = client.post("/embed", json={"kind": kind, "texts": texts})

    assert answer.headers["content-type"] == "application/octet-stream"
    assert (answer.headers["x-rows"], answer.headers["x-dimension"]) == ("3", "384")
    assert answer.headers["x-model"] == "multilingual-e5-small-q4"
    assert np.array_equal(np.frombuffer(answer.content, "<f4").reshape(3, 384), model.vectors(texts, kind))


def test_no_texts_are_an_empty_answer(client: httpx.Client) -> None:
    answer = client.post("/embed", json={"kind": "passage", "texts": []})

    assert (answer.status_code, answer.content) == (200, b"")
    assert (answer.headers["x-rows"], answer.headers["x-dimension"]) == ("0", "384")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b'{"kind": "query", "texts": ["\\ud800"]}', "not JSON"),
        (b'{"kind": "question", "texts": []}', "kind"),
        (b'{"kind": "query"}', "texts"),
        (b'{"kind": "query", "texts": "tea"}', "texts"),
        (b'{"kind": "query", "texts": [7]}', "texts.0"),
        (b"[]", "body"),
        (json.dumps({"kind": "query", "texts": ["x"] * (MAX_TEXTS + 1)}).encode(), "texts"),
    ],
)
def test_a_wrong_request_is_refused_with_what_is_wrong(client: httpx.Client, body: bytes, said: str) -> None:
    answer = client.post("/embed", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_a_body_over_the_limit_is_refused(client: httpx.Client) -> None:
    answer = client.post("/embed", content=b" " * (MAX_BODY_BYTES + 1), headers={"Content-Type": "application/json"})

    assert answer.status_code == 413
    assert "larger than" in answer.json()["error"]


def test_a_question_of_a_megabyte_is_no_trouble(client: httpx.Client) -> None:
    answer = client.post("/embed", json={"kind": "query", "texts": ["灯" * 350_000]})

    assert answer.status_code == 200
    assert len(answer.content) == 384 * 4


def test_what_a_web_page_could_send_is_refused(client: httpx.Client) -> None:
    body = b'{"kind": "query", "texts": ["tea"]}'

    assert client.post("/embed", content=body, headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.post("/embed", content=body, headers={"Host": "rebound.example.org"}).status_code == 400
    assert client.get("/info", headers={"Host": f"localhost:{client.base_url.port}"}).status_code == 200


def test_there_is_nothing_else_to_ask(client: httpx.Client) -> None:
    assert client.get("/").status_code == 404
    assert client.get("/openapi.json").status_code == 404
    assert client.get("/embed").status_code == 405


def test_a_question_is_answered_while_the_service_is_full_of_passages(bulk: Bulk, client: httpx.Client) -> None:
    answer = client.post("/embed", json={"kind": "query", "texts": ["how do lighthouses warn ships"]})

    assert answer.status_code == 200
    assert passages_waiting(client) == MAX_TEXTS


def test_more_passages_than_fit_are_told_to_come_again(bulk: Bulk, client: httpx.Client) -> None:
    answer = client.post("/embed", json={"kind": "passage", "texts": ["tea"]})

    assert answer.status_code == 503
    assert float(answer.headers["retry-after"]) > 0
    assert f"{MAX_TEXTS} texts are waiting" in answer.json()["error"]


def test_the_work_of_a_caller_that_left_is_dropped(
    bulk: Bulk, client: httpx.Client, eventually: Eventually, model: OnnxModel
) -> None:
    bulk.leave()

    eventually(lambda: passages_waiting(client) == 0)
    answer = client.post("/embed", json={"kind": "passage", "texts": ["tea"]})

    assert np.array_equal(np.frombuffer(answer.content, "<f4"), model.vector("tea", "passage"))
