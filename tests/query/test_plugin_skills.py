"""The plugin's skills: their headers, that they hold no secret, and that what they show works."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from passageway import __version__
from passageway.config import parse_config

ROOT = Path(__file__).parents[2]
SKILLS = sorted((ROOT / "plugin" / "skills").glob("*/SKILL.md"))
TEXTS = [pytest.param(path, path.read_text(encoding="utf-8"), id=path.parent.name) for path in SKILLS]


def header(text: str) -> dict[str, str]:
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert match
    return dict(line.split(": ", 1) for line in match[1].splitlines())


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a language, without the indentation of the list they stand in."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def test_there_are_seven_skills() -> None:
    assert [path.parent.name for path in SKILLS] == [
        "create-passageway-connector",
        "passageway",
        "passageway-add-source",
        "passageway-connect",
        "passageway-evaluate",
        "passageway-install",
        "passageway-status",
    ]


@pytest.mark.parametrize(("path", "text"), TEXTS)
def test_a_skill_has_the_name_of_its_folder_says_when_to_use_it_and_is_of_this_version(path: Path, text: str) -> None:
    said = header(text)
    assert set(said) == {"name", "description", "version"}
    assert said["name"] == path.parent.name
    assert said["version"] == __version__
    assert "Use when" in said["description"] or "Use before" in said["description"]
    assert len(said["description"]) <= 1024


@pytest.mark.parametrize(("path", "text"), TEXTS)
def test_a_skill_names_the_documentation_before_anything_else(path: Path, text: str) -> None:
    assert "known_marketplaces.json" in text.split("\n## ")[0].split("\n1. ")[0]


@pytest.mark.parametrize(("path", "text"), TEXTS)
def test_a_skill_holds_no_credential_and_passes_none_through_the_chat(path: Path, text: str) -> None:
    assert not re.search(r"Bearer (?!\$\(cat )[A-Za-z0-9]", text)
    assert not re.search(r"(?i)(paste|tell me|send me|enter) (your|the) (password|token)", text)


@pytest.mark.parametrize(("path", "text"), TEXTS)
def test_the_skills_that_a_skill_points_to_exist(path: Path, text: str) -> None:
    named = set(re.findall(r"`/((?:create-)?passageway[\w-]*)`", text))
    assert named <= {skill.parent.name for skill in SKILLS}


def test_the_source_that_is_shown_is_a_valid_configuration() -> None:
    text = (ROOT / "plugin/skills/passageway-add-source/SKILL.md").read_text(encoding="utf-8")
    [shown] = blocks(text, "toml")
    assert [connector.name for connector in parse_config(shown).connectors] == ["notes"]


def test_the_cases_that_are_shown_are_valid_toml_with_a_question_to_stay_silent_on() -> None:
    text = (ROOT / "plugin/skills/passageway-evaluate/SKILL.md").read_text(encoding="utf-8")
    [shown] = blocks(text, "toml")
    cases = tomllib.loads(shown)["case"]
    assert [("expect" in case) for case in cases] == [True, False]


def test_the_connector_that_is_shown_is_the_guides_and_keeps_the_rules(tmp_path: Path) -> None:
    text = (ROOT / "plugin/skills/create-passageway-connector/SKILL.md").read_text(encoding="utf-8")
    connector, test = blocks(text, "python")
    assert connector == (ROOT / "docs/examples/folder_connector.py").read_text(encoding="utf-8")
    (tmp_path / "connector.py").write_text(connector, encoding="utf-8")
    (tmp_path / "test_connector.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_connector.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "1 passed" in done.stdout


def test_the_configuration_of_the_hook_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    text = (ROOT / "plugin/skills/passageway-connect/SKILL.md").read_text(encoding="utf-8")
    script = blocks(text, "sh")[0]
    password = tmp_path / ".config" / "passageway" / "password"
    password.parent.mkdir(parents=True)
    password.write_text('p"ä\\ss\n', encoding="utf-8")
    environment = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    subprocess.run(["bash", "-ec", script], env=environment, timeout=30, check=True)
    written = tmp_path / ".claude/plugin-data/passageway/passageway.json"
    assert written.read_text(encoding="utf-8") == '{"url": "http://127.0.0.1:8082", "token": "p\\"\\u00e4\\\\ss"}\n'
    assert written.stat().st_mode & 0o077 == 0
