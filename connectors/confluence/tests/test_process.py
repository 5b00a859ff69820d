"""The connector as the core runs it: a process of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from passageway.config import MAX_OUTPUT_BYTES
from passageway.protocol import FETCH_IDS, Connector
from passageway.testing.contract import check_connector
from passageway_connector_confluence import settings
from passageway_connector_confluence.testing import EMAIL, TOKEN, FakeConfluence, FakePage

COMMAND = [sys.executable, "-m", "passageway_connector_confluence"]
PACKAGE = Path(settings.__file__).parent
README = PACKAGE.parent / "README.md"
DOCS = PACKAGE.parents[2] / "docs" / "connectors" / "confluence.md"
GOLDEN = Path(__file__).with_name("golden.jsonl")


def connector(site: FakeConfluence) -> Connector:
    secrets = {name: value for name, value in site.env.items() if name in ("TOKEN", "EMAIL")}
    env = {name: value for name, value in site.env.items() if name not in secrets}
    return Connector("wiki", COMMAND, env=env, secrets=secrets)


def fill(site: FakeConfluence) -> None:
    """A page of each kind of content, from the files in pages/."""
    folder = Path(__file__).with_name("pages")
    titles = {"1": "Operations", "2": "Gateway", "3": "Onboarding", "4": "Ports"}
    parents = {"2": "1", "4": "2"}
    for page_id, title in titles.items():
        body = (folder / f"{title.lower()}.xml").read_text(encoding="utf-8")
        labels = ("runbook",) if page_id == "2" else ()
        space = "HR" if page_id == "3" else "OPS"
        site.add(FakePage(page_id, title, body, space, parents.get(page_id, ""), labels))


def test_it_keeps_every_rule_of_the_protocol(either: FakeConfluence) -> None:
    fill(either)
    check_connector(connector(either))


def test_the_records_are_those_that_were_read_and_found_right(either: FakeConfluence) -> None:
    """The same for both kinds, the context path aside. A wanted change raises `_RECORD_FORM` in pages.py too."""
    fill(either)
    done = run(["fetch"], either.env, ["1", "2", "3", "4"])
    records = [json.loads(line) for line in done.stdout.splitlines()]
    golden = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    for item in records:
        assert item.pop("version").startswith("1-")
        item["url"] = item["url"].replace("https://wiki.example.org/wiki/", "https://wiki.example.org/")
    assert records == golden


def test_token_and_address_stand_in_no_message_of_the_process(either: FakeConfluence) -> None:
    env = either.env | {"URL": f"{either.server.url}/{TOKEN.replace('=', '%3D')}/{EMAIL}"}
    done = run(["list"], env, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "HTTP 40" in done.stderr
    for secret in (TOKEN, EMAIL) if either.kind == "cloud" else (TOKEN,):
        assert secret not in done.stderr


def run(
    argv: Sequence[str], env: Mapping[str, str], ids: Sequence[str] = (), *, check: bool = True, program: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *argv] if program else [*COMMAND, *argv]
    environment = {"PATH": os.environ["PATH"], **env}
    stdin = "".join(json.dumps({"id": item_id}) + "\n" for item_id in ids)
    return subprocess.run(
        command, env=environment, input=stdin, capture_output=True, text=True, timeout=200, check=check
    )


def test_five_thousand_pages_stay_within_the_limits_and_in_150_mb(
    either: FakeConfluence, watched: Callable[..., dict[str, Any]]
) -> None:
    paragraph = "<p>" + "The gateway drains its connections before it restarts. " * 12 + "</p>"
    body = "".join(f"<h2>Part {part}</h2>{paragraph}" for part in range(6))
    link = '<p><ac:link><ri:page ri:content-title="Page 7"/></ac:link></p>'
    pages = (
        FakePage(str(n), f"Page {n}", body + link, parent=str(n // 10), labels=("runbook",)) for n in range(1, 5000)
    )
    either.add(*pages, FakePage("5000", "Holidays", space="HR"))
    listing = watched([*COMMAND, "list"], either.env)
    ids = [json.loads(line)["id"] for line in listing["output"].splitlines()]
    assert len(ids) == 5000
    fetch = watched([*COMMAND, "fetch"], either.env, ids[100 : 100 + FETCH_IDS])
    assert len(fetch["output"].splitlines()) == FETCH_IDS
    assert len(fetch["output"]) < MAX_OUTPUT_BYTES / 10
    assert max(listing["peak_mib"], fetch["peak_mib"]) < 150
    assert max(listing["wall_s"], fetch["wall_s"]) < 60


def test_it_starts_within_150_ms_of_processor_time(wiki: FakeConfluence, bare_starts: Callable[..., float]) -> None:
    fill(wiki)
    assert bare_starts([*COMMAND, "check"], wiki.env) < 15


def test_importing_it_loads_neither_httpx_nor_lxml() -> None:
    program = (
        "import passageway_connector_confluence.connector, sys; "
        "print(sorted({'httpx', 'lxml', 'truststore'} & sys.modules.keys()))"
    )
    assert run([], {}, program=program).stdout.strip() == "[]"


@pytest.mark.parametrize("page", [README, DOCS], ids=["README", "docs"])
def test_the_page_s_table_has_each_setting_that_the_code_reads(page: Path) -> None:
    source = (PACKAGE / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env(?:, |\.get\()"([A-Z_]+)"', source))
    table = dict(re.findall(r"^\| `([A-Z_]+)` *\| *([^|]*?) *\|", page.read_text(encoding="utf-8"), re.M))
    assert table.keys() == read
    assert table["KIND"] == f"`{settings.DATA_CENTER}`"
    assert table["TIMEOUT"] == f"`{settings.DEFAULT_TIMEOUT_S:g}`"
    assert table["MAX_PAGES"] == f"`{settings.DEFAULT_MAX_PAGES}`"
    assert (table["PAUSE_SECONDS"], table["VERIFY_TLS"]) == ("`0`", "`true`")


@pytest.mark.live
@pytest.mark.skipif(os.environ.get("PASSAGEWAY_LIVE") != "1", reason="asks a real Confluence; set PASSAGEWAY_LIVE=1")
def test_a_real_confluence_keeps_the_rules() -> None:
    """CONFLUENCE_URL, CONFLUENCE_SPACES and CONFLUENCE_TOKEN say which; for Cloud also CONFLUENCE_EMAIL."""
    env = {"URL": os.environ["CONFLUENCE_URL"], "SPACES": os.environ["CONFLUENCE_SPACES"]}
    secrets = {"TOKEN": os.environ["CONFLUENCE_TOKEN"]}
    if email := os.environ.get("CONFLUENCE_EMAIL"):
        env, secrets = env | {"KIND": "cloud"}, secrets | {"EMAIL": email}
    check_connector(Connector("wiki", COMMAND, env=env, secrets=secrets))
