"""`passageway recall` in a terminal and in a pipe: what it prints, what it refuses, what it keeps to itself."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

Environment = dict[str, str]
Running = Callable[[Environment], AbstractContextManager[Path]]


def recall(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "passageway_cli", "recall", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=60)


@pytest.fixture
def indexed(environment: Environment, running: Running) -> Iterator[Environment]:
    """The machine with both notes indexed; the server has ended."""
    with running(environment):
        pass
    yield environment


def test_a_question_gets_its_passage_and_nothing_else_is_said(indexed: Environment) -> None:
    done = recall(indexed, "how", "hot", "is", "green", "tea")
    assert done.returncode == 0
    assert "Green tea steeps at eighty degrees." in done.stdout
    assert done.stderr == ""


def test_json_is_named_as_at_the_other_doors(indexed: Environment) -> None:
    answer = json.loads(recall(indexed, "--json", "how hot is green tea").stdout)
    assert answer["hits"][0]["id"] == "tea.txt"
    assert (answer["silence"], answer["words_only"], answer["problems"]) == (None, None, [])
    assert "keyword_only" not in answer


def test_a_silence_says_what_it_means(indexed: Environment) -> None:
    done = recall(indexed, "zebra quagga")
    assert done.returncode == 0
    assert "Nothing: below the gate. No passage comes close enough" in done.stdout


def test_before_anything_is_indexed_it_says_where_to_name_a_source(environment: Environment) -> None:
    done = recall(environment, "how hot is green tea")
    assert "Nothing: nothing indexed." in done.stdout
    assert environment["PASSAGEWAY_CONFIG"] in done.stdout


def test_why_prints_whole_cells_where_there_is_no_terminal(indexed: Environment, tmp_path: Path) -> None:
    done = recall({**indexed, "COLUMNS": "40"}, "--why", "green tea")
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index("Score") :]
    assert "…" not in table
    assert "tea (notes)" in table and "below the gate" in table


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--updated-after", "yesterday"), "--updated-after is 'yesterday', expected a date such as"),
        (("--source", "wiki"), "no source is named 'wiki'; there is notes"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(indexed: Environment, words: tuple[str, str], message: str) -> None:
    done = recall(indexed, *words, "green tea")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_searched_is_named(indexed: Environment) -> None:
    Path(indexed["PASSAGEWAY_DATA_DIR"], "other.db").write_bytes(b"no database at all, but long enough" * 100)
    done = recall(indexed, "how hot is green tea")
    assert "eighty degrees" in done.stdout
    assert "Not searched: other: " in done.stdout
