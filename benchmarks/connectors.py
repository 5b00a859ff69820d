"""What a call of the network connectors costs: time to the first byte, big listings, a full fetch, memory.

    .venv/bin/python benchmarks/connectors.py

Each call is a process as the core starts it, against a server on this machine, so the network adds nothing. Times are
medians; the load of the machine is printed beside them, since a busy one makes every start slower.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from passageway_connector_confluence.testing import FakeConfluence, FakePage
from passageway_connector_trilium.testing import FakeNote, FakeTrilium
from passageway_sdk.web.testing import Answer, LocalServer

ROOT = Path(__file__).parents[1]
WATCHED_CALL = ROOT / "benchmarks" / "watched_call.py"
STARTS = 31
PAGES = 5000
FETCHED = 50
TEXT = "== History ==\n" + "Boats were built here for a long time, of oak and later of steel. " * 60


def call(module: str, mode: str, env: dict[str, str], ids: Sequence[str] = ()) -> dict[str, Any]:
    """What `watched_call.py` says about one call."""
    result = subprocess.run(
        [sys.executable, WATCHED_CALL, sys.executable, "-m", module, mode],
        input="".join(json.dumps({"id": item_id}) + "\n" for item_id in ids),
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    cost: dict[str, Any] = json.loads(result.stdout)
    if cost["exit_code"] != 0:
        raise SystemExit(f"{module} {mode} ended with {cost['exit_code']}: {result.stderr}")
    return cost


def report(name: str, module: str, small: dict[str, str], large: dict[str, str]) -> None:
    call(module, "list", small)
    starts = [call(module, "list", small) for _ in range(STARTS)]
    first_ms, cpu_ms = (statistics.median(start[part] for start in starts) * 1000 for part in ("first_byte_s", "cpu_s"))
    print(f"{name}: list of one item, first byte {first_ms:.0f} ms, {cpu_ms:.0f} ms of processor time")
    listing = call(module, "list", large)
    ids = [json.loads(line)["id"] for line in listing["output"].splitlines()]
    print(f"{name}: list of {len(ids)} items {listing['wall_s']:.1f} s, peak {listing['peak_mib']:.0f} MiB")
    fetch = call(module, "fetch", large, ids[:: len(ids) // FETCHED][:FETCHED])
    print(
        f"{name}: fetch of {len(fetch['output'].splitlines())} items {fetch['wall_s']:.1f} s, "
        f"{len(fetch['output']) / 1000:.0f} kB printed, peak {fetch['peak_mib']:.0f} MiB"
    )


def wikipedia() -> None:
    mediawiki = load(ROOT / "connectors" / "wikipedia" / "tests" / "mediawiki.py")
    wiki = mediawiki.Wiki()
    wiki.add(*(mediawiki.Page(n, f"Boat {n}", TEXT, categories=("Category:Boats",)) for n in range(1, PAGES + 1)))
    server, api_url = mediawiki.serve(wiki)
    with server:
        env = {"API_URL": api_url(), "PAUSE_SECONDS": "0.1"}
        large = {**env, "CATEGORIES": "Boats", "MAX_PAGES": str(PAGES)}
        report("wikipedia", "passageway_connector_wikipedia", {**env, "TITLES": "Boat 1"}, large)


def llmstxt() -> None:
    page = "# Boat {0} \U0001f6a3\nSource: https://docs.example.org/boats/{0}\n\n{1}\n\n## Care\n\n{1}\n\n"
    text = "Boats were built here for a long time, of oak and later of steel. " * 29
    full = "".join(page.format(number, text) for number in range(PAGES))
    files = {"/llms-full.txt": full, "/small.md": "# One\n\nText."}
    with LocalServer(lambda request: Answer(files[request.path], content_type="text/markdown")) as server:
        small, large = f"{server.url}/small.md", server.url
        print(f"llmstxt: the file has {len(full) / 1e6:.1f} MB")
        report("llmstxt", "passageway_connector_llmstxt", {"URLS": small}, {"URLS": large})


def trilium() -> None:
    page = "<h2>History</h2>" + f"<p>{TEXT}</p>" + '<p><a href="#root/n1">one</a></p>'
    labels, relations = (("wikiType", "concept"), ("wikiTopic", "boats")), (("internalLink", "n1"),)
    notes = (FakeNote(f"n{n}", f"Boat {n}", page, (f"f{n % 50}",), labels, relations) for n in range(PAGES - 51))
    with FakeTrilium() as small, FakeTrilium() as large:
        small.add(FakeNote("n1", "Boat", page))
        large.add(FakeNote("wiki", "Wiki", labels=(("llmWikiPart", "wiki"),)), *notes)
        large.add(*(FakeNote(f"f{n}", f"Harbour {n}", parents=("wiki",)) for n in range(50)))
        report("trilium", "passageway_connector_trilium", small.env, large.env)


def confluence() -> None:
    page = "<h2>History</h2>" + f"<p>{TEXT}</p>" + '<p><ac:link><ri:page ri:content-title="Boat 1"/></ac:link></p>'
    for kind in ("datacenter", "cloud"):
        with FakeConfluence(kind=kind) as small, FakeConfluence(kind=kind) as large:
            small.add(FakePage("1", "Boat 1", page))
            large.add(*(FakePage(str(n), f"Boat {n}", page, parent=str(n // 10)) for n in range(1, PAGES + 1)))
            one_space = {"SPACES": "OPS"}
            report(
                f"confluence {kind}", "passageway_connector_confluence", small.env | one_space, large.env | one_space
            )


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    wikipedia()
    llmstxt()
    trilium()
    confluence()
