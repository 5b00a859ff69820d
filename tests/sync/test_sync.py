import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from fastapi import FastAPI

from passageway.embed_client import HttpEmbedder
from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway.errors import ConnectorError, DeletionRefusedError, EmbedderError, IndexDamagedError, StorageError
from passageway.index.writer import IndexWriter
from passageway_embed.app import create_app
from passageway_sync.sync import SourceSync, Stopped, build


def numbered(count: int) -> dict[str, str]:
    return {f"n{number:03}": f"text number {number}" for number in range(count)}


def test_a_build_stores_every_item_in_calls_of_fifty_ids(bench) -> None:
    bench.tell(items=numbered(120))
    with bench.sync() as sync:
        report = sync.reconcile()
    assert (report.items, report.sections, report.changed, report.removed) == (120, 120, 120, 0)
    assert [len(ids) for ids in bench.calls("fetch")] == [50, 50, 20]
    state = bench.state()
    assert (state.state, state.error, state.built, state.fetched) == ("ok", None, True, None)


def test_an_edit_embeds_only_the_section_that_changed(bench) -> None:
    bench.tell(items={"a": "first part|second part", "b": "another note"})
    with bench.sync() as sync:
        sync.reconcile()
        bench.embedded()
        bench.tell(items={"a": "first part|second part, edited", "b": "another note"})
        sync.reconcile()
    assert bench.calls("fetch")[-1] == ["a"]
    assert bench.embedded() == ["Title of a: second part, edited"]


def test_a_text_that_occurs_twice_is_embedded_once(bench) -> None:
    bench.tell(items={"a": "the same|the same"})
    with bench.sync() as sync:
        sync.reconcile()
    assert bench.embedded() == ["Title of a: the same"]


def test_an_unchanged_source_is_neither_fetched_nor_embedded_again(bench) -> None:
    bench.tell(items=numbered(3))
    for _ in range(2):
        with bench.sync() as sync:
            sync.reconcile()
    assert len(bench.calls("fetch")) == 1
    assert len(bench.embedded()) == 3


def test_a_deleted_item_goes_with_the_next_reconcile(bench) -> None:
    bench.tell(items=numbered(4))
    with bench.sync() as sync:
        sync.reconcile()
        bench.tell(items=numbered(3))
        assert sync.reconcile().removed == 1
    assert bench.stored() == ["n000", "n001", "n002"]


@pytest.mark.parametrize("left", [0, 6])
def test_a_listing_that_lost_much_deletes_nothing_and_is_reported(bench, left: int) -> None:
    bench.tell(items=numbered(10))
    with bench.sync() as sync:
        sync.reconcile()
        bench.tell(items=numbered(left))
        with pytest.raises(DeletionRefusedError):
            sync.reconcile()
    assert len(bench.stored()) == 10
    state = bench.state()
    assert state.state == "failing" and state.error is not None and "max_delete_fraction" in state.error or left == 0


def test_one_broken_item_costs_only_its_own_call(bench) -> None:
    bench.tell(items=numbered(150), broken=["n060"])
    with bench.sync() as sync, pytest.raises(ConnectorError, match="1 of 3 fetch batches failed: .*went wrong"):
        sync.reconcile()
    assert len(bench.stored()) == 100
    assert bench.state().state == "failing"


def test_what_failed_is_asked_for_again_and_clears_the_error(bench) -> None:
    bench.tell(items=numbered(60), broken=["n055"])
    with bench.sync() as sync:
        with pytest.raises(ConnectorError):
            sync.reconcile()
        bench.tell(items=numbered(60))
        sync.reconcile()
    assert len(bench.calls("fetch")[-1]) == 10
    assert (bench.state().state, len(bench.stored())) == ("ok", 60)


def test_two_failing_calls_in_a_row_end_the_fetch(bench) -> None:
    bench.tell(items=numbered(250), broken=["n010", "n060"])
    with bench.sync() as sync, pytest.raises(ConnectorError, match="2 of 5 fetch batches failed"):
        sync.reconcile()
    assert len(bench.calls("fetch")) == 2


def test_a_deletion_is_carried_out_although_a_fetch_failed(bench) -> None:
    bench.tell(items=numbered(10))
    with bench.sync() as sync:
        sync.reconcile()
        bench.tell(items={**dict(list(numbered(10).items())[:9]), "new": "text"}, broken=["new"])
        with pytest.raises(ConnectorError):
            sync.reconcile()
    assert bench.stored() == [f"n{number:03}" for number in range(9)]


def test_a_poll_stores_what_changed_and_skips_what_it_has(bench) -> None:
    bench.tell(items=numbered(3))
    with bench.sync() as sync:
        sync.reconcile()
        bench.embedded()
        bench.tell(items={**numbered(3), "n001": "rewritten"}, changed=["n001", "n002"])
        assert sync.can_poll
        assert sync.poll() == 1
    assert bench.embedded() == ["Title of n001: rewritten"]


