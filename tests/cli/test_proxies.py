"""Who is counted behind a reverse proxy, over real sockets: the client of a proxy that is named, or else the proxy."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "correct horse battery staple"
STRANGER = {"X-Forwarded-For": "198.51.100.1, 203.0.113.7"}
WAIT_S = 60


@pytest.fixture
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """Where `passageway query` listens, started with PASSAGEWAY_TRUSTED_PROXIES as the parameter."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (tmp_path / "passageway.toml").write_text("", encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PASSAGEWAY_CONFIG": str(tmp_path / "passageway.toml"),
        "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
        "PASSAGEWAY_PORT": str(port),
        "PASSAGEWAY_TRUSTED_PROXIES": request.param,
    }
    with (tmp_path / "log").open("ab") as log:
        server = subprocess.Popen([sys.executable, "-m", "passageway_cli", "query"], env=environment, stderr=log)
    try:
        deadline = time.monotonic() + WAIT_S
        while status(port, "/health") != 200:
            assert time.monotonic() < deadline, (tmp_path / "log").read_text(encoding="utf-8")
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def status(port: int, path: str, password: str = "", headers: dict[str, str] | None = None) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {password}", **(headers or {})}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)
    except OSError:
        return 0


def guess(port: int) -> int:
    """The status of the last of six guesses by a stranger, through the proxy."""
    return [status(port, "/metrics", f"guess {number}", STRANGER) for number in range(6)][-1]


@pytest.mark.parametrize("port", ["127.0.0.1", "10.0.0.0/8, 127.0.0.0/8"], indirect=True)
def test_a_stranger_behind_a_trusted_proxy_locks_nobody_else_out(port: int) -> None:
    assert guess(port) == 429
    assert status(port, "/metrics", PASSWORD, {"X-Forwarded-For": "203.0.113.8"}) == 200
    assert status(port, "/metrics", PASSWORD) == 200


@pytest.mark.parametrize("port", ["127.0.0.1"], indirect=True)
def test_a_stranger_cannot_pass_for_another_by_writing_the_header_himself(port: int) -> None:
    assert guess(port) == 429
    made_up = {"X-Forwarded-For": "192.0.2.77, 203.0.113.7"}
    assert status(port, "/metrics", "another guess", made_up) == 429


@pytest.mark.parametrize("port", [""], indirect=True)
def test_without_a_trusted_proxy_the_header_means_nothing(port: int) -> None:
    assert guess(port) == 429
    assert status(port, "/metrics", PASSWORD, {"X-Forwarded-For": "203.0.113.8"}) == 429
