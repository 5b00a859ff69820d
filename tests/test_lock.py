"""What is installed is what is locked, and nothing tells where it came from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, ROOT / "sdk", *sorted(ROOT.glob("connectors/*")), *sorted(ROOT.glob("embedders/*"))]
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)", re.MULTILINE)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def requirements(project: Path) -> list[Requirement]:
    tables = tomllib.loads(read(project / "pyproject.toml"))
    lists = [
        tables["project"].get("dependencies", []),
        *tables["project"].get("optional-dependencies", {}).values(),
        *tables.get("dependency-groups", {}).values(),
    ]
    return [Requirement(line) for entries in lists for line in entries]


def locked() -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in PIN.findall(read(ROOT / "requirements.lock"))}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_lock_satisfies_every_requirement_of_a_project(project: Path) -> None:
    pins = locked()
    ours = {canonicalize_name(tomllib.loads(read(path / "pyproject.toml"))["project"]["name"]) for path in PROJECTS}
    for requirement in requirements(project):
        name = canonicalize_name(requirement.name)
        if name not in ours:
            assert name in pins, f"{name} is not locked; run ./dev lock"
            assert requirement.specifier.contains(pins[name]), f"{name} is locked at {pins[name]}; run ./dev lock"


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-uv.lock"])
def test_every_pin_has_a_hash_and_the_lock_names_no_address(lock: str) -> None:
    text = read(ROOT / lock)
    pins = PIN.split(text)[1:]
    assert pins, "no pins found"
    assert all("--hash=sha256:" in block for block in pins[2::3])
    assert "://" not in text and "index-url" not in text


def test_the_newest_changelog_entry_is_the_version() -> None:
    version = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["version"]
    newest = re.search(r"^## (\S+)", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert newest is not None and newest.group(1) == version