def test_a_poll_that_works_leaves_the_refusal_of_the_last_reconcile_visible(bench) -> None:
    bench.tell(items=numbered(10))
    with bench.sync() as sync:
        sync.reconcile()
        bench.tell(items=numbered(2))
        with pytest.raises(DeletionRefusedError):
            sync.reconcile()
        bench.tell(items={**numbered(2), "fresh": "new text"}, changed=["fresh"])
        assert sync.poll() == 1
    state = bench.state()
    assert "fresh" in bench.stored() and len(bench.stored()) == 11
    assert state.state == "failing" and "10 indexed items" in (state.error or "")


@pytest.mark.parametrize("mode", ["check", "list"])
def test_a_failing_connector_leaves_everything_and_is_named(bench, mode: str) -> None:
    bench.tell(items=numbered(3))
    with bench.sync() as sync:
        sync.reconcile()
    bench.tell(items={}, fail=mode)
    with bench.sync() as sync, pytest.raises(ConnectorError):
        sync.reconcile()
    assert len(bench.stored()) == 3
    state = bench.state()
    assert state.state == "failing" and f"the {mode} went wrong" in (state.error or "")


def test_another_protocol_version_is_refused_before_anything_is_listed(bench) -> None:
    bench.tell(items=numbered(3), protocol="2")
    with bench.sync() as sync, pytest.raises(ConnectorError, match="protocol '2'"):
        sync.reconcile()
    assert bench.calls("list") == []


def test_a_hanging_connector_is_ended_at_its_timeout(bench) -> None:
    bench.tell(items=numbered(3), hang="list")
    with bench.sync(timeout=0.5) as sync, pytest.raises(ConnectorError, match=r"0\.5"):
        sync.reconcile()


def test_a_stop_ends_a_running_call_and_the_next_sync_goes_on(bench) -> None:
    bench.tell(items=numbered(3), hang="list")
    with bench.sync() as sync:
        outcome: list[BaseException] = []

        def run() -> None:
            try:
                sync.reconcile()
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while not bench.calls("list"):
            thread.join(0.01)
        sync.stop()
        thread.join(20)
        assert not thread.is_alive() and isinstance(outcome[0], Stopped)
    bench.tell(items=numbered(3))
    with bench.sync() as sync:
        assert sync.reconcile().items == 3


def test_an_embedder_out_of_order_stores_nothing_and_is_named(bench) -> None:
    bench.tell(items=numbered(3))
    (bench.folder / "broken").touch()
    with bench.sync() as sync, pytest.raises(EmbedderError, match="out of order"):
        sync.reconcile()
    assert (bench.stored(), bench.state().state) == ([], "failing")
    (bench.folder / "broken").unlink()
    with bench.sync() as sync:
        assert sync.reconcile().items == 3


def test_a_missing_secret_is_the_error_of_its_source(bench, monkeypatch) -> None:
    monkeypatch.delenv("NOTES_TOKEN", raising=False)
    bench.tell(items=numbered(1))
    with bench.sync(secrets={"TOKEN": "env:NOTES_TOKEN"}) as sync, pytest.raises(Exception, match="NOTES_TOKEN"):
        sync.reconcile()
    assert "NOTES_TOKEN" in (bench.state().error or "")


def test_another_model_embeds_the_stored_text_again_without_asking_the_source(bench) -> None:
    bench.tell(items=numbered(40))
    with bench.sync() as sync:
        sync.reconcile()
    bench.embedded()
    fetches = len(bench.calls("fetch"))
    with bench.sync(name="other", dim=32) as sync:
        sync.reconcile()
    assert len(bench.embedded()) == 40
    assert len(bench.calls("fetch")) == fetches
    with IndexWriter.open(bench.path) as writer:
        assert not writer.use_model("other", 32)


def test_a_model_switch_that_was_cut_short_goes_on_where_it_was(bench) -> None:
    bench.tell(items=numbered(40))
    with bench.sync() as sync:
        sync.reconcile()
    bench.embedded()
    done: list[int] = []
    with contextlib.closing(bench.embedder("other", 32)) as embedder:

        def stop_in_the_middle(count: int, of: int) -> None:
            done.append(count)
            cut.stop()

        cut = SourceSync(bench.config(), bench.path.parent, embedder, stop_in_the_middle)
        with pytest.raises(Stopped):
            cut.reconcile()
        cut.close()
    first = len(bench.embedded())
    assert 0 < first < 40
    with bench.sync(name="other", dim=32) as sync:
        sync.reconcile()
    assert len(bench.embedded()) == 40 - first


def test_two_syncs_of_one_source_do_not_share_its_file(bench) -> None:
    bench.tell(items=numbered(1))
    with bench.sync() as first, bench.sync() as second:
        first.reconcile()
        with pytest.raises(StorageError, match="notes"):
            second.reconcile()


