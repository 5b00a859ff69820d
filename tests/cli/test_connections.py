"""What a connection may cost: it is closed when no request comes of it, and when a request is of two lengths."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from passageway_cli.connections import Connection

PATIENCE_S = 0.4
LARGE_BYTES = 30_000_000
"""More than the system keeps for a client that does not read."""
ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Impatient(Connection):
    head_timeout_s = PATIENCE_S
    most = staticmethod(lambda: 20)


async def told(request: Request) -> PlainTextResponse:
    body = await request.body()
    return PlainTextResponse(f"told {len(body)}")


async def large(_: Request) -> PlainTextResponse:
    return PlainTextResponse(b"x" * LARGE_BYTES)


async def refused(_: Request) -> PlainTextResponse:
    return PlainTextResponse("refused before it was read", 401)


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    """The address of a server that waits less long than the real one."""
    routes = [
        Route("/", told, methods=["GET", "POST"]),
        Route("/unread", refused, methods=["POST"]),
        Route("/large", large),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), http=Impatient, ws="none", log_config=None, lifespan="off", timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(20)


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=20) as connection:
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """Everything until the server closes; TimeoutError when it does not."""
    received = bytearray()
    while chunk := connection.recv(65536):
        received += chunk
    return bytes(received)


def answer(connection: socket.socket) -> bytes:
    received = b""
    while b"told" not in received:
        received += connection.recv(65536)
    return received


@pytest.mark.parametrize("start", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_a_client_that_never_finishes_its_request_is_let_go(server: tuple[str, int], start: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(start)
        assert rest_of(connection) == b""


def test_a_head_that_trickles_in_wins_no_time_by_it(server: tuple[str, int]) -> None:
    began = time.monotonic()
    with connected(server) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        while time.monotonic() - began < 20:
            connection.sendall(b"X-A: a\r\n")
            threading.Event().wait(PATIENCE_S / 10)
    assert time.monotonic() - began < 10


def test_a_body_that_trickles_in_after_the_answer_wins_no_time_by_it(server: tuple[str, int]) -> None:
    began = time.monotonic()
    with connected(server) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        while time.monotonic() - began < 20:
            connection.sendall(b"a")
            threading.Event().wait(PATIENCE_S / 10)
    assert time.monotonic() - began < 10


def test_a_client_that_does_not_read_its_answer_is_let_go(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(ASKED.replace(b"/", b"/large", 1))
        threading.Event().wait(4 * PATIENCE_S)
        with pytest.raises(ConnectionError):
            assert len(rest_of(connection)) < LARGE_BYTES
            raise ConnectionError


def test_a_client_that_reads_an_answer_bit_by_bit_is_given_all_of_it(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(ASKED.replace(b"/", b"/large", 1))
        received = 0
        while chunk := connection.recv(400_000):
            received += len(chunk)
            threading.Event().wait(PATIENCE_S / 20)
            if received >= LARGE_BYTES:
                return
    pytest.fail(f"the answer ended after {received:,} bytes")


def test_a_kept_connection_is_let_go_when_no_further_request_comes(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(ASKED)
        assert b"told 0" in answer(connection)
        connection.sendall(b"GET / HT")
        assert rest_of(connection) == b""


def test_requests_one_after_another_are_answered_for_longer_than_one_may_take(server: tuple[str, int]) -> None:
    began = time.monotonic()
    with connected(server) as connection:
        while time.monotonic() - began < 3 * PATIENCE_S:
            connection.sendall(ASKED)
            assert b"200 OK" in answer(connection)


def test_two_requests_sent_at_once_are_both_answered(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(ASKED + ASKED)
        assert rest_of(connection).count(b"told 0") == 2


def test_a_request_may_take_longer_than_its_head(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
        threading.Event().wait(2 * PATIENCE_S)
        connection.sendall(b"b")
        assert b"told 2" in answer(connection)


def test_a_request_of_two_lengths_is_the_last_of_its_connection(server: tuple[str, int]) -> None:
    with connected(server) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 33\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + ASKED
        )
        assert rest_of(connection).count(b"HTTP/1.1") == 1


def test_an_upgrade_is_passed_over_without_a_word(server: tuple[str, int], caplog: pytest.LogCaptureFixture) -> None:
    with connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert b"200 OK" in answer(connection)
    assert not [record for record in caplog.records if "pgrade" in record.getMessage()]


def test_clients_that_only_connect_keep_nobody_out(server: tuple[str, int]) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connected(server)).sendall(b"GET / HT")
        connection = stack.enter_context(connected(server))
        connection.sendall(ASKED)
        assert b"told 0" in answer(connection)


def test_a_request_that_is_being_answered_makes_no_room_for_others(server: tuple[str, int]) -> None:
    with ExitStack() as stack:
        asking = stack.enter_context(connected(server))
        asking.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert asking.recv(100).startswith(b"HTTP/1.1 100")
        for _ in range(100):
            stack.enter_context(connected(server))
        asking.sendall(b"ab")
        assert b"told 2" in answer(asking)


def test_there_are_fewer_connections_where_the_system_allows_fewer_files() -> None:
    program = """
import resource, sys
from passageway_cli.connections import allow_files, most_connections
resource.setrlimit(resource.RLIMIT_NOFILE, (256, int(sys.argv[1])))
allow_files()
print(most_connections())
"""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    assert run([sys.executable, "-c", program, "256"]).stdout == "104\n"
    assert run([sys.executable, "-c", program, "4096"]).stdout == "2000\n"
