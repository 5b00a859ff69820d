"""`POST /recall`: what a prompt hook gets, and that it never costs a prompt more than a second."""

import contextlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway_query.answer import Question
from passageway_query.search import Search

QUESTION = "When do we rotate the signing certificate?"


def ask(client: httpx.Client, prompt: object, auth: dict[str, str], **more: object) -> dict[str, Any]:
    reply = client.post("/recall", headers=auth, json={"prompt": prompt, "session_id": "s1", "cwd": "/home/a", **more})
    assert reply.status_code == 200
    answer: dict[str, Any] = reply.json()
    return answer


@pytest.fixture
def search(data_dir: Path, embedder: Any) -> Iterator[Search]:
    """The same index without a door."""
    search = Search(data_dir, embedder)
    yield search
    search.close()


def test_a_question_gets_its_passages_as_context_and_as_hits(client: httpx.Client, auth: dict[str, str]) -> None:
    answer = ask(client, QUESTION, auth)
    assert answer["hits"][0]["id"] == "notes/ops/certificates.md"
    assert answer["hits"][0]["url"] == "https://notes.example/certificates"
    assert "every March" in answer["context"]
    assert "https://notes.example/certificates" in answer["context"]
    assert "never instructions" in answer["context"]
    assert "reason" not in answer


def test_what_shares_three_chance_words_is_found_when_asked_for_and_not_added_unasked(
    client: httpx.Client, auth: dict[str, str], search: Any
) -> None:
    prompt = (
        "The build prints customers, goods and delivery twenty times: refactor the logging module, rename the helper "
        "functions, bump the dependency, regenerate the snapshot files and open a pull request against the branch"
    )
    assert search.ask(Question(prompt)).hits[0].id == "shop/returns.md"
    assert ask(client, prompt, auth)["reason"] == "below the gate"


def test_a_session_is_not_shown_the_same_item_twice(client: httpx.Client, auth: dict[str, str]) -> None:
    first = {hit["id"] for hit in ask(client, QUESTION, auth)["hits"]}
    again = {hit["id"] for hit in ask(client, QUESTION, auth)["hits"]}
    assert "notes/ops/certificates.md" in first
    assert not first & again
    other = ask(client, QUESTION, auth, session_id="s2")
    assert other["hits"][0]["id"] == "notes/ops/certificates.md"


def test_a_prompt_whose_passages_the_session_has_seen_says_so(client: httpx.Client, auth: dict[str, str]) -> None:
    reasons = [ask(client, QUESTION, auth).get("reason") for _ in range(4)]
    assert reasons[0] is None
    assert reasons[-1] == "shown before"


def test_without_a_session_every_prompt_stands_alone(standing: httpx.Client, auth: dict[str, str]) -> None:
    for _ in range(2):
        answer = ask(standing, QUESTION, auth, session_id=None, cwd=None)
        assert answer["hits"][0]["id"] == "notes/ops/certificates.md"


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("/compact", "a command"),
        ("ok", "no word that names a subject"),
        ("danke, mach weiter", "no word that names a subject"),
        ("", "empty"),
        ("ok thanks", "no word that names a subject"),
        ("continue", "no word that names a subject"),
        ("please do the same for the other one", "no word that names a subject"),
        ("who won the match yesterday?", "below the gate"),
        ("fix the failing test in utils.py", "below the gate"),
    ],
)
def test_nothing_is_added_and_the_reason_is_given(
    standing: httpx.Client, auth: dict[str, str], prompt: str, reason: str
) -> None:
    answer = ask(standing, prompt, auth)
    assert answer["context"] == ""
    assert answer["hits"] == []
    assert answer["reason"] == reason


def test_a_huge_prompt_is_answered_by_its_start(standing: httpx.Client, auth: dict[str, str]) -> None:
    answer = ask(standing, QUESTION + " " + "x" * 900_000, auth)
    assert answer["took_ms"] < 3000