def test_a_build_reports_its_progress_and_its_counts(bench) -> None:
    bench.tell(items=numbered(60))
    bench.path.parent.mkdir()
    seen: list[tuple[int, int]] = []
    with contextlib.closing(bench.embedder()) as embedder:
        report = build(bench.config(), bench.path.parent, embedder, lambda done, of: seen.append((done, of)))
    # Before each call to the embedder, which takes sixteen texts, and after each fetch call, which takes fifty ids.
    assert seen == [(0, 60), (16, 60), (32, 60), (48, 60), (50, 60), (60, 60)]
    assert (report.name, report.items) == ("notes", 60)


def test_a_sync_that_starts_again_says_at_once_that_it_looks_after_the_source(bench) -> None:
    bench.tell(items=numbered(1))
    with bench.sync() as sync:
        sync.reconcile()
    before = bench.state()
    with bench.sync() as sync:
        sync.open()
    after = bench.state()
    assert before.heartbeat is not None and after.heartbeat is not None and after.heartbeat > before.heartbeat
    assert replace(before, heartbeat=after.heartbeat) == after


def test_a_heartbeat_moves_forward_while_nothing_else_changes(bench) -> None:
    bench.tell(items=numbered(1))
    with bench.sync() as sync:
        sync.reconcile()
        sync.beat()
    one = bench.state()
    with bench.sync() as sync:
        sync.open()
        sync.beat()
    two = bench.state()
    assert one.heartbeat is not None and two.heartbeat is not None and two.heartbeat > one.heartbeat
    assert replace(one, heartbeat=two.heartbeat) == two


def test_a_poll_after_the_clock_was_set_back_asks_from_the_past(bench) -> None:
    bench.tell(items=numbered(1))
    with bench.sync() as sync:
        sync.reconcile()
    with IndexWriter.open(bench.path) as writer:
        writer.write_state(replace(writer.read_state(), last_success=time.time() + 3600))
    with bench.sync() as sync:
        sync.open()
        before = datetime.now(UTC)
        sync.poll()
    _, since = bench.calls("changed")[-1]
    assert datetime.fromisoformat(since) <= before


def test_a_file_deleted_in_the_middle_of_a_build_takes_no_more_items(bench) -> None:
    bench.tell(items=numbered(120))
    bench.path.parent.mkdir()
    with contextlib.closing(bench.embedder()) as embedder:

        def delete(done: int, of: int) -> None:
            if done == 50 and len(bench.calls("list")) == 1:
                bench.path.unlink()

        sync = SourceSync(bench.config(), bench.path.parent, embedder, delete)
        with contextlib.closing(sync):
            with pytest.raises(IndexDamagedError, match="removed or replaced"):
                sync.reconcile()
            assert len(bench.calls("fetch")) == 2
            assert sync.reconcile().items == 120
    assert len(bench.stored()) == 120


def test_a_file_of_somebody_else_put_in_its_place_is_left_to_be_set_aside(bench) -> None:
    bench.tell(items=numbered(2))
    with bench.sync() as sync:
        sync.reconcile()
        bench.path.unlink()
        bench.path.write_text("shopping list", encoding="utf-8")
        with pytest.raises(IndexDamagedError, match="removed or replaced"):
            sync.reconcile()
        assert sync.reconcile().items == 2
    assert bench.path.with_name("notes.db.damaged").read_text(encoding="utf-8") == "shopping list"


class ChangingModel:
    """An embed service's model that another takes the place of."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def info(self) -> EmbedderInfo:
        return EmbedderInfo(self.names[0], 4, 0.5)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        rows = np.zeros((len(texts), 4), np.float32)
        rows[:, len(self.names)] = 1
        return rows

    def close(self) -> None:
        """Nothing to give back."""


def test_a_model_that_another_source_noticed_first_is_not_stored_under_the_name_of_the_last(
    bench, served: Callable[[FastAPI], str]
) -> None:
    bench.tell(items=numbered(3))
    bench.path.parent.mkdir()
    model = ChangingModel("before", "after")
    with contextlib.closing(HttpEmbedder(served(create_app(model)))) as embedder:

        def another_source_notices(done: int, of: int) -> None:
            if len(model.names) > 1:
                del model.names[0]
                with pytest.raises(EmbedderError, match="now serves"):
                    embedder.embed(["text of another source"], "passage")
                assert embedder.info().name == "after"

        sync = SourceSync(bench.config(), bench.path.parent, embedder, another_source_notices)
        with contextlib.closing(sync):
            with pytest.raises(EmbedderError, match="'before' to 'after'"):
                sync.reconcile()
            sync.reconcile()
    with contextlib.closing(sqlite3.connect(bench.path)) as file:
        rows = file.execute("SELECT name, codes FROM vectors JOIN models ON models.id = model").fetchall()
    assert [(name, list(codes[:4])) for name, codes in rows] == [("after", [0, 127, 0, 0])] * 3
