"""What the index holds after each thing that can happen to a Trilium: the connector's process under the real sync."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from passageway.config import ConnectorConfig
from passageway.errors import ConnectorError, DeletionRefusedError, PassagewayError
from passageway_connector_trilium.testing import TOKEN, FakeNote, FakeTrilium
from passageway_query.search import Search
from passageway_sdk.web.testing import Answer, Request
from passageway_sync.sync import SourceSync

LOGIN = "<!doctype html><form><input type='password'></form>"
Index = Callable[[], dict[str, str]]


@pytest.fixture(autouse=True)
def notes(trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("wiki", "Wiki", labels=(("llmWikiPart", "wiki"),)),
        FakeNote("hull", "Hull", "<p>Oak planks.</p>", ("wiki",)),
        FakeNote("keel", "Keel", "<h2>Ballast</h2><p>Lead.</p>", ("hull",)),
        FakeNote("mast", "Mast", "<p>Spruce.</p>", ("wiki",)),
    )


@pytest.fixture
def sync(trilium: FakeTrilium, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceSync]:
    monkeypatch.setenv("TEST_TRILIUM_TOKEN", TOKEN)
    config = ConnectorConfig(
        name="notes",
        command=[sys.executable, "-m", "passageway_connector_trilium"],
        env={name: value for name, value in trilium.env.items() if name != "TOKEN"},
        secrets={"TOKEN": "env:TEST_TRILIUM_TOKEN"},
    )
    opened = SourceSync(config, tmp_path, embedder)
    yield opened
    opened.close()


@pytest.fixture
def index(embedder: Any, tmp_path: Path) -> Index:
    """What is indexed: path and text of each note."""

    def read() -> dict[str, str]:
        with closing(Search(tmp_path, embedder)) as search:
            return {
                item.id: " › ".join([*item.path, *(section.text for section in item.sections)])
                for item in search.items()
            }

    return read


BUILT = {"wiki": "", "hull": "Oak planks.", "keel": "Hull › Lead.", "mast": "Spruce."}


def test_a_build_an_edit_a_move_and_a_deletion_are_followed(
    trilium: FakeTrilium, sync: SourceSync, index: Index, embedder: Any
) -> None:
    sync.reconcile()
    assert index() == BUILT

    trilium.edit("mast", content="<p>Ash.</p>", modified=trilium.notes["mast"].modified.replace(year=2099))
    embedder.texts.clear()
    assert sync.poll() == 1
    assert index() == BUILT | {"mast": "Ash."}
    assert len(embedder.texts) == 1

    trilium.edit("keel", parents=("mast",))
    assert sync.reconcile().changed == 1
    assert index() == BUILT | {"mast": "Ash.", "keel": "Mast › Lead."}

    del trilium.notes["hull"]
    assert sync.reconcile().removed == 1
    assert index() == {"wiki": "", "mast": "Ash.", "keel": "Mast › Lead."}


def test_a_note_that_is_fetched_again_unchanged_is_not_embedded_again(
    trilium: FakeTrilium, sync: SourceSync, embedder: Any
) -> None:
    sync.reconcile()
    embedder.texts.clear()
    trilium.edit("mast", labels=(("wikiStatus", "reviewed"),))
    assert sync.reconcile().changed == 1
    assert sync.reconcile().changed == 0
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("trouble", "error", "words"),
    [
        (lambda request: Answer(LOGIN, content_type="text/html"), ConnectorError, "sign-in page"),
        (lambda request: Answer('{"results": []}'), DeletionRefusedError, "4"),
        (lambda request: Answer('{"results": ['), ConnectorError, "expected JSON"),
        (lambda request: Answer('{"status": 401}', status=401), ConnectorError, "HTTP 401"),
        (lambda request: Answer("gone", status=404), ConnectorError, "HTTP 404"),
    ],
    ids=["a login page", "an empty listing", "half a body", "a revoked token", "another server"],
)
def test_trouble_with_the_listing_changes_nothing_and_says_one_thing(
    trilium: FakeTrilium,
    sync: SourceSync,
    index: Index,
    trouble: Callable[[Request], Answer],
    error: type[PassagewayError],
    words: str,
) -> None:
    sync.reconcile()
    trilium.instead = trouble
    with pytest.raises(error, match=words):
        sync.reconcile()
    assert index() == BUILT
    trilium.instead = lambda request: None
    assert sync.reconcile().changed == 0


def test_a_fetch_that_fails_half_way_stores_nothing_of_that_call(
    trilium: FakeTrilium, sync: SourceSync, index: Index
) -> None:
    sync.reconcile()
    trilium.edit("hull", content="<p>Larch planks.</p>")
    trilium.edit("mast", content="<p>Ash.</p>")
    trilium.instead = lambda request: Answer(status=403) if request.path.endswith("/mast/content") else None
    with pytest.raises(ConnectorError, match="1 of 1 fetch batches failed"):
        sync.reconcile()
    assert index() == BUILT
    trilium.instead = lambda request: None
    sync.reconcile()
    assert index() == BUILT | {"hull": "Larch planks.", "mast": "Ash."}


def test_a_busy_server_and_a_body_that_was_cut_off_only_take_longer(
    trilium: FakeTrilium, sync: SourceSync, index: Index
) -> None:
    troubles = [Answer(status=429, headers={"Retry-After": "0"}), Answer('{"results": []}', cut=True)]
    trilium.instead = lambda request: troubles.pop(0) if troubles else None
    sync.reconcile()
    assert index() == BUILT
