"""The documentation says what is there: pages, settings, options, addresses and examples are compared with the code."""

import argparse
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from passageway.config import ConnectorConfig, EmbedderConfig, parse_config
from passageway_cli.parser import build_parser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [
    *PAGES,
    ROOT / "README.md",
    *sorted(ROOT.glob("connectors/*/README.md")),
    *sorted(ROOT.glob("embedders/*/README.md")),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(language: str) -> list[tuple[str, str]]:
    return [(name(path), code) for path in TEXTS for kind, code in FENCE.findall(read(path)) if kind == language]


def test_every_page_is_in_the_navigation_and_every_entry_has_its_page() -> None:
    def leaves(node: object) -> Iterator[str]:
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            for value in node.values():
                yield from leaves(value)
        elif isinstance(node, list):
            for value in node:
                yield from leaves(value)

    nav = list(leaves(yaml.safe_load(read(ROOT / "mkdocs.yml"))["nav"]))
    assert sorted(nav) == sorted(path.relative_to(DOCS).as_posix() for path in PAGES)


@pytest.mark.parametrize(("page", "code"), blocks("toml"))
def test_a_toml_example_is_a_valid_configuration(page: str, code: str) -> None:
    tables = tomllib.loads(code)
    if tables.keys() & {"connector", "embedder", "embedders"}:
        parse_config(code, page)


@pytest.mark.parametrize(("page", "code"), blocks("json"))
def test_a_json_example_is_json_whole_or_line_by_line(page: str, code: str) -> None:
    texts = [code] if code.count("\n}") == 1 or code.count("\n") == 1 else code.splitlines()
    assert [json.loads(text) for text in texts if text.strip()], page


@pytest.mark.parametrize("table", [ConnectorConfig, EmbedderConfig])
def test_every_key_of_the_configuration_is_on_its_page(table: type) -> None:
    page = read(DOCS / "configuration.md")
    missing = [key for key in table.model_fields if not re.search(rf"^\| (.*, )?`{key}`", page, re.MULTILINE)]
    assert missing == []


def commands(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from commands(inner, f"{words} {word}")


@pytest.mark.parametrize(
    ("words", "parser"), [pytest.param(w, p, id=w) for w, p in commands(build_parser(), "passageway")]
)
def test_every_command_and_option_is_documented(words: str, parser: argparse.ArgumentParser) -> None:
    text = "\n".join(map(read, PAGES))
    assert f"`{words}" in text or f"## {words}" in text or words == "passageway model"
    options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    assert [
        option for option in options if option != "--help" and f"`{option}" not in text
    ] == [] or words == "passageway"


@pytest.mark.parametrize("page", TEXTS, ids=name)
def test_a_page_says_nothing_of_what_is_only_planned(page: Path) -> None:
    assert re.findall(r"coming soon|not (?:yet )?implemented|TODO|work in progress", read(page), re.IGNORECASE) == []


INSTALLS = [
    (name(page), line.strip())
    for page in [*TEXTS, *sorted(ROOT.glob("plugin/skills/*/SKILL.md"))]
    for line in read(page).splitlines()
    if re.search(r"\b(?:pip|uv tool) install\b", line)
]


@pytest.mark.parametrize(("page", "line"), INSTALLS)
def test_what_a_page_installs_is_in_this_repository(page: str, line: str) -> None:
    folders = re.findall(r"\./[\w/.-]*\w", line)
    assert [folder for folder in folders if not (ROOT / folder / "pyproject.toml").is_file()] == []
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    named = [extra for found in re.findall(r"\[([a-z0-9,]+)\]", line) for extra in found.split(",")]
    assert [extra for extra in named if extra not in extras] == []
    assert not (named and re.search(r"\bpip install\b", line)), "pip looks for extras at the package index"
