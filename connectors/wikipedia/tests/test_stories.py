"""What the index holds after each thing that can happen to a wiki: the connector's process under the real sync."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from passageway.config import ConnectorConfig
from passageway.errors import ConnectorError, DeletionRefusedError
from passageway_query.search import Search
from passageway_sdk.web.testing import Answer
from passageway_sync.sync import SourceSync

LOGIN = Answer("<!doctype html><form><input type='password'></form>", content_type="text/html")
BUILT = {
    "2": "Dinghy: A small boat.",
    "3": "Jib: A sail before the mast.",
    "4": "Keel: History › Once of oak. › Now of lead.",
    "5": "Mast: Of spruce.",
}
Index = Callable[[], dict[str, str]]
Open = Callable[..., SourceSync]


@pytest.fixture(autouse=True)
def pages(wiki: Any, mediawiki: ModuleType) -> None:
    page, boats, sails = mediawiki.Page, ("Category:Boats",), ("Category:Sails",)
    wiki.add(
        page(1, "Category:Sails", categories=boats),
        page(2, "Dinghy", "A small boat.", categories=boats),
        page(3, "Jib", "A sail before the mast.", categories=sails),
        page(4, "Keel", "== History ==\nOnce of oak.\n=== Today ===\nNow of lead.", categories=boats),
        page(5, "Mast", "Of spruce.", categories=boats),
        page(6, "Jibs", redirect_to="Jib", categories=sails),
    )


@pytest.fixture
def open_sync(wiki: Any, embedder: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the sync of the source, which closes the one before."""
    opened: list[SourceSync] = []

    def make(**changes: Any) -> SourceSync:
        env = {"API_URL": f"{wiki.server.url}/w/api.php", "CATEGORIES": "Boats", "PAUSE_SECONDS": "0"}
        command = [sys.executable, "-m", "passageway_connector_wikipedia"]
        config = ConnectorConfig(name="boats", command=command, env=env, **changes)
        for before in opened:
            before.close()
        opened.append(SourceSync(config, tmp_path, embedder))
        return opened[-1]

    yield make
    for sync in opened:
        sync.close()


@pytest.fixture
def sync(open_sync: Open) -> SourceSync:
    """A sync whose first build is done."""
    made = open_sync()
    made.reconcile()
    return made


@pytest.fixture
def index(embedder: Any, tmp_path: Path) -> Index:
    """What is indexed: title, headings and text of each page."""

    def read() -> dict[str, str]:
        with closing(Search(tmp_path, embedder)) as search:
            return {item.id: f"{item.title}: {_text(item.sections)}" for item in search.items()}

    return read


def _text(sections: Sequence[Any]) -> str:
    first = sections[0].heading
    return " › ".join([*([first] if first else []), *(section.text for section in sections)])


def test_a_build_an_edit_a_move_and_a_deletion_are_followed(
    wiki: Any, sync: SourceSync, index: Index, embedder: Any
) -> None:
    assert index() == BUILT

    embedder.texts.clear()
    wiki.edit(4, extract="== History ==\nOnce of oak.\n=== Today ===\nNow of steel.")
    assert sync.reconcile().changed == 1
    assert index() == BUILT | {"4": "Keel: History › Once of oak. › Now of steel."}
    assert len(embedder.texts) == 1 and "steel" in embedder.texts[0]

    # A wiki that moves a page keeps its number and adds a revision; the old title becomes a redirect with a new number.
    wiki.edit(3, title="Foresail")
    moved = BUILT | {"3": "Foresail: A sail before the mast.", "4": "Keel: History › Once of oak. › Now of steel."}
    assert sync.reconcile().changed == 1
    assert index() == moved

    del wiki.pages[5]
    assert sync.reconcile().removed == 1
    moved.pop("5")
    assert index() == moved


@pytest.mark.parametrize("change", [{"categories": ()}, {"redirect_to": "Keel"}], ids=["no category", "a redirect"])
def test_a_page_that_leaves_the_scope_leaves_the_index(
    wiki: Any, sync: SourceSync, index: Index, change: dict[str, Any]
) -> None:
    wiki.edit(5, **change)
    assert sync.reconcile().removed == 1
    assert index() == {key: text for key, text in BUILT.items() if key != "5"}


