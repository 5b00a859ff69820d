"""`passageway status`: what a person reads of a server that is well, unwell, empty, or not passageway at all."""

import io
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from passageway_cli.status import ago, print_report

Environment = dict[str, str]
Running = Callable[[Environment], AbstractContextManager[Path]]


def status(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "passageway_cli", "status", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=60)


def printed(report: dict[str, Any]) -> str:
    output = io.StringIO()
    print_report(report, Console(file=output, width=40, highlight=False, soft_wrap=True))
    return output.getvalue()


def source(**facts: Any) -> dict[str, Any]:
    return {"name": "notes", "state": "ok", "items": 1812, "sections": 9, "last_success_age_s": 125, **facts}


def test_a_server_that_is_well_shows_its_source_its_model_and_its_sync(
    environment: Environment, running: Running
) -> None:
    with running(environment):
        done = status(environment)
        whole = status(environment, "--json")
    assert done.returncode == 0, done.stderr
    first, head, row, model, sync = done.stdout.splitlines()
    assert first.startswith("ok  passageway ")
    assert head.split() == ["Source", "State", "Items", "Sections", "Synced"]
    assert row.split()[:4] == ["notes", "ok", "2", "2"]
    assert model.startswith("embedder: ok letters-")
    assert sync == "sync: running"
    assert json.loads(whole.stdout)["errors_shown"] is True


def test_errors_stand_below_the_table_each_whole() -> None:
    error = "connector 'notes': check: ended with exit status 2: FOLDER is '/srv/notes', which does not exist"
    report = {
        "status": "degraded",
        "errors_shown": True,
        "sources": [source(state="failing", error=error), source(name="wiki", fetched=120, of=1800, items=0)],
        "embedder": {"state": "failing", "error": "the program ended"},
        "sync": {"state": "running"},
    }
    text = printed(report)
    assert f"\nnotes: {error}\n" in text
    assert "\nembedder: the program ended\n" in text
    assert "120 of 1,800 read" in text
    assert "1,812" in text and "2 min ago" in text


def test_what_is_out_of_step_is_remarked() -> None:
    text = printed({"status": "ok", "sources": [source(vectors_current=False, configured=False)]})
    assert "vectors of another model, found by words only, no longer configured" in text


def test_without_the_password_it_says_how_to_see_the_errors() -> None:
    text = printed({"status": "degraded", "errors_shown": False, "sources": [source(state="failing")]})
    assert "PASSAGEWAY_LOGIN_PASSWORD_FILE" in text


def test_a_server_without_sources_says_where_to_add_one() -> None:
    assert "add a [[connector]] to passageway.toml" in printed({"status": "ok", "sources": []})


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7300, "2 h ago"), (200_000, "2 d ago")]
)
def test_an_age_is_told_in_its_largest_unit(seconds: int, text: str) -> None:
    assert ago(seconds) == text


@pytest.fixture
def stranger() -> Iterator[int]:
    """The port of a web server that is not ours."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        ended = threading.Event()

        def answer() -> None:
            listener.settimeout(0.1)
            while not ended.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\nnope!")

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        ended.set()
        thread.join()


def test_another_program_on_the_port_is_not_taken_for_passageway(environment: Environment, stranger: int) -> None:
    done = status(environment | {"PASSAGEWAY_PORT": str(stranger)})
    assert done.returncode == 1
    assert "is not passageway; PASSAGEWAY_PORT says where" in done.stderr
