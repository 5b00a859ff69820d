"""Who may import whom: data flows one way, and every third-party package has one home."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = {
    "passageway": ROOT / "shared/passageway",
    "passageway_embed": ROOT / "services/embed/passageway_embed",
    "passageway_sync": ROOT / "services/sync/passageway_sync",
    "passageway_query": ROOT / "services/query/passageway_query",
    "passageway_cli": ROOT / "cli/passageway_cli",
    "passageway_sdk": ROOT / "sdk/passageway_sdk",
    **{path.name: path for folder in ("connectors", "embedders") for path in ROOT.glob(f"{folder}/*/passageway_*")},
}
SERVICES = {"passageway_embed", "passageway_sync", "passageway_query"}

MAY_IMPORT = {
    "passageway": set(),
    **{service: {"passageway"} for service in SERVICES},
    "passageway_cli": {"passageway", *SERVICES},
    "passageway_sdk": set(),
    **{path.name: {"passageway_sdk"} for path in ROOT.glob("connectors/*/passageway_*")},
    **{path.name: set() for path in ROOT.glob("embedders/*/passageway_*")},
}

HOMES = {
    "authlib": {"passageway_query.auth"},
    "fastapi": {"passageway_embed.app", "passageway_query", "passageway_cli.lifecycle"},
    "jinja2": {"passageway_query", "passageway_cli"},
    "mcp": {"passageway_query"},
    "onnxruntime": {"passageway_embed"},
    "pydantic": {"passageway.config", "passageway_query", "passageway_embed", "passageway_cli.eval"},
    "rich": {"passageway_cli"},
    "simsimd": {"passageway_query"},
    "sqlite_utils": {"passageway.index"},
    "tokenizers": {"passageway_embed"},
    "uvicorn": {"passageway_cli.connections", "passageway_cli.lifecycle"},
}
"""Package or module that may import it; the rest of the core must do without."""


def modules(package: str) -> Iterator[tuple[str, Path]]:
    root = PACKAGES[package]
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    for module, path in modules(package):
        ours = {name.partition(".")[0] for name in imported(path)} & PACKAGES.keys()
        assert ours <= allowed, f"{module} imports {sorted(ours - allowed)}"


@pytest.mark.parametrize(
    ("door", "service"),
    [("passageway.index.writer", "passageway_sync"), ("passageway.index.reader", "passageway_query")],
)
def test_only_sync_writes_the_index_and_only_query_reads_it(door: str, service: str) -> None:
    users = {
        package
        for package in PACKAGES.keys() - {"passageway"}
        for _, path in modules(package)
        if any(name.startswith(door) for name in imported(path))
    }
    assert users == {service}


@pytest.mark.parametrize("third_party", sorted(HOMES))
def test_a_third_party_package_is_imported_at_its_home_only(third_party: str) -> None:
    homes = tuple(f"{home}." for home in HOMES[third_party])
    core = ("passageway", *SERVICES, "passageway_cli")
    strays = [
        module
        for package in core
        for module, path in modules(package)
        if third_party in {name.partition(".")[0] for name in imported(path)} and not f"{module}.".startswith(homes)
    ]
    assert strays == []


def test_the_sdk_needs_nothing_but_the_standard_library() -> None:
    extras = ROOT / "sdk/passageway_sdk/web"
    for module, path in modules("passageway_sdk"):
        if extras not in path.parents:
            top = {name.partition(".")[0] for name in imported(path)} - {"passageway_sdk"}
            assert top <= set(sys.stdlib_module_names), f"{module} imports {sorted(top)}"
