"""A vault of two hundred mixed notes, the real model, and the real program as one process or as three."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"
WAIT_S = 600
"""For an index of the vault: 10 s where nothing else runs, but its threads yield to everything that does."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = WAIT_S) -> Any:
    """What `condition` returns once it is true; fails after `timeout_s` saying what was waited for."""
    deadline = time.monotonic() + timeout_s
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.1)


@dataclass
class Program:
    """The running program: its processes by role, its folders and its addresses."""

    home: Path
    roles: tuple[str, ...]
    port: int
    embed_port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def vault(self) -> Path:
        return self.home / "vault"

    def start(self, role: str) -> None:
        command = [sys.executable, "-m", "passageway_cli", *([] if role == "all" else [role])]
        log = (self.home / f"{role}.log").open("ab")
        with log:
            self.processes[role] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home
            )

    def start_all(self) -> None:
        for role in self.roles:
            self.start(role)

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes[role].wait(10)

    def stop(self) -> dict[str, int]:
        """Exit codes by role after SIGTERM."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        return {role: process.wait(20) for role, process in self.processes.items()}

    def health(self) -> dict[str, Any]:
        """The report of /health with the sources by name."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/health", headers={"Authorization": f"Bearer {PASSWORD}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                report: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                report = json.load(error)
        except OSError:
            return {"status": "unreachable"}
        return {**report, "sources": {source["name"]: source for source in report.get("sources", [])}}

    def wait_for(self, condition: Callable[[dict[str, Any]], Any], what: str, timeout_s: float = WAIT_S) -> Any:
        """The first health report for which the condition holds."""
        last: dict[str, Any] = {}

        def holds() -> dict[str, Any] | None:
            last.clear()
            last.update(self.health())
            return dict(last) if last.get("status") != "unreachable" and condition(last) else None

        try:
            return wait_until(holds, what, timeout_s)
        except AssertionError as error:
            logs = {path.name: path.read_text(encoding="utf-8")[-2000:] for path in self.home.glob("*.log")}
            raise AssertionError(f"{error}\nlast report: {json.dumps(last, indent=1)}\nlogs: {logs}") from None


NOTE_KINDS: tuple[Callable[[int], tuple[str, str]], ...] = (
    lambda n: (
        f"boats/boat-{n:03}.md",
        f"---\ntitle: Boat {n}\ntags: [boats, hull-{n}]\n---\n\nThe hull of boat {n} was painted in bay {n % 7}. "
        f"Its engine ran {n * 11} hours.\n\n## Repairs\n\nPatch {n} on the rudder, "
        f"see [the log](../log/day-{n:03}.md).\n",
    ),
    lambda n: (
        f"log/day-{n:03}.md",
        f"Day {n}\n======\n\nWind force {n % 9} from the west. Crew of {n % 5 + 2}.\n\n"
        f"Evening\n-------\n\n| item | count |\n|---|---|\n| ropes | {n} |\n| buckets | {n * 2} |\n",
    ),
    lambda n: (
        f"code/tool-{n:03}.md",
        f"# Tool {n}\n\n```python\n# not a heading\ndef run_tool_{n}(path):\n    return path.stem\n```\n\n"
        f"%% private {n} %%\n\n## Options\n\n`--depth {n}` limits the depth.\n",
    ),
)

FACTS = {
    "kitchen/sourdough.md": "# Sourdough starter\n\nFeed the starter every twelve hours with rye flour and lukewarm "
    "water. It is ready when it floats in a glass of water.\n",
    "ops/certificates.md": "---\ntitle: Rotating certificates\ntags: [ops, security]\n---\n\n"
    "# Rotating certificates\n\nThe signing certificate is renewed every March. Create the new one with the signing "
    "tool, deploy it to both gateways, and keep the old one for thirty days.\n",
    "office/parking.md": "# Visitor parking\n\nVisitors register their licence plate at reception the day before. "
    "Spaces 12 to 18 are theirs.\n",
    "haus/heizung.md": "# Heizungsanlage\n\nDer Brenner der Heizung wird jeden Oktober gewartet. Bei Druck unter "
    "einem Bar wird Wasser nachgefüllt, bis das Manometer anderthalb Bar zeigt.\n",
    "garden/tomatoes.md": '+++\ntitle = "Tomatoes"\n+++\n\nTomato seedlings go outside after the last frost in '
    "the middle of May. Water them at the root, never on the leaves, against blight.\n",
}


def write_vault(vault: Path) -> int:
    """Write a vault of mixed notes: articles, facts, tables, code, front matter of three kinds; how many files."""
    for language, count in (("en", 6), ("de", 2)):
        for article in sorted((ROOT / "corpus" / language).glob("*.md"))[:count]:
            target = vault / "articles" / language / article.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(article, target)
    notes = dict(kind(number) for number in range(63) for kind in NOTE_KINDS)
    for name, text in {**notes, **FACTS}.items():
        path = vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sum(1 for _ in vault.rglob("*.md"))


@pytest.fixture(params=[("all",), ("embed", "sync", "query")], ids=["one process", "three processes"])
def program(
    request: pytest.FixtureRequest, tmp_path: Path, model_folder: Path, unused_port: Callable[[], int]
) -> Iterator[Program]:
    """The program, not started yet, with a vault and a configuration that polls every second."""
    program = Program(tmp_path, request.param, unused_port(), unused_port())
    write_vault(program.vault)
    config = tmp_path / "passageway.toml"
    config.write_text(
        f'[[connector]]\nname = "notes"\ncommand = ["{sys.executable}", "-m", "passageway_connector_markdown"]\n'
        f'env = {{ FOLDER = "{program.vault}" }}\n',
        encoding="utf-8",
    )
    program.environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PASSAGEWAY_CONFIG": str(config),
        "PASSAGEWAY_DATA_DIR": str(tmp_path / "data"),
        "PASSAGEWAY_MODEL_DIR": str(model_folder),
        "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
        "PASSAGEWAY_PORT": str(program.port),
        "PASSAGEWAY_EMBED_PORT": str(program.embed_port),
        "PASSAGEWAY_EMBED_WORKERS": "2",
        "PASSAGEWAY_POLL_SECONDS": "1",
        "PASSAGEWAY_RECONCILE_SECONDS": "4",
    }
    yield program
    for process in program.processes.values():
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait(10)
