"""What the tests of several connectors share: a clock, an embedder that counts, and what a call costs."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from passageway.embed_command import CommandEmbedder
from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway_sdk.web.testing import Clock

WATCHED_CALL = Path(__file__).parents[1] / "benchmarks" / "watched_call.py"
STARTS = 7

# What each of the four network connectors makes of any answer costs 7 ms an example; new ones are drawn in every run.
settings.register_profile("connectors", max_examples=500)
settings.register_profile("thorough", max_examples=10_000)
settings.load_profile("connectors")


@pytest.fixture
def clock() -> Clock:
    return Clock()


class CountingEmbedder:
    """The embedder program of the tests, and the texts it was given since somebody last cleared them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._program = CommandEmbedder("words", [sys.executable, "-m", "passageway.testing.fake_embedder"])

    def info(self) -> EmbedderInfo:
        return self._program.info()

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        self.texts += texts
        return self._program.embed(texts, kind)

    def close(self) -> None:
        self._program.close()


@pytest.fixture(scope="module")
def embedder() -> Iterator[CountingEmbedder]:
    with closing(CountingEmbedder()) as counting:
        yield counting


def _watched(command: Sequence[str], env: Mapping[str, str], ids: Sequence[str] = ()) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, WATCHED_CALL, *command],
        input="".join(json.dumps({"id": item_id}) + "\n" for item_id in ids),
        capture_output=True,
        encoding="utf-8",
        env={"PATH": os.environ["PATH"], **env},
        timeout=200,
        check=True,
    )
    cost: dict[str, Any] = json.loads(result.stdout)
    assert cost["exit_code"] == 0, result.stderr
    return cost


@pytest.fixture
def watched() -> Callable[..., dict[str, Any]]:
    """`watched(command, env, ids)`: the output of a call that succeeded, and its cost as `watched_call.py` names it."""
    return _watched


@pytest.fixture
def bare_starts() -> Callable[..., float]:
    """`bare_starts(command, env)`: processor time of a call, counted in starts of a Python that does nothing.

    Such a start takes 10 ms where nothing else runs; the machine of the tests may have other work.
    """

    def counted(command: Sequence[str], env: Mapping[str, str]) -> float:
        pairs = [
            (_watched(command, env)["cpu_s"], _watched([sys.executable, "-c", "pass"], env)["cpu_s"])
            for _ in range(STARTS)
        ]
        own, bare = map(statistics.median, zip(*pairs, strict=True))
        return own / bare

    return counted
