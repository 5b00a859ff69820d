"""What the index holds after each thing that can happen to a site: the connector's process under the real sync."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from passageway.config import ConnectorConfig
from passageway.errors import ConnectorError, DeletionRefusedError, PassagewayError
from passageway_query.search import Search
from passageway_sdk.web.testing import Answer, Request
from passageway_sync.sync import SourceSync

LOGIN = Answer("<!doctype html><form><input type='password'></form>", content_type="text/html")
FULL = {"Hull": "Oak planks.", "Keel": "Lead.", "Mast": "Spruce.", "Rope": "Hemp."}
BUILT = {
    **{f"llms-full.txt#/{title.lower()}.md": f"{title}: {text}" for title, text in FULL.items()},
    "docs/a.md#anchor": "Anchor: Iron.",
    "docs/b.md#buoy": "Buoy: Cork.",
}
Index = Callable[[], dict[str, str]]
Open = Callable[..., SourceSync]


def full_file(texts: dict[str, str]) -> str:
    return "".join(f"# {title}\nSource: /{title.lower()}.md\n\n{text}\n\n" for title, text in texts.items())


@pytest.fixture(autouse=True)
def files(website: Any) -> None:
    website.put("/llms-full.txt", full_file(FULL))
    website.put("/docs/llms.txt", "# Docs\n\n- [Anchor](a.md)\n- [Buoy](b.md)\n")
    website.put("/docs/a.md", "# Anchor\n\nIron.")
    website.put("/docs/b.md", "# Buoy\n\nCork.")


@pytest.fixture
def open_sync(website: Any, embedder: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the sync of the source, which closes the one before."""
    opened: list[SourceSync] = []

    def make(timeout: float = 60, **settings: str) -> SourceSync:
        env = {"URLS": f"{website.url}|{website.url}/docs/llms.txt", **settings}
        command = [sys.executable, "-m", "passageway_connector_llmstxt"]
        config = ConnectorConfig(name="docs", command=command, env=env, timeout=timeout)
        for before in opened:
            before.close()
        opened.append(SourceSync(config, tmp_path, embedder))
        return opened[-1]

    yield make
    for sync in opened:
        sync.close()


@pytest.fixture
def trouble_at(website: Any) -> Callable[..., None]:
    """Answers the request of a number, counted from now, in another way, and those after it when told so."""
    usual = website.server.answer

    def spoil(number: int, trouble: Answer, *, for_ever: bool = False) -> None:
        start = len(website.server.requests)

        def answer(request: Request) -> Answer:
            count = len(website.server.requests) - start
            spoilt: Answer = trouble if count == number or (for_ever and count > number) else usual(request)
            return spoilt

        website.server.answer = answer

    return spoil


@pytest.fixture
def sync(open_sync: Open) -> SourceSync:
    """A sync whose first build is done."""
    made = open_sync()
    made.reconcile()
    return made


@pytest.fixture
def index(website: Any, embedder: Any, tmp_path: Path) -> Index:
    """What is indexed: title and text of each page, by its id without the site."""

    def read() -> dict[str, str]:
        with closing(Search(tmp_path, embedder)) as search:
            return {
                item.id.removeprefix(f"{website.url}/"): f"{item.title}: {' › '.join(s.text for s in item.sections)}"
                for item in search.items()
            }

    return read


def test_a_build_an_edit_a_move_and_a_deletion_are_followed(
    website: Any, sync: SourceSync, index: Index, embedder: Any
) -> None:
    assert index() == BUILT

    embedder.texts.clear()
    website.put("/llms-full.txt", full_file(FULL | {"Mast": "Ash."}))
    assert sync.reconcile().changed == 1
    expected = BUILT | {"llms-full.txt#/mast.md": "Mast: Ash."}
    assert index() == expected
    assert len(embedder.texts) == 1 and "Ash." in embedder.texts[0]

    website.put("/docs/llms.txt", "# Docs\n\n- [Anchor](a.md)\n- [Buoy](marks/buoy.md)\n")
    website.files["/docs/marks/buoy.md"] = website.files.pop("/docs/b.md")
    report = sync.reconcile()
    assert (report.changed, report.removed) == (1, 1)
    expected["docs/marks/buoy.md#buoy"] = expected.pop("docs/b.md#buoy")
    assert index() == expected

    website.put("/llms-full.txt", full_file({"Hull": FULL["Hull"], "Keel": FULL["Keel"], "Mast": "Ash."}))
    assert sync.reconcile().removed == 1
    del expected["llms-full.txt#/rope.md"]
    assert index() == expected


