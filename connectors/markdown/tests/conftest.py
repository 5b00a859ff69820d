"""A vault to write notes into and to ask through the connector, as the core would."""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from passageway_connector_markdown.connector import MarkdownFolder

FETCH_IDS = 50
NOBODY = 65534


@dataclass(frozen=True)
class Reply:
    """One call: its exit code, the lines of stdout as objects, and stderr."""

    code: int
    records: list[dict[str, Any]]
    stderr: str


class Vault:
    """A folder of notes. Keyword arguments are settings: `INCLUDE="*.txt"`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, name: str, content: str | bytes = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def call(self, *argv: str, ids: tuple[str, ...] = (), **settings: str) -> Reply:
        """The call made in this process."""
        stdout, stderr = io.StringIO(), io.StringIO()
        stdin = [json.dumps({"id": item_id}) + "\n" for item_id in ids]
        code = MarkdownFolder.run(argv, {"FOLDER": str(self.folder), **settings}, stdin, stdout, stderr)
        return Reply(code, [json.loads(line) for line in stdout.getvalue().splitlines()], stderr.getvalue())

    def process(self, *argv: str, ids: tuple[str, ...] = (), **settings: str) -> Reply:
        """The call made as the core makes it: a process with hardly any environment."""
        result = subprocess.run(
            [sys.executable, "-m", "passageway_connector_markdown", *argv],
            input="".join(json.dumps({"id": item_id}) + "\n" for item_id in ids),
            env={"PATH": os.environ["PATH"], "FOLDER": str(self.folder), **settings},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        return Reply(result.returncode, [json.loads(line) for line in result.stdout.splitlines()], result.stderr)

    def versions(self, **settings: str) -> dict[str, str]:
        reply = self.call("list", **settings)
        assert reply.code == 0, reply.stderr
        return {record["id"]: record["version"] for record in reply.records}

    def items(self, **settings: str) -> dict[str, dict[str, Any]]:
        """Every item by its id, fetched in calls of 50 as the core does; list and fetch agree on the versions."""
        versions = self.versions(**settings)
        ids = list(versions)
        items: dict[str, dict[str, Any]] = {}
        for start in range(0, len(ids), FETCH_IDS):
            reply = self.call("fetch", ids=tuple(ids[start : start + FETCH_IDS]), **settings)
            assert reply.code == 0, reply.stderr
            items |= {record["id"]: record for record in reply.records}
        assert {item_id: item["version"] for item_id, item in items.items()} == versions
        return items

    def item(self, content: str | bytes, name: str = "note.md", **settings: str) -> dict[str, Any]:
        """The item of a single note."""
        self.write(name, content)
        items = self.items(**settings)
        return next(item for item in items.values() if item["url"] == (self.folder / name).as_uri())

    def warnings(self, **settings: str) -> str:
        """What list, and a fetch of everything listed, print on stderr."""
        listed = self.call("list", **settings)
        ids = tuple(record["id"] for record in listed.records)
        return listed.stderr + self.call("fetch", ids=ids, **settings).stderr


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    folder = tmp_path / "vault"
    folder.mkdir()
    return Vault(folder)


@pytest.fixture
def open_vault() -> Iterator[Vault]:
    """A vault that every user of the machine can reach; pytest's own folders are for their owner alone."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Vault(Path(name).resolve())


@pytest.fixture
def unprivileged() -> Any:
    """A context in which permissions count, for root too."""

    @contextmanager
    def as_nobody() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return as_nobody


@pytest.fixture
def leaves() -> Any:
    """The last part of every section's heading, without None and the item's title."""

    def of(item: dict[str, Any]) -> list[str]:
        last = [(section["heading"] or "").split(" › ")[-1] for section in item["sections"]]
        return [leaf for leaf in last if leaf and leaf != item["title"]]

    return of


@pytest.fixture
def words() -> Any:
    """All headings and texts of an item in one string."""

    def of(item: dict[str, Any]) -> str:
        return "\n".join(f"{section['heading'] or ''}\n{section['text']}" for section in item["sections"])

    return of
