"""The guides show the files of docs/examples word for word, and those files run as the guides say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
GUIDES = ("guides/write-a-connector.md", "guides/write-an-embedder.md")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, in a folder of its own."""
    return shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {"PATH": path, "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, encoding="utf-8", timeout=120)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_a_guide_shows_the_example_as_it_is(path: Path) -> None:
    shown = [block for guide in GUIDES for block in blocks(guide, "python")]
    assert path.read_text(encoding="utf-8") in shown


def test_every_program_in_the_guides_is_an_example() -> None:
    shown = [block for guide in GUIDES for block in blocks(guide, "python")]
    assert len(shown) == len(list(EXAMPLES.glob("*.py")))


@pytest.mark.parametrize("name", ["test_folder_connector.py", "test_letters_embedder.py"])
def test_the_examples_pass_the_checks_that_the_guides_show(examples: Path, name: str) -> None:
    result = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name], examples)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_connector_guide_shows_what_its_commands_print(examples: Path) -> None:
    (commands,) = blocks("guides/write-a-connector.md", "sh")
    result = run(["sh", "-euc", commands], examples)
    assert result.returncode == 0, result.stderr
    (shown,) = blocks("guides/write-a-connector.md", "json")
    *first, fetched = result.stdout.splitlines()
    assert "\n".join(first) + "\n" == shown
    item = json.loads(fetched)
    assert (item["id"], item["title"]) == ("ferry.txt", "ferry")
    assert item["sections"] == [{"heading": None, "text": "The ferry leaves at seven.\n"}]


def test_the_embedder_guide_shows_a_conversation_that_works(examples: Path) -> None:
    (command,) = blocks("guides/write-an-embedder.md", "sh")
    result = run(["sh", "-euc", command], examples)
    info, embedded = (json.loads(line) for line in result.stdout.splitlines())
    assert info == {"name": "letters-256", "dim": 256}
    assert [len(vector) for vector in embedded["vectors"]] == [256]


def test_both_folder_connectors_say_the_same(examples: Path) -> None:
    (examples / "notes").mkdir()
    (examples / "notes" / "ferry.txt").write_text("The ferry leaves at seven.", encoding="utf-8")
    command = 'export FOLDER=notes; python $0 list; echo \'{"id": "ferry.txt"}\' | python $0 fetch; '
    command += "python $0 changed --since 2020-01-01T00:00:00Z; python $0 changed --since 2999-01-01T00:00:00Z"
    outputs = [
        run(["sh", "-euc", command, script], examples).stdout
        for script in ("folder_connector.py", "folder_connector_sdk.py")
    ]
    assert outputs[0] == outputs[1] and outputs[0].count("\n") == 3


@pytest.mark.parametrize(
    "block", blocks("reference/sdk.md", "python"), ids=lambda block: block.strip().splitlines()[-1][:40]
)
def test_the_python_on_the_sdk_page_runs(block: str, tmp_path: Path) -> None:
    result = run([sys.executable, "-c", block], tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_fake_connector_answers_the_commands_on_the_protocol_page(tmp_path: Path) -> None:
    (record,) = blocks("reference/connector-protocol.md", "json")
    (tmp_path / "items.json").write_text(f"[{record}]", encoding="utf-8")
    (commands,) = blocks("reference/connector-protocol.md", "sh")
    result = run(["sh", "-euc", commands], tmp_path)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"ok": True, "count": 1},
        {"id": "ops/certs", "version": "3f2a"},
        json.loads(record),
    ]