def test_a_page_that_is_fetched_again_unchanged_is_not_embedded_again(
    website: Any, sync: SourceSync, open_sync: Open, embedder: Any
) -> None:
    embedder.texts.clear()
    weighted = open_sync(WEIGHTS="docs/=0.5")
    assert weighted.reconcile().changed == 2
    assert weighted.reconcile().changed == 0
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("path", "trouble", "error", "words"),
    [
        ("/llms-full.txt", LOGIN, ConnectorError, "sign-in page"),
        ("/docs/llms.txt", LOGIN, ConnectorError, "sign-in page"),
        ("/llms-full.txt", Answer("\n", content_type="text/plain"), ConnectorError, "is empty"),
        ("/docs/llms.txt", Answer("# Docs\n", content_type="text/plain"), ConnectorError, "links to no pages"),
        ("/llms-full.txt", Answer(full_file({"Hull": "Oak planks."})), DeletionRefusedError, "3 of 6"),
        ("/docs/a.md", Answer(status=404), ConnectorError, r"a\.md: HTTP 404"),
        ("/llms-full.txt", Answer(status=403), ConnectorError, "HTTP 403"),
    ],
    ids=[
        *("a login page", "a login page for an index", "an empty file", "an empty index", "a file cut off at a page"),
        *("a dead link", "a refusal"),
    ],
)
def test_trouble_with_the_listing_changes_nothing_and_says_one_thing(
    website: Any,
    sync: SourceSync,
    index: Index,
    path: str,
    trouble: Answer,
    error: type[PassagewayError],
    words: str,
) -> None:
    kept = website.files[path]
    website.put("/docs/b.md", "# Buoy\n\nSteel.")
    website.files[path] = trouble
    with pytest.raises(error, match=words):
        sync.reconcile()
    assert index() == BUILT
    website.files[path] = kept
    assert sync.reconcile().changed == 1
    assert index() == BUILT | {"docs/b.md#buoy": "Buoy: Steel."}


def test_an_index_whose_pages_all_ask_to_sign_in_deletes_none_of_them(
    website: Any, sync: SourceSync, index: Index
) -> None:
    kept = {path: website.files[path] for path in ("/docs/a.md", "/docs/b.md")}
    website.files |= dict.fromkeys(kept, LOGIN)
    with pytest.raises(ConnectorError, match=r"/docs/llms\.txt: holds nothing to index"):
        sync.reconcile()
    assert index() == BUILT
    website.files |= kept
    assert sync.reconcile().changed == 0


def test_one_linked_page_that_is_a_page_for_people_leaves_the_index_and_comes_back(
    website: Any, sync: SourceSync, index: Index
) -> None:
    kept = website.files["/docs/b.md"]
    website.files["/docs/b.md"] = LOGIN
    assert sync.reconcile().removed == 1
    assert index() == {key: text for key, text in BUILT.items() if key != "docs/b.md#buoy"}
    website.files["/docs/b.md"] = kept
    sync.reconcile()
    assert index() == BUILT


A_LISTING = 4
"""Requests: the full file, the index and its two pages."""


def test_a_fetch_that_fails_half_way_stores_nothing_of_that_call(
    website: Any, sync: SourceSync, index: Index, trouble_at: Callable[..., None]
) -> None:
    website.put("/llms-full.txt", full_file(FULL | {"Hull": "Larch planks."}))
    website.put("/docs/a.md", "# Anchor\n\nSteel.")
    website.put("/docs/b.md", "# Buoy\n\nSteel.")
    trouble_at(A_LISTING + 4, Answer(status=403))
    with pytest.raises(ConnectorError, match=r"1 of 1 fetch batches failed: .*/docs/b\.md: HTTP 403"):
        sync.reconcile()
    assert index() == BUILT
    sync.reconcile()
    assert index() == BUILT | {
        "llms-full.txt#/hull.md": "Hull: Larch planks.",
        "docs/a.md#anchor": "Anchor: Steel.",
        "docs/b.md#buoy": "Buoy: Steel.",
    }


def test_a_busy_site_and_a_body_that_was_cut_off_only_take_longer(
    website: Any, open_sync: Open, index: Index, trouble_at: Callable[..., None]
) -> None:
    trouble_at(1, Answer(status=429, headers={"Retry-After": "0"}))
    first = open_sync()
    first.reconcile()
    assert index() == BUILT
    website.put("/llms-full.txt", full_file(FULL | {"Hull": "Larch planks."}))
    trouble_at(1, Answer(full_file(FULL), cut=True))
    first.reconcile()
    assert index() == BUILT | {"llms-full.txt#/hull.md": "Hull: Larch planks."}


@pytest.mark.parametrize("status", [429, 503])
def test_a_storm_that_outlasts_the_call_changes_nothing(
    sync: SourceSync, open_sync: Open, index: Index, trouble_at: Callable[..., None], website: Any, status: int
) -> None:
    usual = website.server.answer
    trouble_at(2, Answer(status=status, headers={"Retry-After": "60"}), for_ever=True)
    with pytest.raises(ConnectorError, match=r"took longer than 2 s and was killed; `timeout` is the limit"):
        open_sync(timeout=2).reconcile()
    assert index() == BUILT
    website.server.answer = usual
    assert open_sync().reconcile().changed == 0