def test_a_page_that_is_fetched_again_unchanged_is_not_embedded_again(
    wiki: Any, sync: SourceSync, embedder: Any
) -> None:
    embedder.texts.clear()
    wiki.edit(4)
    assert sync.reconcile().changed == 1
    assert sync.reconcile().changed == 0
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (LOGIN, "sign-in page"),
        (Answer('{"batchcomplete": true}'), "no page found"),
        (Answer('{"batchcomplete": true, "query": {"pages": ['), "expected JSON"),
        (Answer('{"error": {"code": "readapidenied", "info": "Sign in."}}'), "'readapidenied': Sign in."),
        (Answer(status=403), "HTTP 403"),
        (Answer(status=500), "HTTP 500"),
        (Answer("gone", status=404), "HTTP 404"),
    ],
    ids=["a login page", "nothing", "half a body", "an error with 200", "a refusal", "a fault", "another server"],
)
def test_trouble_with_the_listing_changes_nothing_and_says_one_thing(
    wiki: Any, sync: SourceSync, index: Index, trouble: Answer, words: str
) -> None:
    wiki.edit(2, extract="A small sailing boat.")
    wiki.faults.extend([trouble] * 3)
    with pytest.raises(ConnectorError, match=words):
        sync.reconcile()
    assert index() == BUILT
    wiki.faults.clear()
    assert sync.reconcile().changed == 1
    assert index() == BUILT | {"2": "Dinghy: A small sailing boat."}


def test_a_category_that_lists_too_little_deletes_nothing(wiki: Any, sync: SourceSync, index: Index) -> None:
    kept = dict(wiki.pages)
    for page_id in (2, 4):
        wiki.edit(page_id, categories=())
    with pytest.raises(DeletionRefusedError, match="no longer lists 2 of 4"):
        sync.reconcile()
    assert index() == BUILT
    wiki.pages = kept
    assert sync.reconcile().changed == 0


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (LOGIN, "sign-in page"),
        (Answer('{"query": {"pages": [{"pageid": 5, "ti'), "expected JSON"),
        (Answer(status=500), "HTTP 500"),
    ],
    ids=["a login page", "half a body", "a fault"],
)
def test_a_fetch_that_fails_half_way_stores_nothing_of_that_call(
    wiki: Any, sync: SourceSync, index: Index, trouble: Answer, words: str
) -> None:
    wiki.edit(2, extract="A small sailing boat.")
    wiki.edit(5, extract="Of ash.")
    # The listing reads the category's name and the two categories; each text is a request of its own.
    wiki.faults.extend([None, None, None, None, trouble])
    with pytest.raises(ConnectorError, match=f"1 of 1 fetch batches failed: .*{words}"):
        sync.reconcile()
    assert not wiki.faults and index() == BUILT
    sync.reconcile()
    assert index() == BUILT | {"2": "Dinghy: A small sailing boat.", "5": "Mast: Of ash."}


def test_an_outage_between_two_fetch_calls_keeps_what_was_stored(
    wiki: Any, mediawiki: ModuleType, sync: SourceSync, index: Index
) -> None:
    wiki.add(*(mediawiki.Page(n, f"Ship {n}", f"Text {n}.", categories=("Category:Boats",)) for n in range(100, 155)))
    wiki.faults.extend([None] * (3 + 50) + [Answer(status=500)])
    with pytest.raises(ConnectorError, match="1 of 2 fetch batches failed: "):
        sync.reconcile()
    stored = index()
    assert len(stored) == len(BUILT) + 50 and stored.items() >= BUILT.items()
    assert sync.reconcile().changed == 5
    assert len(index()) == len(BUILT) + 55


def test_a_busy_wiki_and_a_body_that_was_cut_off_only_take_longer(
    wiki: Any, mediawiki: ModuleType, open_sync: Open, index: Index
) -> None:
    refused = Answer(status=429, headers={"Retry-After": "0"})
    wiki.faults.extend([refused, None, mediawiki.lagging("0"), Answer('{"batchcomplete": true}', cut=True)])
    open_sync().reconcile()
    assert index() == BUILT


def test_a_storm_of_429_that_outlasts_the_call_changes_nothing(
    wiki: Any, sync: SourceSync, open_sync: Open, index: Index
) -> None:
    wiki.faults.extend([Answer(status=429, headers={"Retry-After": "60"})] * 9)
    with pytest.raises(ConnectorError, match=r"took longer than 2 s and was killed; `timeout` is the limit"):
        open_sync(timeout=2).reconcile()
    assert index() == BUILT
    wiki.faults.clear()
    assert open_sync().reconcile().changed == 0
