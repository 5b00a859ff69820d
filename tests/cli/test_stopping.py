"""SIGTERM and SIGINT at every stage of the real program: exit code 0, soon, whatever hangs."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section
from passageway_cli.signals import LEAVE_S

PASSWORD = "correct horse battery staple"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def mute_service() -> Iterator[socket.socket]:
    """An embed service that accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


@pytest.fixture
def start(tmp_path: Path, mute_service: socket.socket) -> Iterator[Start]:
    """Starts a role of the program on one source, its log in `<role>.log`; its embed service is the mute one."""
    (tmp_path / "items.json").write_text(
        json.dumps(
            [{"id": "a", "title": "Tide", "url": "", "version": "1", "sections": [{"heading": None, "text": "High"}]}]
        ),
        encoding="utf-8",
    )
    config = tmp_path / "passageway.toml"
    config.write_text(
        f'[[connector]]\nname = "notes"\ncommand = ["{sys.executable}", "-m", "passageway.testing.fake_connector"]\n'
        f'env = {{ FAKE_ITEMS = "{tmp_path / "items.json"}" }}\n',
        encoding="utf-8",
    )
    with contextlib.ExitStack() as stack:

        def start(role: str, **environ: str) -> subprocess.Popen[bytes]:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PASSAGEWAY_CONFIG": str(config),
                "PASSAGEWAY_DATA_DIR": str(tmp_path / "data"),
                "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
                "PASSAGEWAY_EMBED_PORT": str(mute_service.getsockname()[1]),
                **environ,
            }
            log = stack.enter_context((tmp_path / f"{role}.log").open("wb"))
            command = [sys.executable, "-m", "passageway_cli", role]
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            stack.callback(process.wait, 10)
            stack.callback(process.kill)
            return process

        yield start


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        threading.Event().wait(0.02)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stop(process: subprocess.Popen[bytes]) -> None:
    """A SIGTERM, and exit code 0 within a minute."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def store_a_note(path: Path) -> None:
    path.parent.mkdir()
    item = Item("a", "Tide", "", "1", (Section(None, "High tide at noon"),))
    passages = split_item(item)
    with IndexWriter.open(path) as writer:
        writer.use_model("words", 4)
        writer.store([PreparedItem(item, passages, np.full((len(passages), 4), 0.5, np.float32))])


def test_a_sync_that_waits_for_a_hanging_embed_service_ends_soon(start: Start, mute_service: socket.socket) -> None:
    sync = start("sync")
    connection, _ = mute_service.accept()
    with connection:
        stop(sync)


def test_a_question_that_waits_for_a_hanging_embed_service_does_not_keep_the_program(
    start: Start, mute_service: socket.socket, tmp_path: Path
) -> None:
    store_a_note(tmp_path / "data" / "notes.db")
    port = free_port()
    query = start("query", PASSAGEWAY_PORT=str(port))
    until(lambda: listens(port))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/mcp",
        data=json.dumps({**call, "params": {"name": "recall", "arguments": {"query": "high tide"}}}).encode(),
        headers={
            "Authorization": f"Bearer {PASSWORD}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        },
    )

    def ask() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            urllib.request.urlopen(request, timeout=60).close()

    asking = threading.Thread(target=ask)
    asking.start()
    connection, _ = mute_service.accept()
    with connection:
        stop(query)
    asking.join(60)
    # Not because the question was given up after its 30 s, but before.
    assert f"leaving {LEAVE_S} s after the stop" in (tmp_path / "query.log").read_text(encoding="utf-8")


def test_signals_that_go_on_until_the_end_change_nothing(start: Start) -> None:
    port = free_port()
    query = start("query", PASSAGEWAY_PORT=str(port))
    until(lambda: listens(port))
    deadline = time.monotonic() + 60
    while query.poll() is None:
        query.send_signal(signal.SIGTERM)
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    assert query.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("role", ["embed", "sync", "query"])
def test_a_stop_before_anything_runs_ends_with_0(
    start: Start, tmp_path: Path, role: str, number: signal.Signals
) -> None:
    # The configuration is read through a pipe, which holds the program up exactly there.
    (tmp_path / "passageway.toml").unlink()
    os.mkfifo(tmp_path / "passageway.toml")
    process = start(role, PASSAGEWAY_PORT=str(free_port()))
    with (tmp_path / "passageway.toml").open("w"):
        process.send_signal(number)
    # The end of the file frees a read that began in the instant between the signal and Python's look at it.
    assert process.wait(60) == 0
    assert "Traceback" not in (tmp_path / f"{role}.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_an_import_makes_an_error_of_ends_with_0(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    # Most of a start is pydantic making validators, in compiled code that turns what comes in between into its error.
    (tmp_path / "fastapi.py").write_text(
        "import os\n"
        "from pydantic_core import SchemaValidator, core_schema\n"
        "class Interrupted:\n"
        "    def __hash__(self):\n"
        f"        os.kill(os.getpid(), {number.value})\n"
        "        return 1\n"
        "SchemaValidator(core_schema.literal_schema([Interrupted()]))\n",
        encoding="utf-8",
    )
    process = start("query", PYTHONPATH=str(tmp_path))
    assert process.wait(60) == 0
    assert "Traceback" not in (tmp_path / "query.log").read_text(encoding="utf-8")
