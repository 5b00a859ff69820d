"""The connector as the core runs it: a process of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passageway.config import MAX_OUTPUT_BYTES
from passageway.protocol import FETCH_IDS, Connector
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


def test_five_thousand_notes_stay_within_the_limits_and_in_150_mb(
    trilium: FakeTrilium, watched: Callable[..., dict[str, Any]]
) -> None:
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
    listing = watched([*COMMAND, "list"], trilium.env)
    ids = [json.loads(line)["id"] for line in listing["output"].splitlines()]
    assert len(ids) == 5000
    fetch = watched([*COMMAND, "fetch"], trilium.env, ids[-FETCH_IDS:])
    assert [json.loads(line)["id"] for line in fetch["output"].splitlines()] == ids[-FETCH_IDS:]
    assert len(fetch["output"]) < MAX_OUTPUT_BYTES / 10
    assert max(listing["peak_mib"], fetch["peak_mib"]) < 150
    assert max(listing["wall_s"], fetch["wall_s"]) < 60


def test_it_starts_within_150_ms_of_processor_time(trilium: FakeTrilium, bare_starts: Callable[..., float]) -> None:
    small_wiki(trilium)
    assert bare_starts([*COMMAND, "check"], trilium.env) < 15


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
