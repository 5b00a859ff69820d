"""`corpus/snapshot.py` as its user runs it, on a wiki of our own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from passageway.protocol import Connector

SCRIPT = Path(__file__).parents[2] / "corpus" / "snapshot.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


@pytest.fixture
def snapshot(wiki: Any, out: Path) -> Run:
    def run(**env: str) -> subprocess.CompletedProcess[str]:
        settings = {"API_URL": f"{wiki.server.url}/w/api.php", "PAUSE_SECONDS": "0", "OUT": str(out), **env}
        return subprocess.run(
            [sys.executable, SCRIPT],
            env={"PATH": os.environ["PATH"], **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture(autouse=True)
def sails(wiki: Any, mediawiki: ModuleType) -> None:
    page = mediawiki.Page
    wiki.add(
        page(1, "Jib", "A jib is a sail.\nIt is in front.\n\n== Trim ==\nTight.\n=== Upwind ===\nTighter.", 11),
        page(2, "Größe: ein Maß", "Kurz.", 21, timestamp=""),
        page(3, "Spinnaker", "Big. " * 900 + "\n== Use ==\n# downwind\n== See also ==\nJib", 31),
    )


def test_each_article_becomes_a_file_with_its_revision(snapshot: Run, out: Path) -> None:
    result = snapshot(TITLES="Jib|Größe: ein Maß|Spinnaker")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{out}: 3 articles, ")
    assert sorted(path.name for path in out.iterdir()) == [
        "ATTRIBUTION.txt",
        "groesse-ein-mass.md",
        "jib.md",
        "spinnaker.md",
        "titles.txt",
    ]
    assert (out / "jib.md").read_text(encoding="utf-8") == (
        "---\ntitle: Jib\nurl: https://wiki.example.org/w/Jib\nrevision: 11\nupdated: 2026-03-01\n"
        "licence: CC BY-SA 4.0\n---\n# Jib\n\nA jib is a sail.\n\nIt is in front.\n\n## Trim\n\nTight.\n\n"
        "### Upwind\n\nTighter.\n"
    )
    german = (out / "groesse-ein-mass.md").read_text(encoding="utf-8")
    assert german.startswith('---\ntitle: "Größe: ein Maß"\n') and "updated" not in german
    spinnaker = (out / "spinnaker.md").read_text(encoding="utf-8")
    assert spinnaker.count("## Use") == 1 and "\\# downwind" in spinnaker and "See also" not in spinnaker
    assert spinnaker.count("Big.") == 900
    assert (out / "titles.txt").read_text(encoding="utf-8") == "Größe: ein Maß\nJib\nSpinnaker\n"
    assert "Jib: https://wiki.example.org/w/Jib, revision 11\n" in (out / "ATTRIBUTION.txt").read_text(encoding="utf-8")


def test_the_markdown_connector_reads_what_was_written(snapshot: Run, out: Path) -> None:
    snapshot(TITLES="Jib|Größe: ein Maß")
    source = Connector("corpus", [sys.executable, "-m", "passageway_connector_markdown"], env={"FOLDER": str(out)})
    items = {item.title: item for item in source.fetch(list(source.list()))}
    assert set(items) == {"Jib", "Größe: ein Maß"}
    assert items["Jib"].url == "https://wiki.example.org/w/Jib"
    assert [section.heading for section in items["Jib"].sections][-2:] == ["Trim", "Trim › Upwind"]


def test_a_limit_keeps_the_longest_articles(snapshot: Run, out: Path) -> None:
    assert snapshot(TITLES="Jib|Größe: ein Maß|Spinnaker", LIMIT="2").returncode == 0
    assert (out / "titles.txt").read_text(encoding="utf-8") == "Jib\nSpinnaker\n"


def test_the_list_of_titles_repeats_the_selection(snapshot: Run, wiki: Any, out: Path) -> None:
    snapshot(TITLES="Jib|Größe: ein Maß")
    wiki.edit(1, extract="New.")
    titles = "|".join((out / "titles.txt").read_text(encoding="utf-8").splitlines())
    assert snapshot(TITLES=titles, FORCE="1").returncode == 0
    assert "revision: 12\n" in (out / "jib.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in out.parent.iterdir()) == ["corpus"]


def test_a_folder_that_is_there_is_replaced_only_when_told(snapshot: Run, out: Path) -> None:
    snapshot(TITLES="Jib")
    again = snapshot(TITLES="Spinnaker")
    assert again.returncode == 2 and "set FORCE=1" in again.stderr
    assert (out / "jib.md").exists()
    assert snapshot(TITLES="Spinnaker", FORCE="1").returncode == 0
    assert not (out / "jib.md").exists() and (out / "spinnaker.md").exists()


@pytest.mark.parametrize("name", ["notes.txt", ".git", "README"])
def test_a_folder_that_holds_anything_else_is_never_replaced(snapshot: Run, out: Path, name: str) -> None:
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    result = snapshot(TITLES="Jib", FORCE="1")
    assert result.returncode == 2 and f"'{name}'" in result.stderr
    assert (out / name).read_text(encoding="utf-8") == "mine"


def test_a_run_that_fails_leaves_the_old_files(snapshot: Run, wiki: Any, mediawiki: ModuleType, out: Path) -> None:
    snapshot(TITLES="Jib")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    wiki.faults.extend([None, mediawiki.reply(mediawiki.error("readapidenied", "No."))])
    result = snapshot(TITLES="Jib", FORCE="1")
    assert result.returncode == 1 and "readapidenied" in result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in out.parent.iterdir()) == ["corpus"]


@pytest.mark.parametrize(
    ("env", "problem"),
    [({"OUT": ""}, "OUT is missing"), ({"LIMIT": "x"}, "LIMIT is 'x'"), ({"TITLES": ""}, "nothing to index")],
)
def test_a_wrong_setting_is_named(snapshot: Run, env: dict[str, str], problem: str) -> None:
    result = snapshot(**{"TITLES": "Jib", **env})
    assert result.returncode == 2 and problem in result.stderr and "Traceback" not in result.stderr


def test_titles_that_give_one_file_name_get_two(snapshot: Run, wiki: Any, mediawiki: ModuleType, out: Path) -> None:
    wiki.add(mediawiki.Page(8, "Jib (sail)"), mediawiki.Page(9, "Jib sail"), mediawiki.Page(10, "帆"))
    assert snapshot(TITLES="Jib (sail)|Jib sail|帆").returncode == 0
    assert {path.name for path in out.glob("*.md")} == {"jib-sail.md", "jib-sail-2.md", "article.md"}
