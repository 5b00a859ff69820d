"""The sockets that the services listen on, and what starts with them."""

import asyncio
import socket
import subprocess
import sys

import pytest

from passageway.errors import SettingsError
from passageway_cli.lifecycle import listen


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_no_answer_waits_for_an_acknowledgement(host: str) -> None:
    if host == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    undelayed: list[int] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        undelayed.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(note, sock=listen(host, 0)) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(host, port)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert undelayed == [1]


def test_a_port_that_is_taken_is_named_with_the_way_to_another() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}.*PASSAGEWAY_PORT"):
            listen("127.0.0.1", port)


LOOKS_FOR_GARBAGE = """
import gc
from passageway_cli.lifecycle import run

async def part(stop):
    print(gc.isenabled(), gc.get_freeze_count() > 0)

gc.disable()
run(part)
"""


def test_garbage_is_looked_for_again_once_the_parts_run() -> None:
    done = subprocess.run([sys.executable, "-c", LOOKS_FOR_GARBAGE], capture_output=True, check=True)
    assert done.stdout.decode().split() == ["True", "True"]
