from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from passageway_sdk.web.testing import Answer, LocalServer, Request


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    now_s: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    def now(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Request], Answer]], LocalServer]]:
    servers: list[LocalServer] = []

    def start(answer: Callable[[Request], Answer]) -> LocalServer:
        servers.append(LocalServer(answer).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__(None, None, None)
