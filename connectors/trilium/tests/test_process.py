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
from passageway_connector_trilium import settings
from passageway_connector_trilium.testing import FakeNote, FakeTrilium

COMMAND = [sys.executable, "-m", "passageway_connector_trilium"]
PACKAGE = Path(settings.__file__).parent
README = PACKAGE.parent / "README.md"
DOCS = PACKAGE.parents[2] / "docs" / "connectors" / "trilium.md"


def connector(trilium: FakeTrilium) -> Connector:
    token = trilium.env["TOKEN"]
    env = {name: value for name, value in trilium.env.items() if name != "TOKEN"}
    return Connector("notes", COMMAND, env=env, secrets={"TOKEN": token})


def small_wiki(trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("wiki", "Wiki", labels=(("llmWikiPart", "wiki"),)),
        FakeNote(
            "keel", "Keel", "<p>Lead.</p><h2>Bolts</h2><p>Bronze.</p>", ("wiki",), relations=(("wikiSource", "src"),)
        ),
        FakeNote("src", "Yard report", "<p>Long.</p>"),
        FakeNote("code", "Script", "print(1)", type="code", mime="text/x-python"),
        FakeNote("lock", "Secret", is_protected=True),
    )


def test_it_keeps_every_rule_of_the_protocol(trilium: FakeTrilium) -> None:
    small_wiki(trilium)
    check_connector(connector(trilium))


def test_the_token_stands_in_no_message_of_the_process(trilium: FakeTrilium) -> None:
    token = "etapi-very-secret"
    env = {"PATH": os.environ["PATH"], "URL": f"{trilium.server.url}/{token}", "TOKEN": token}
    done = subprocess.run([*COMMAND, "list"], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "HTTP 404" in done.stderr or "HTTP 401" in done.stderr
    assert token not in done.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_five_thousand_notes_stay_within_the_limits_and_in_150_mb(trilium: FakeTrilium, capsys: Any) -> None:
    paragraph = "<p>" + "Das Segel wird am Mast gesetzt und die Schot belegt. " * 12 + "</p>"
    trilium.add(FakeNote("wiki", "Wiki", labels=(("llmWikiPart!", "wiki"), ("wikiStatus!", "done"))))
    trilium.add(*(FakeNote(f"folder{n}", f"Folder {n}", parents=("wiki",)) for n in range(50)))
    body = "".join(f"<h2>Teil {part}</h2>{paragraph}" for part in range(6))
    labels, relations = (
        (("wikiType", "concept"), ("wikiTopic", "sails")),
        (("internalLink", "folder1"), ("relatesTo", "folder2")),
    )
    trilium.add(
        *(FakeNote(f"note{n}", f"Note {n}", body, (f"folder{n % 50}",), labels, relations) for n in range(4949))
    )
    listed, listing_s, listing_mb = measured(["list"], trilium.env)
    assert len(listed) == 5000
    ids = [message["id"] for message in listed][-FETCH_IDS:]
    items, fetch_s, fetch_mb = measured(["fetch"], trilium.env, ids)
    assert [item["id"] for item in items] == ids
    assert sum(len(json.dumps(item)) for item in items) < MAX_OUTPUT_BYTES / 10
    with capsys.disabled():
        print(f"\ntrilium: list of 5,000 in {listing_s:.2f} s and {listing_mb:.0f} MB")
        print(f"trilium: fetch of 50 in {fetch_s:.2f} s and {fetch_mb:.0f} MB")
    assert max(listing_mb, fetch_mb) < 150
    assert max(listing_s, fetch_s) < 60


# The kernel's count of a process that was only just started includes what the test holds, so the process counts itself.
MEASURED = """
import atexit, sys
from passageway_connector_trilium.connector import TriliumConnector
def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        print(next(line for line in status if line.startswith("VmHWM")).split()[1], file=sys.stderr)
atexit.register(peak)
TriliumConnector.main()
"""


def measured(argv: list[str], env: Mapping[str, str], ids: Sequence[str] = ()) -> tuple[list[Any], float, float]:
    """(messages, seconds, peak MB) of one call."""
    started = time.perf_counter()
    environment = {"PATH": os.environ["PATH"], **env}
    stdin = "".join(json.dumps({"id": item_id}) + "\n" for item_id in ids)
    command = [sys.executable, "-c", MEASURED, *argv]
    done = subprocess.run(
        command, env=environment, input=stdin, capture_output=True, text=True, timeout=200, check=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return messages, time.perf_counter() - started, int(done.stderr.splitlines()[-1]) / 1024


def test_it_starts_within_150_ms_of_processor_time(trilium: FakeTrilium, capsys: Any) -> None:
    """Counted in starts of a bare Python, 10 ms each where nothing else runs: this machine may have other work."""
    small_wiki(trilium)
    environment = {"PATH": os.environ["PATH"], **trilium.env}
    wall_ms, processor_ms, bare_ms = [], [], []
    for _ in range(15):
        started, used = time.perf_counter(), processor_s()
        with subprocess.Popen(
            [*COMMAND, "check"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            assert run.stdout is not None
            assert run.stdout.read(1) == b"{"
            wall_ms.append(1000 * (time.perf_counter() - started))
            run.communicate(timeout=60)
        processor_ms.append(1000 * (processor_s() - used))
        used = processor_s()
        subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True, timeout=60)
        bare_ms.append(1000 * (processor_s() - used))
    first, own, bare = map(statistics.median, (wall_ms, processor_ms, bare_ms))
    with capsys.disabled():
        print(f"\ntrilium: first byte after {first:.0f} ms, {own:.0f} ms of processor time; bare Python {bare:.0f} ms")
    assert own / bare < 15


def processor_s() -> float:
    """What the child processes that have ended used, all together."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_importing_it_loads_neither_httpx_nor_lxml() -> None:
    program = (
        "import passageway_connector_trilium.connector, sys; "
        "print(sorted({'httpx', 'lxml', 'truststore'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("page", [README, DOCS], ids=["README", "docs"])
def test_the_page_s_table_has_each_setting_that_the_code_reads(page: Path) -> None:
    source = (PACKAGE / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env(?:, |\.get\()"([A-Z_]+)"', source))
    table = dict(re.findall(r"^\| `([A-Z_]+)` *\| *([^|]*?) *\|", page.read_text(encoding="utf-8"), re.M))
    assert table.keys() == read
    assert table["TIMEOUT"] == f"`{settings.DEFAULT_TIMEOUT_S:g}`"
    assert table["MAX_NOTE_BYTES"] == f"`{settings.DEFAULT_MAX_NOTE_BYTES}`"


@pytest.mark.live
@pytest.mark.skipif(os.environ.get("PASSAGEWAY_LIVE") != "1", reason="asks a real Trilium; set PASSAGEWAY_LIVE=1")
def test_a_real_trilium_keeps_the_rules() -> None:
    """TRILIUM_URL and TRILIUM_TOKEN say which."""
    env, secrets = {"URL": os.environ["TRILIUM_URL"]}, {"TOKEN": os.environ["TRILIUM_TOKEN"]}
    check_connector(Connector("notes", COMMAND, env=env, secrets=secrets))
