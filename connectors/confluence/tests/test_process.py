"""The connector as the core runs it: a process of its own."""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from passageway.protocol import FETCH_IDS, MAX_OUTPUT_BYTES, Connector
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


# The kernel's count of a process that was only just started includes what the test holds, so the process counts itself.
MEASURED = """
import atexit, sys
from passageway_connector_confluence.connector import ConfluenceConnector
def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        print(next(line for line in status if line.startswith("VmHWM")).split()[1], file=sys.stderr)
atexit.register(peak)
ConfluenceConnector.main()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_five_thousand_pages_stay_within_the_limits_and_in_150_mb(either: FakeConfluence, capsys: Any) -> None:
    paragraph = "<p>" + "The gateway drains its connections before it restarts. " * 12 + "</p>"
    body = "".join(f"<h2>Part {part}</h2>{paragraph}" for part in range(6))
    link = '<p><ac:link><ri:page ri:content-title="Page 7"/></ac:link></p>'
    pages = (
        FakePage(str(n), f"Page {n}", body + link, parent=str(n // 10), labels=("runbook",)) for n in range(1, 5000)
    )
    either.add(*pages, FakePage("5000", "Holidays", space="HR"))
    started = time.perf_counter()
    listing = run(["list"], either.env, program=MEASURED)
    listing_s = time.perf_counter() - started
    ids = [json.loads(line)["id"] for line in listing.stdout.splitlines()]
    assert len(ids) == 5000
    started = time.perf_counter()
    fetch = run(["fetch"], either.env, ids[100 : 100 + FETCH_IDS], program=MEASURED)
    fetch_s = time.perf_counter() - started
    assert len(fetch.stdout.splitlines()) == FETCH_IDS
    assert len(fetch.stdout) < MAX_OUTPUT_BYTES / 10
    listing_mb, fetch_mb = (int(done.stderr.splitlines()[-1]) / 1024 for done in (listing, fetch))
    with capsys.disabled():
        print(f"\nconfluence {either.kind}: list of 5,000 in {listing_s:.2f} s and {listing_mb:.0f} MB")
        print(f"confluence {either.kind}: fetch of 50 in {fetch_s:.2f} s and {fetch_mb:.0f} MB")
    assert max(listing_mb, fetch_mb) < 150
    assert max(listing_s, fetch_s) < 60


def test_it_starts_within_150_ms_of_processor_time(wiki: FakeConfluence, capsys: Any) -> None:
    """Counted in starts of a bare Python, 10 ms each where nothing else runs: this machine may have other work."""
    fill(wiki)
    environment = {"PATH": os.environ["PATH"], **wiki.env}
    wall_ms, processor_ms, bare_ms = [], [], []
    for _ in range(15):
        started, used = time.perf_counter(), processor_s()
        with subprocess.Popen([*COMMAND, "check"], env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"{"
            wall_ms.append(1000 * (time.perf_counter() - started))
            process.communicate(timeout=60)
        processor_ms.append(1000 * (processor_s() - used))
        used = processor_s()
        subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True, timeout=60)
        bare_ms.append(1000 * (processor_s() - used))
    first, own, bare = map(statistics.median, (wall_ms, processor_ms, bare_ms))
    with capsys.disabled():
        print(
            f"\nconfluence: first byte after {first:.0f} ms, {own:.0f} ms of processor time; bare Python {bare:.0f} ms"
        )
    assert own / bare < 15


def processor_s() -> float:
    """What the child processes that have ended used, all together."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
