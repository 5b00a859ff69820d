"""The connector as the core runs it: a program."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passageway.errors import ConnectorError
from passageway.protocol import Connector
from passageway.testing.contract import check_connector
from passageway_connector_llmstxt.settings import read_settings

COMMAND = [sys.executable, "-m", "passageway_connector_llmstxt"]
HERE = Path(__file__).parent
README = HERE.parent / "README.md"
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "connectors" / "llmstxt.md"


@pytest.fixture
def connector(website: Any) -> Connector:
    for path in (HERE / "site").rglob("*.*"):
        website.put(f"/{path.relative_to(HERE / 'site').as_posix()}", path.read_bytes())
    urls = f"{website.url}|{website.url}/mintlify/llms-full.txt|{website.url}/docs/llms.txt"
    return Connector("docs", COMMAND, env={"URLS": urls, "WEIGHTS": "changelog=0.5"})


def test_it_keeps_the_rules_of_the_protocol(connector: Connector) -> None:
    check_connector(connector)


def test_its_items_are_these(website: Any, connector: Connector) -> None:
    ids = list(connector.list())
    result = subprocess.run(
        [*COMMAND, "fetch"],
        input="".join(json.dumps({"id": item_id}) + "\n" for item_id in ids),
        capture_output=True,
        encoding="utf-8",
        env={
            "URLS": f"{website.url}|{website.url}/mintlify/llms-full.txt|{website.url}/docs/llms.txt",
            "WEIGHTS": "changelog=0.5",
        },
        timeout=60,
        check=True,
    )
    text = result.stdout.replace(website.host, "docs.example.org:8000")
    items = [json.loads(line) for line in text.splitlines()]
    # The version is a hash over the address too, and the port of the site is another one each time.
    assert all(re.fullmatch("[0-9a-f]{16}", item.pop("version")) for item in items)
    assert items == json.loads((HERE / "items.json").read_text(encoding="utf-8"))
    assert result.stderr == ""


def test_five_thousand_pages_are_listed_and_fifty_fetched_in_little_memory(
    website: Any, watched: Callable[..., dict[str, Any]]
) -> None:
    # The letter outside the basic plane makes Python hold every letter of the whole text in four bytes.
    text = "Boats were built here for a long time. " * 48
    page = "# Boat {0} \U0001f6a3\nSource: /boats/{0}.md\n\n{1}\n\n"
    website.put("/llms-full.txt", "".join(page.format(number, text) for number in range(5000)))
    listing = watched([*COMMAND, "list"], {"URLS": website.url})
    ids = [json.loads(line)["id"] for line in listing["output"].splitlines()]
    fetch = watched([*COMMAND, "fetch"], {"URLS": website.url}, ids[::100])
    assert len(ids) == 5000 and len(fetch["output"].splitlines()) == 50
    assert listing["peak_mib"] < 150 and fetch["peak_mib"] < 150
    assert website.asked == ["/llms-full.txt"] * 2


def test_a_failure_reaches_the_core_as_one_sentence(website: Any, connector: Connector) -> None:
    del website.files["/docs/mast.md"]
    with pytest.raises(ConnectorError, match=r"/docs/mast\.md: HTTP 404") as failure:
        connector.list()
    assert "Traceback" not in str(failure.value)


def test_a_missing_setting_exits_2_without_a_traceback() -> None:
    result = subprocess.run([*COMMAND, "list"], capture_output=True, encoding="utf-8", env={}, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "llmstxt: URLS is missing: set it to addresses of sites or files, separated by |\n"


class _Noting(dict[str, str]):
    """An environment that notes which settings are read."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def test_the_readme_and_the_page_name_every_setting_that_is_read_and_no_other() -> None:
    env = _Noting({"URLS": "https://docs.example.org"})
    read_settings(env)
    for path in (README, PAGE):
        rows = re.findall(r"^\| *`([A-Z_]+)` *\|", path.read_text(encoding="utf-8"), re.M)
        assert set(rows) == env.read, path.name