def test_a_body_over_a_mebibyte_is_413_declared_or_not(standing: httpx.Client, auth: dict[str, str]) -> None:
    body = json.dumps({"prompt": "x" * 1_100_000}).encode()
    assert standing.post("/recall", headers=auth, content=body).status_code == 413
    chunks = (body[start : start + 65536] for start in range(0, len(body), 65536))
    assert standing.post("/recall", headers=auth, content=chunks).status_code == 413


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "'prompt' is missing"),
        (b'{"prompt": null}', "'prompt' is missing"),
        (b'{"prompt": 5}', "'prompt' is not a string"),
        (b'{"prompt": ["a"]}', "'prompt' is not a string"),
        (b'{"prompt": "a", "session_id": 5}', "'session_id' is not a string"),
        (b'{"prompt": "a", "cwd": {}}', "'cwd' is not a string"),
    ],
)
def test_a_bad_body_is_a_400_that_says_what_is_wrong(
    standing: httpx.Client, auth: dict[str, str], body: bytes, message: str
) -> None:
    reply = standing.post("/recall", headers=auth, content=body)
    assert reply.status_code == 400
    assert message in reply.json()["message"]


@pytest.mark.parametrize(
    "prompt",
    ['"rotate" NEAR(certificate', "col:signing AND OR NOT *", "certificate \x00 signing", "😀" * 50, "-- ; DROP"],
)
def test_any_text_is_a_valid_prompt(standing: httpx.Client, auth: dict[str, str], prompt: str) -> None:
    assert "took_ms" in ask(standing, prompt, auth)


def test_half_a_character_at_the_end_of_a_cut_prompt_is_taken(standing: httpx.Client, auth: dict[str, str]) -> None:
    body = b'{"prompt": "rotate the signing certificate \\ud83d", "session_id": "\\udc00"}'
    reply = standing.post("/recall", headers=auth, content=body)
    assert reply.status_code == 200
    assert reply.json()["hits"]


def test_an_embedder_that_hangs_costs_less_than_the_second_and_words_still_answer(
    client: httpx.Client, auth: dict[str, str], embedder: Any
) -> None:
    embedder.release.clear()
    try:
        started = time.monotonic()
        answer = ask(client, QUESTION, auth)
        took_s = time.monotonic() - started
    finally:
        embedder.release.set()
    assert took_s < 3
    assert answer.get("words_only") or answer["reason"] == "out of time"


def test_prompts_are_answered_in_time_while_many_searches_hang(
    client: httpx.Client, auth: dict[str, str], embedder: Any
) -> None:
    embedder.release.clear()
    try:
        for _ in range(10):
            started = time.monotonic()
            ask(client, QUESTION, auth, session_id="")
            assert time.monotonic() - started < 3
    finally:
        embedder.release.set()


def test_an_embedder_that_fails_costs_no_prompt(client: httpx.Client, auth: dict[str, str], embedder: Any) -> None:
    embedder.failure = "gone"
    answer = ask(client, QUESTION, auth)
    assert answer.get("words_only") or answer["reason"] == "the search failed"


def test_a_missing_or_broken_index_costs_no_prompt(
    serve: Callable[..., str], auth: dict[str, str], data_dir: Any
) -> None:
    with httpx.Client(base_url=serve()) as client:
        assert ask(client, QUESTION, auth)["reason"] == "nothing indexed"
        (data_dir / "notes.db").write_bytes(b"no database")
        assert ask(client, QUESTION, auth)["context"] == ""


def test_a_locked_index_costs_no_prompt(
    build: Callable[..., None], serve: Callable[..., str], auth: dict[str, str], data_dir: Any
) -> None:
    build()
    other = contextlib.closing(sqlite3.connect(data_dir / "notes.db", isolation_level=None))
    with httpx.Client(base_url=serve()) as client, other as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        answer = ask(client, QUESTION, auth)
        assert answer["context"] == "" and answer["reason"] in ("out of time", "a source is failing")
        assert time.monotonic() - started < 2


def test_the_log_has_a_line_a_prompt_and_nothing_of_its_text(
    client: httpx.Client, auth: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(client, "When do we rotate the xylophone-certificate?", auth)
    lines = [record.getMessage() for record in caplog.records if record.name == "passageway_query.hook"]
    assert len(lines) == 1
    assert lines[0].startswith("hook: ")
    assert "xylophone" not in caplog.text
    assert "March" not in caplog.text


def test_words_of_the_working_directory_lift_what_belongs_to_it(
    build: Callable[..., None], serve: Callable[..., str], auth: dict[str, str], items: list[Any]
) -> None:
    build()
    with httpx.Client(base_url=serve()) as client:
        answer = ask(client, "rotate the signing certificate", auth, cwd="/home/you/work/security")
    assert answer["hits"][0]["id"] == "notes/ops/certificates.md"
