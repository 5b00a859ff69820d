import io
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from passageway_connector_trilium.connector import TriliumConnector
from passageway_connector_trilium.testing import FakeNote, FakeTrilium
from passageway_sdk.web.testing import Clock


@dataclass(frozen=True)
class Outcome:
    """What one call printed, and how it ended."""

    exit_code: int
    messages: list[dict[str, Any]]
    stderr: str

    @property
    def items(self) -> dict[str, dict[str, Any]]:
        return {message["id"]: message for message in self.messages}


@pytest.fixture
def trilium() -> Iterator[FakeTrilium]:
    with FakeTrilium() as server:
        yield server


@pytest.fixture
def call(trilium: FakeTrilium, clock: Clock) -> Callable[..., Outcome]:
    """call("list"), call("fetch", ids=[…]), call("changed", "--since", …); `env` replaces settings."""

    def run(*argv: str, ids: list[str] | None = None, env: Mapping[str, str] | None = None) -> Outcome:
        stdin = [json.dumps({"id": item_id}) + "\n" for item_id in ids or []]
        out, err = io.StringIO(), io.StringIO()
        settings = trilium.env | dict(env or {})
        code = TriliumConnector.run(argv, settings, stdin, out, err, sleep=clock.sleep, now=clock.now)
        return Outcome(code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue())

    return run


@pytest.fixture
def workshop(trilium: FakeTrilium) -> FakeTrilium:
    """The server with the notes of wiki/notes.toml."""
    path = Path(__file__).with_name("wiki") / "notes.toml"
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["note"]:
        pairs = ((name, target) for name, targets in entry.get("relations", {}).items() for target in targets)
        trilium.add(
            FakeNote(
                id=entry["id"],
                title=entry["title"],
                content=entry["content"].lstrip("\n"),
                parents=tuple(entry.get("parents", ["root"])),
                labels=tuple(entry.get("labels", {}).items()),
                relations=tuple(pairs),
                type=entry.get("type", "text"),
                mime=entry.get("mime", "text/html"),
                is_protected=entry.get("protected", False),
            )
        )
    return trilium
