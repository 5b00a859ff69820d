"""The README and the page of the site say what the code does."""

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from passageway_connector_markdown.front_matter import FrontMatter
from passageway_connector_markdown.settings import SETTINGS

ROOT = Path(__file__).parents[3]
README = ROOT / "connectors/markdown/README.md"
PAGE = ROOT / "docs/connectors/markdown.md"


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def rows(path):
    """The table rows by the first cell's code: {"FOLDER": ["`FOLDER`", "must be set", …]}."""
    lines = [line.strip("|") for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return {name: row for row in cells for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.parametrize("path", [README, PAGE], ids=["readme", "page"])
def test_every_setting_is_named(path):
    text = path.read_text(encoding="utf-8")
    assert [setting.name for setting in SETTINGS if f"`{setting.name}`" not in text] == []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_table_gives_the_default_of_a_setting(setting):
    shown = "must be set" if setting.default is None else setting.default.replace("|", r"\|")
    assert rows(README)[setting.name][1].strip("`") == shown


def test_the_table_of_front_matter_has_every_key_that_is_read():
    read = {field.name for field in fields(FrontMatter)} - {"is_drawing", "end", "problems"}
    keys = rows(README).keys() - {setting.name for setting in SETTINGS}
    assert keys == read - {"labels"} | {"tags", "tag"}


def test_the_example_is_what_comes_out(vault):
    (note,), (item,) = blocks(README, "markdown"), blocks(README, "json")
    expected = json.loads(item)
    vault.write(expected["id"], note)
    vault.write("kitchen/starter.md")
    made = vault.items()[expected["id"]]
    assert {key: value for key, value in made.items() if key not in {"url", "version", "updated"}} == expected


@pytest.mark.parametrize("path", [README, PAGE], ids=["readme", "page"])
def test_the_configuration_shown_runs_this_connector_with_its_own_settings(path):
    (connector,) = tomllib.loads(blocks(path, "toml")[0])["connector"]
    assert connector["command"][1:] == ["-m", "passageway_connector_markdown"]
    assert connector["env"].keys() <= {setting.name for setting in SETTINGS}
