"""The image and its containers. Opt-in: PASSAGEWAY_CONTAINER=1, with podman or docker and its compose on the PATH.

PASSAGEWAY_CONTAINER_IMAGE   an image to test instead of building one
PASSAGEWAY_CONTAINER_BASE    the base to build on, where the public one cannot be had
PASSAGEWAY_CONTAINER_ENGINE  `podman` or `docker`; the first that is there by default
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PASSWORD = "correct horse battery staple"
NOTES = {
    "brewing.md": "# Brewing green tea\n\nGreen tea is brewed with water at eighty degrees, for two minutes.\n",
    "visitors.md": "# Visitor parking\n\nVisitors register their licence plate at reception the day before.\n",
}
BUILD_S = 1800
WAIT_S = 120


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="builds and runs the image; set PASSAGEWAY_CONTAINER=1")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.container)
            item.add_marker(pytest.mark.timeout(BUILD_S))
            if os.environ.get("PASSAGEWAY_CONTAINER") != "1":
                item.add_marker(skip)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def wait_until(condition: Callable[[], Any], what: Callable[[], str], timeout_s: float = WAIT_S) -> Any:
    """What `condition` returns once it is true; fails after `timeout_s` with what was waited for."""
    deadline = time.monotonic() + timeout_s
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"waited {timeout_s:g} s in vain for {what()}")
        time.sleep(0.1)


@pytest.fixture
def until() -> Callable[..., Any]:
    """`wait_until`, for a test that waits for something else than a health report."""
    return wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Engine:
    """podman or docker, and what runs compose files for it."""

    program: str
    compose: tuple[str, ...]

    def __call__(self, *words: str, check: bool = True, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.program, *words], capture_output=True, text=True, encoding="utf-8", timeout=timeout_s, check=False
        )
        assert done.returncode == 0 or not check, f"{words}: {done.stderr[-2000:]}"
        return done

    def in_image(self, image: str, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """The words run in a container of their own, without a network and read-only; whatever they return."""
        confined = ("--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", *options)
        return self("run", *confined, image, *words, check=False)


@pytest.fixture(scope="session")
def engine() -> Engine:
    named = os.environ.get("PASSAGEWAY_CONTAINER_ENGINE")
    program = named or next((name for name in ("podman", "docker") if shutil.which(name)), None)
    assert program, "neither podman nor docker is there"
    return Engine(program, ("podman-compose",) if program == "podman" else ("docker", "compose"))


@pytest.fixture(scope="session")
def image(engine: Engine) -> str:
    """The name of the image under test, built now unless one is named."""
    if given := os.environ.get("PASSAGEWAY_CONTAINER_IMAGE"):
        return given
    name = "localhost/passageway-under-test"
    base = os.environ.get("PASSAGEWAY_CONTAINER_BASE")
    options = ["--build-arg", f"BASE_IMAGE={base}"] if base else []
    # Of the two formats of an image only docker's has health checks.
    options += ["--format", "docker"] if engine.program == "podman" else []
    engine("build", *options, "--tag", name, str(ROOT), timeout_s=BUILD_S)
    return name


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration folder with two notes, readable for the user of the containers."""
    folder = tmp_path / "config"
    (folder / "notes").mkdir(parents=True)
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text, encoding="utf-8")
    (folder / "passageway.toml").write_text(
        '[[connector]]\nname = "notes"\ncommand = ["python", "-m", "passageway_connector_markdown"]\n'
        'env = { FOLDER = "/config/notes" }\n',
        encoding="utf-8",
    )
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def ask(port: int, path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON answer of the server at the port; empty while nobody answers."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {PASSWORD}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            answer: dict[str, Any] = json.load(reply)
    except OSError:
        return {}
    return answer


@dataclass
class Stack:
    """compose.yaml, run by compose as a project of its own, published at a free port of this machine."""

    engine: Engine
    folder: Path
    image: str
    project: str = field(default_factory=lambda: f"pw{uuid.uuid4().hex[:8]}")
    port: int = field(default_factory=free_port)

    def compose(self, *words: str, image: str | None = None) -> str:
        environment = {
            **os.environ,
            "PASSAGEWAY_IMAGE": image or self.image,
            "PASSAGEWAY_PORT": str(self.port),
            "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
            "PASSAGEWAY_POLL_SECONDS": "1",
            "PASSAGEWAY_RECONCILE_SECONDS": "3",
        }
        command = [*self.engine.compose, "-p", self.project, "-f", str(self.folder / "compose.yaml"), *words]
        done = subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, encoding="utf-8", timeout=600
        )
        assert done.returncode == 0, f"{words}: {done.stderr[-3000:]}"
        return done.stdout

    def up(self, image: str | None = None) -> None:
        self.compose("up", "-d", "--no-build", image=image)

    def container(self, service: str) -> str:
        """The id of the service's container, running or not."""
        labels = {"com.docker.compose.project": self.project, "com.docker.compose.service": service}
        filters = [word for name, value in labels.items() for word in ("--filter", f"label={name}={value}")]
        found = self.engine("ps", "-aq", *filters).stdout.split()
        assert len(found) == 1, f"{service}: {found}"
        return found[0]

    def inside(self, service: str, *words: str) -> subprocess.CompletedProcess[str]:
        return self.engine("exec", self.container(service), *words, check=False)

    def health(self) -> dict[str, Any]:
        return ask(self.port, "/health")

    def recall(self, prompt: str) -> str:
        """What the prompt hook would be given."""
        return str(ask(self.port, "/recall", {"prompt": prompt}).get("context", ""))

    def wait(self, condition: Callable[[dict[str, Any]], Any], what: str) -> dict[str, Any]:
        """The first report of /health for which the condition holds."""
        last: dict[str, Any] = {}

        def holds() -> bool:
            last.clear()
            last.update(self.health())
            return bool(last and condition(last))

        wait_until(holds, lambda: f"{what}\nlast report: {last}\n{self.logs()}")
        return last

    def logs(self) -> str:
        names = self.engine("ps", "-aq", "--filter", f"label=com.docker.compose.project={self.project}").stdout.split()
        return "\n".join(self.engine("logs", "--tail", "20", name, check=False).stderr for name in names)


@pytest.fixture
def stack(
    engine: Engine, image: str, config: Path, one_service: str, request: pytest.FixtureRequest
) -> Iterator[Stack]:
    """The compose project, of one service for the parameter `one`; not started yet, gone with its volume at the end."""
    folder = config.parent
    one = getattr(request, "param", "three") == "one"
    text = one_service if one else (ROOT / "compose.yaml").read_text(encoding="utf-8")
    (folder / "compose.yaml").write_text(text, encoding="utf-8")
    stack = Stack(engine, folder, image)
    yield stack
    stack.compose("down", "-v", "-t", "5")
