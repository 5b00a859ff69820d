"""What the index holds after each thing that can happen to a Confluence of either kind, under the real sync."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from passageway.config import ConnectorConfig
from passageway.errors import ConnectorError, DeletionRefusedError, PassagewayError
from passageway_connector_confluence.testing import FakeConfluence, FakePage
from passageway_query.search import Search
from passageway_sdk.web.testing import Answer, Request
from passageway_sync.sync import SourceSync

LOGIN = "<!doctype html><form><input type='password'></form>"
Index = Callable[[], dict[str, str]]


@pytest.fixture(autouse=True)
def pages(either: FakeConfluence) -> None:
    either.add(
        FakePage("1", "Operations"),
        FakePage("2", "Runbooks", "<p>Read first.</p>", parent="1"),
        FakePage("3", "Gateway", "<h2>Restart</h2><p>Drain it.</p>", parent="2"),
        FakePage("9", "Holidays", "<p>Thirty days.</p>", "HR"),
    )


@pytest.fixture
def sync(
    either: FakeConfluence, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SourceSync]:
    secrets = {}
    for name in either.env.keys() & {"TOKEN", "EMAIL"}:
        monkeypatch.setenv(f"TEST_CONFLUENCE_{name}", either.env[name])
        secrets[name] = f"env:TEST_CONFLUENCE_{name}"
    config = ConnectorConfig(
        name="wiki",
        command=[sys.executable, "-m", "passageway_connector_confluence"],
        env={name: value for name, value in either.env.items() if name not in secrets},
        secrets=secrets,
    )
    opened = SourceSync(config, tmp_path, embedder)
    yield opened
    opened.close()


@pytest.fixture
def index(embedder: Any, tmp_path: Path) -> Index:
    """What is indexed: path and text of each page."""

    def read() -> dict[str, str]:
        with closing(Search(tmp_path, embedder)) as search:
            return {
                item.id: " › ".join([*item.path, *(section.text for section in item.sections)])
                for item in search.items()
            }

    return read


BUILT = {
    "1": "",
    "2": "Operations › Read first.",
    "3": "Operations › Runbooks › Drain it.",
    "9": "Thirty days.",
}


def test_a_build_an_edit_a_move_and_a_deletion_are_followed(
    either: FakeConfluence, sync: SourceSync, index: Index, embedder: Any
) -> None:
    sync.reconcile()
    assert index() == BUILT

    either.edit("9", body="<p>Thirty-one days.</p>", modified=datetime.now(UTC))
    embedder.texts.clear()
    assert sync.poll() == 1
    assert index() == BUILT | {"9": "Thirty-one days."}
    assert len(embedder.texts) == 1
    assert sync.poll() == 0

    either.edit("3", parent="1")
    assert sync.reconcile().changed == 1
    assert index() == BUILT | {"9": "Thirty-one days.", "3": "Operations › Drain it."}

    either.edit("2", status="trashed")
    assert sync.reconcile().removed == 1
    assert index() == {"1": "", "3": "Operations › Drain it.", "9": "Thirty-one days."}


def test_a_page_that_is_fetched_again_unchanged_is_not_embedded_again(
    either: FakeConfluence, sync: SourceSync, embedder: Any
) -> None:
    sync.reconcile()
    embedder.texts.clear()
    either.edit("3", labels=("runbook",))
    assert sync.reconcile().changed == 1
    assert sync.reconcile().changed == 0
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("trouble", "error", "words"),
    [
        (Answer(LOGIN, content_type="text/html"), ConnectorError, "sign-in page"),
        (Answer(status=302, headers={"Location": "http://localhost:9/login"}), ConnectorError, "to another host"),
        (Answer('{"results": [], "_links": {}}'), DeletionRefusedError, "4"),
        (Answer('{"results": ['), ConnectorError, "expected JSON"),
        (Answer('{"statusCode": 401}', status=401), ConnectorError, "HTTP 401"),
        (Answer("gone", status=404), ConnectorError, "HTTP 404"),
    ],
    ids=["a login page", "a login elsewhere", "an empty listing", "half a body", "a revoked token", "another server"],
)
def test_trouble_with_the_listing_changes_nothing_and_says_one_thing(
    either: FakeConfluence,
    sync: SourceSync,
    index: Index,
    trouble: Answer,
    error: type[PassagewayError],
    words: str,
) -> None:
    sync.reconcile()
    either.instead = lambda request: trouble
    with pytest.raises(error, match=words):
        sync.reconcile()
    assert index() == BUILT
    either.instead = lambda request: None
    assert sync.reconcile().changed == 0


def test_a_fetch_that_fails_half_way_stores_nothing_of_that_call(
    either: FakeConfluence, sync: SourceSync, index: Index
) -> None:
    def refuse(request: Request) -> Answer | None:
        reads = request.path.endswith("/content/9") or "id in" in request.query.get("cql", "")
        return Answer(status=403) if reads else None

    sync.reconcile()
    either.edit("2", body="<p>Read twice.</p>")
    either.edit("9", body="<p>Forty days.</p>")
    either.instead = refuse
    with pytest.raises(ConnectorError, match="1 of 1 fetch batches failed"):
        sync.reconcile()
    assert index() == BUILT
    either.instead = lambda request: None
    sync.reconcile()
    assert index() == BUILT | {"2": "Operations › Read twice.", "9": "Forty days."}


def test_a_busy_site_and_a_body_that_was_cut_off_only_take_longer(
    either: FakeConfluence, sync: SourceSync, index: Index
) -> None:
    troubles = [Answer(status=429, headers={"Retry-After": "0"}), Answer('{"results": []}', cut=True)]
    either.instead = lambda request: troubles.pop(0) if troubles else None
    sync.reconcile()
    assert index() == BUILT
