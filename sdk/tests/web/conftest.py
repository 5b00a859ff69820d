from collections.abc import Callable, Iterator

import pytest

from passageway_sdk.web.testing import Answer, Clock, LocalServer, Request


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
