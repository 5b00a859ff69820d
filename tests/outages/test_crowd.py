"""A thousand questions at once: all are answered or told to come again, none is lost, and memory stays bounded."""

import asyncio
import contextlib
import resource
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import httpx
import numpy as np
import psutil
import pytest

from passageway.embed_command import CommandEmbedder

CROWD = 1000
DESCRIPTORS = 1024
"""What most systems let a process have open until it asks for more."""

MEMORY_BYTES = 250 * 2**20
"""What a thousand requests that wait may cost: a quarter of a megabyte each."""

Eventually = Callable[..., Any]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _descriptors() -> Iterator[None]:
    """A thousand connections for this end of them; the program is held to its own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * CROWD)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Memory:
    """How much more a process took in the block than before it, at the most."""

    def __init__(self, number: int) -> None:
        self._process = psutil.Process(number)
        self._before = self._process.memory_info().rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.grown_bytes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.grown_bytes = max(self.grown_bytes, self._process.memory_info().rss - self._before)


async def at_once(
    url: str, messages: Sequence[Mapping[str, Any]], headers: Mapping[str, str] | None = None
) -> list[httpx.Response]:
    """The answers to all messages in their order, each over a connection of its own, all under way together."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(trust_env=False, timeout=240, limits=limits, headers=headers) as client:
        return await asyncio.gather(*(client.post(url, json=message) for message in messages))


def refused(answer: httpx.Response) -> bool:
    """Whether it was told to come again, and when."""
    return answer.status_code == 503 and float(answer.headers["Retry-After"]) > 0


@pytest.mark.anyio
@pytest.mark.parametrize("texts", [1, 4], ids=["as many as have room", "four times as many as have room"])
async def test_the_embed_service_answers_or_refuses_each_of_a_thousand(
    make_machine: Callable[..., Any], stems: Callable[..., Any], eventually: Eventually, texts: int
) -> None:
    machine = make_machine()
    command, env = stems("first", 0)
    machine.configure(command, env)
    machine.start("embed", descriptors=DESCRIPTORS)
    url = f"http://127.0.0.1:{machine.embed_port}"
    eventually(lambda: machine.answers(url), "the embed service")
    questions = [[f"lantern number{n} text{k}" for k in range(texts)] for n in range(CROWD)]

    with Memory(machine.processes["embed"].pid) as memory:
        answers = await at_once(f"{url}/embed", [{"kind": "query", "texts": question} for question in questions])

    with contextlib.closing(CommandEmbedder("stems", command, env=env, min_similarity=0.4)) as embedder:
        expected = [embedder.embed(question, "query") for question in questions]
    told = Counter(answer.status_code for answer in answers)
    assert sum(told.values()) == CROWD
    for answer, rows in zip(answers, expected, strict=True):
        assert refused(answer) or np.array_equal(np.frombuffer(answer.content, "<f4").reshape(rows.shape), rows)
    assert told[200] and (told[503] > 0) == (texts > 1)
    assert memory.grown_bytes < MEMORY_BYTES
    assert machine.stop() == {"embed": 0}


@pytest.mark.anyio
@pytest.mark.parametrize("roles", [("all",), ("embed", "sync", "query")], ids=["one process", "three processes"])
async def test_the_program_answers_or_refuses_each_of_a_thousand(
    make_machine: Callable[..., Any], stems: Callable[..., Any], eventually: Eventually, roles: tuple[str, ...]
) -> None:
    machine = make_machine(PASSAGEWAY_RECONCILE_SECONDS="60", PASSAGEWAY_POLL_SECONDS="60")
    machine.configure(*stems("first", 0))
    for role in roles:
        machine.start(role, descriptors=DESCRIPTORS)
    eventually(machine.is_well, "the facts to be there")
    titles = [machine.titles[n % machine.facts] for n in range(CROWD)]
    questions = [machine.question(title) for title in titles]

    with Memory(machine.processes[roles[-1]].pid) as memory:
        answers = await at_once(machine.url, questions, machine.headers)

    told = Counter(
        "refused" if refused(answer) else machine.heard(answer, title)
        for answer, title in zip(answers, titles, strict=True)
    )
    assert sum(told.values()) == CROWD
    assert set(told) <= {"found", "refused"}, told
    assert told["found"]
    assert memory.grown_bytes < MEMORY_BYTES
    assert machine.stop() == dict.fromkeys(roles, 0)
