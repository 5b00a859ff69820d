"""The server's life: what its log says of a start and an end, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path

import httpx
import pytest

Environment = dict[str, str]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_where_it_listens_ends_with_0_at_a_signal_and_leaves_no_process(
    environment: Environment, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "passageway_cli"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    with process.stderr:
        lines = iter(process.stderr.readline, "")
        started = next(line for line in lines if "listening on" in line)
        assert f"listening on http://127.0.0.1:{environment['PASSAGEWAY_PORT']}" in started
        assert httpx.get(started.split()[-1] + "/health", trust_env=False).status_code == 200
        process.send_signal(number)
        rest = list(lines)
    assert process.wait(20) == 0
    assert rest[-1].endswith("passageway_cli.lifecycle: stopped\n")
    assert not [line for line in rest if "uvicorn" in line or "Traceback" in line]
    assert _group_is_gone(process.pid)


def _group_is_gone(group: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_server_without_a_source_says_so_at_its_start(environment: Environment) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    embedder = config.read_text(encoding="utf-8").partition("[embedder]")[2]
    config.write_text(f"[embedder]{embedder}", encoding="utf-8")
    command = [sys.executable, "-m", "passageway_cli"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process.stderr:
        before = list(takewhile(lambda line: "listening on" not in line, iter(process.stderr.readline, "")))
        process.terminate()
        process.stderr.read()
    assert process.wait(20) == 0
    assert [line for line in before if f"nothing to index: add a [[connector]] to {config}" in line]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("PASSAGEWAY_DATA_DIR", "/dev/null/data", "the data folder /dev/null/data cannot be made"),
        ("PASSAGEWAY_HOST", "192.0.2.1", "PASSAGEWAY_HOST has to be an address of this machine"),
    ],
)
@pytest.mark.parametrize("words", [(), ("query",)])
def test_a_place_that_cannot_be_used_is_an_error_of_one_line(
    environment: Environment, words: tuple[str, ...], variable: str, value: str, message: str
) -> None:
    command = [sys.executable, "-m", "passageway_cli", *words]
    done = subprocess.run(command, env=environment | {variable: value}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
