"""A machine with two notes, a connector that reads them and a toy model, and the program that runs on it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
PASSWORD = "correct horse battery"
Environment = dict[str, str]
Running = Callable[[Environment], AbstractContextManager[Path]]


def config_of(folder: Path) -> str:
    return f"""
[[connector]]
name = "notes"
command = ["{sys.executable}", "{EXAMPLES / "folder_connector.py"}"]
env = {{ FOLDER = "{folder}" }}

[embedder]
kind = "command"
command = ["{sys.executable}", "{EXAMPLES / "letters_embedder.py"}"]
min_similarity = 0.3
"""


@pytest.fixture
def environment(tmp_path: Path, unused_port: Callable[[], int]) -> Environment:
    """A machine with two notes, a connector that reads them and a toy model; nothing runs."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.txt").write_text("Green tea steeps at eighty degrees.", encoding="utf-8")
    (notes / "bread.txt").write_text("The oven has to be hot before the bread goes in.", encoding="utf-8")
    config = tmp_path / "passageway.toml"
    config.write_text(config_of(notes), encoding="utf-8")
    password = tmp_path / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    password.chmod(0o600)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PASSAGEWAY_CONFIG": str(config),
        "PASSAGEWAY_DATA_DIR": str(tmp_path / "data"),
        "PASSAGEWAY_LOGIN_PASSWORD_FILE": str(password),
        "PASSAGEWAY_PORT": str(unused_port()),
        "PASSAGEWAY_EMBED_PORT": str(unused_port()),
    }


@pytest.fixture
def running() -> Running:
    """`with running(environment) as log:` the program runs."""
    return _running


@contextlib.contextmanager
def _running(environment: Environment) -> Iterator[Path]:
    """The program in that environment, until the block ends; entered once both notes are indexed. Gives the log."""
    log = Path(environment["HOME"]) / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "passageway_cli"], env=environment, stdin=subprocess.DEVNULL, stderr=output
        )
    try:
        health = f"http://127.0.0.1:{environment['PASSAGEWAY_PORT']}/health"
        deadline = time.monotonic() + 60
        while not _indexed(health):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text(encoding="utf-8")
            time.sleep(0.05)
        yield log
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def _indexed(url: str) -> bool:
    try:
        report = httpx.get(url, trust_env=False).json()
    except httpx.HTTPError:
        return False
    return bool(report["status"] == "ok" and report["sources"][0]["items"] == 2)
