"""The embedder killed a hundred times at random, while a source is built and people ask.

No wrong vector is stored, no question is answered as silence, and all recovers. With PASSAGEWAY_TEST_KILLS=100 also
with the default model and `passageway embed` started from nothing each time, which takes some minutes.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder
from passageway_embed.engine import Engine
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel

HERE = Path(__file__).parent
KILLS = 100
THOROUGH_KILLS = int(os.environ.get("PASSAGEWAY_TEST_KILLS", "0"))
PAUSE_S = 0.02

Eventually = Callable[..., Any]

pytestmark = pytest.mark.timeout(600)


class Service:
    """`passageway embed`, forked from a process that has loaded it, so that a hundred starts take no minutes."""

    def __init__(self, machine: Any) -> None:
        self._log = machine.home / "embed.log"
        self._environment = machine.environment
        self.number = 0

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._forks = subprocess.Popen(
                [sys.executable, str(HERE / "forks.py")], env=self._environment, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, signal.SIGKILL)
        self._forks.communicate(timeout=30)

    def start(self) -> None:
        self.number = self._told("start")

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Its exit status, once it is gone."""
        os.kill(self.number, number)
        return self._told("wait")

    def _told(self, word: str) -> int:
        assert self._forks.stdin is not None and self._forks.stdout is not None
        self._forks.stdin.write(word + "\n")
        return int(self._forks.stdout.readline())


def kill_program_of(parent: int, eventually: Eventually, chance: random.Random) -> None:
    """Kill the embedder program that this process runs, at a moment that nobody knows."""
    program = eventually(lambda: program_of(parent), "the embedder's program")
    pause(chance.uniform(0, 0.25))
    with contextlib.suppress(psutil.NoSuchProcess):
        program.kill()
        eventually(lambda: not program.is_running() or program.status() == psutil.STATUS_ZOMBIE, "its end")


def program_of(parent: int) -> psutil.Process | None:
    try:
        children = psutil.Process(parent).children()
        return next((child for child in children if "stems.py" in " ".join(child.cmdline())), None)
    except psutil.Error:
        return None


def pause(seconds: float) -> None:
    """Let whatever runs run on, so that nobody knows what the next kill meets."""
    threading.Event().wait(seconds)


def kill_while_building(
    machine: Any, kill: Callable[[], None], models: Mapping[str, Embedder], kills: int = KILLS
) -> None:
    """Kill that many times; there is always something to build, and now and then what is stored is looked at."""
    for number in range(kills):
        if machine.is_built():
            machine.change_pages()
        kill()
        if number % 25 == 0:
            assert machine.wrong_vectors(models) == []


def check_recovery(machine: Any, asking: Any, models: Mapping[str, Embedder], eventually: Eventually) -> None:
    """All is built, every vector is right, and every question is answered by meaning."""
    assert machine.stored()["pages"], "nothing was built between the kills"
    machine.change_pages()
    eventually(lambda: machine.is_built() and machine.is_well(), "recovery")
    assert machine.wrong_vectors(models) == []
    assert machine.stored() == {"facts": machine.facts, "pages": 2 * machine.pages}
    assert asking.ask_all() == {"found": machine.facts}


@pytest.fixture
def models(stems: Callable[..., Any]) -> Iterator[dict[str, Embedder]]:
    """Both models of word stems, for what their vectors should be."""
    with contextlib.ExitStack() as stack:
        made: dict[str, Embedder] = {}
        for name in ("first", "second"):
            command, env = stems(name, 0)
            made[name] = stack.enter_context(
                contextlib.closing(CommandEmbedder(name, command, env=env, min_similarity=0.4))
            )
        yield made


def test_an_embed_service_killed_a_hundred_times_stores_nothing_wrong_and_is_never_taken_for_silence(
    make_machine: Callable[..., Any], models: dict[str, Embedder], stems: Callable[..., Any], eventually: Eventually
) -> None:
    """The service, its program, or both; and now and then another model is there when it is back."""
    machine = make_machine()
    machine.configure(*stems("first", PAUSE_S))
    url = f"http://127.0.0.1:{machine.embed_port}"
    chance = random.Random(5)
    with Service(machine) as service:
        machine.start("sync")
        machine.start("query")
        eventually(machine.is_well, "the facts to be there")

        def kill() -> None:
            if chance.random() < 0.7:  # else it dies as it starts
                eventually(lambda: machine.answers(url), "the embed service")
            if chance.random() < 0.3:
                kill_program_of(service.number, eventually, chance)
                return
            pause(chance.uniform(0, 0.25))
            service.end()
            machine.configure(*stems(chance.choice(("first",) * 9 + ("second",)), PAUSE_S))
            pause(chance.choice((0, 0, 0.2)))
            service.start()

        with machine.asking() as asking:
            kill_while_building(machine, kill, models)
            service.end()
            machine.configure(*stems("first", 0))
            service.start()
            check_recovery(machine, asking, models, eventually)
        assert asking.silences == []
        assert asking.heard["error"] and asking.heard["found"]
        assert machine.stop() == {"sync": 0, "query": 0}
        assert service.end(signal.SIGTERM) == 0


def test_an_embedder_program_killed_a_hundred_times_stores_nothing_wrong_and_is_never_taken_for_silence(
    make_machine: Callable[..., Any], models: dict[str, Embedder], stems: Callable[..., Any], eventually: Eventually
) -> None:
    """All in one process, which starts the program again by itself."""
    machine = make_machine()
    machine.configure(*stems("first", PAUSE_S))
    chance = random.Random(6)
    machine.start("all")
    eventually(machine.is_well, "the facts to be there")
    parent = machine.processes["all"].pid
    with machine.asking() as asking:
        kill_while_building(machine, lambda: kill_program_of(parent, eventually, chance), models)
        check_recovery(machine, asking, models, eventually)
    assert asking.silences == []
    assert asking.heard["found"]
    assert machine.stop() == {"all": 0}


@pytest.mark.skipif(not THOROUGH_KILLS, reason="takes minutes; PASSAGEWAY_TEST_KILLS=100 runs it")
@pytest.mark.timeout(3600)
def test_the_default_model_killed_as_often_stores_nothing_wrong_and_is_never_taken_for_silence(
    make_machine: Callable[..., Any], model_files: ModelFiles, eventually: Eventually
) -> None:
    machine = make_machine(PASSAGEWAY_MODEL_DIR=str(model_files.folder), PASSAGEWAY_EMBED_WORKERS="2")
    machine.configure(None, {})
    chance = random.Random(7)
    for role in ("embed", "sync", "query"):
        machine.start(role)
    eventually(machine.is_well, "the facts to be there")
    url = f"http://127.0.0.1:{machine.embed_port}"

    def kill() -> None:
        if chance.random() < 0.8:
            eventually(lambda: machine.answers(url), "the embed service")
        if chance.random() < 0.3:  # now and then it gets something done, however slow the machine is
            before = machine.stored()
            eventually(lambda: machine.stored() != before or machine.is_built(), "progress")
        pause(chance.uniform(0, 1))
        machine.processes["embed"].kill()
        machine.processes["embed"].wait(10)
        machine.start("embed")

    with contextlib.closing(Engine(OnnxModel(model_files))) as engine, machine.asking() as asking:
        models = {engine.info().name: engine}
        kill_while_building(machine, kill, models, THOROUGH_KILLS)
        check_recovery(machine, asking, models, eventually)
    assert asking.silences == []
    assert asking.heard["error"] and asking.heard["found"]
    assert machine.stop() == {"embed": 0, "sync": 0, "query": 0}
