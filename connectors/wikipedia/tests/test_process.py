"""The connector as the core runs it: a program."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from passageway.errors import ConnectorError
from passageway.protocol import Connector
from passageway.testing.contract import check_connector
from passageway_connector_wikipedia.connector import PACKAGE, RELEASE
from passageway_connector_wikipedia.settings import SKIPPED, read_settings

COMMAND = [sys.executable, "-m", "passageway_connector_wikipedia"]
HERE = Path(__file__).parent
README = HERE.parent / "README.md"
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "connectors" / "wikipedia.md"


@pytest.fixture
def connector(wiki: Any, mediawiki: ModuleType) -> Connector:
    wiki.members_a_reply = 2
    page = mediawiki.Page
    wiki.add(
        page(1, "Category:Sails", categories=("Category:Boats",)),
        page(2, "Dinghy", (HERE / "extract.txt").read_text(encoding="utf-8"), 21, ("Category:Boats",)),
        page(3, "Jib", "Ein Segel.", 31, ("Category:Sails",), timestamp="2026-02-28T23:59:59Z"),
        page(4, "Größe & Rang", "", 41, ("Category:Sails",), html="<p>Nur <b>HTML</b>.</p>"),
        page(5, "Jibs", redirect_to="Jib", categories=("Category:Sails",)),
    )
    env = {"API_URL": f"{wiki.server.url}/w/api.php", "CATEGORIES": "Boats", "PAUSE_SECONDS": "0"}
    return Connector("boats", COMMAND, env=env)


def test_it_keeps_the_rules_of_the_protocol(connector: Connector) -> None:
    check_connector(connector)


def test_its_items_are_these(wiki: Any) -> None:
    env = {"API_URL": f"{wiki.server.url}/w/api.php", "TITLES": "x", "PAUSE_SECONDS": "0"}
    result = subprocess.run(
        [*COMMAND, "fetch"],
        input='{"id": "2"}\n{"id": "3"}\n{"id": "4"}\n',
        capture_output=True,
        encoding="utf-8",
        env=env,
        timeout=60,
        check=True,
    )
    items = [json.loads(line) for line in result.stdout.splitlines()]
    assert items == json.loads((HERE / "items.json").read_text(encoding="utf-8"))
    assert result.stderr == ""


@pytest.fixture(autouse=True)
def _filled(connector: Connector) -> None:
    """The wiki has its pages also in tests that start the program themselves."""


def test_five_thousand_pages_are_listed_and_fifty_fetched_in_little_memory(
    wiki: Any, mediawiki: ModuleType, watched: Callable[..., dict[str, Any]]
) -> None:
    wiki.members_a_reply = 500
    text = "Boats were built here for a long time. " * 100
    wiki.add(*(mediawiki.Page(n, f"Ship {n}", text, categories=("Category:Ships",)) for n in range(1000, 6000)))
    env = {"API_URL": f"{wiki.server.url}/w/api.php", "CATEGORIES": "Ships", "MAX_PAGES": "5000", "PAUSE_SECONDS": "0"}
    listing = watched([*COMMAND, "list"], env)
    fetch = watched([*COMMAND, "fetch"], env, [str(number) for number in range(1000, 1050)])
    assert len(listing["output"].splitlines()) == 5000 and len(fetch["output"].splitlines()) == 50
    assert listing["peak_mib"] < 150 and fetch["peak_mib"] < 150
    # Ten requests for the listing, one a page for the texts: what a wiki allows without an account.
    assert len(wiki.requests) == 1 + 10 + 50


def test_a_failure_reaches_the_core_as_one_sentence(wiki: Any, connector: Connector, mediawiki: ModuleType) -> None:
    wiki.faults.append(mediawiki.reply(mediawiki.error("readapidenied", "You need read permission.")))
    with pytest.raises(ConnectorError, match="readapidenied") as failure:
        connector.list()
    assert "Traceback" not in str(failure.value)


def test_a_missing_setting_exits_2_without_a_traceback() -> None:
    result = subprocess.run([*COMMAND, "list"], capture_output=True, encoding="utf-8", env={}, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "wikipedia: nothing to index: set at least one of CATEGORIES, TITLES and GEO\n"


class _Noting(dict[str, str]):
    """An environment that notes which settings are read."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def test_the_readme_and_the_page_name_every_setting_that_is_read_and_no_other() -> None:
    env = _Noting({"TITLES": "A"})
    read_settings(env)
    for path in (README, PAGE):
        rows = re.findall(r"^\| *((?:`[A-Z_]+`(?:, )?)+) *\|", path.read_text(encoding="utf-8"), re.M)
        assert {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)} == env.read, path.name


def test_the_readme_names_every_heading_that_is_left_out() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    listed = text.partition("these are left out: ")[2].partition(".")[0]
    assert tuple(re.split("[,;] ", listed)) == SKIPPED


def test_the_release_in_the_user_agent_is_that_of_the_package() -> None:
    pyproject = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert f'name = "{PACKAGE}"' in pyproject and f'version = "{RELEASE}"' in pyproject
