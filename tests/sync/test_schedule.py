import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.config import ConnectorConfig
from passageway.embed_command import CommandEmbedder
from passageway_sync.schedule import STOP_S, Schedule


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def running(schedule: Schedule):
    stop = asyncio.Event()
    task = asyncio.create_task(schedule.run(stop))
    try:
        yield
    finally:
        stop.set()
        async with asyncio.timeout(30):
            await task


@pytest.mark.anyio
async def test_a_hanging_source_delays_no_other(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    stuck = tmp_path / "stuck.json"
    stuck.write_text('{"hang": "list"}', encoding="utf-8")
    good = bench.config()
    hanging = good.model_copy(update={"name": "stuck", "env": {**good.env, "STATE": str(stuck)}})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([hanging, good], tmp_path / "data", embedder, 0.2, 60)):
            await until(lambda: len(bench.calls("changed")) >= 2)
    assert (bench.stored(), bench.state().state) == (["a"], "ok")


@pytest.mark.anyio
async def test_a_source_that_was_down_is_asked_again_long_before_the_next_reconcile(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"}, fail="list")
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 600)):
            await until(lambda: len(bench.calls("list")) >= 2)
            bench.tell(items={"a": "text"})
            await until(lambda: len(bench.calls("changed")) >= 1)
    assert bench.stored() == ["a"]


@pytest.mark.anyio
async def test_a_source_is_reconciled_again_after_its_interval(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text", "b": "more", "c": "still more"})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 0.5)):
            await until(lambda: len(bench.calls("list")) >= 1 and len(bench.calls("changed")) >= 1)
            bench.tell(items={"a": "text", "b": "more"})
            await until(lambda: len(bench.calls("list")) >= 4)
    assert bench.stored() == ["a", "b"]


@pytest.mark.anyio
async def test_a_source_that_cannot_start_is_reported_and_the_schedule_goes_on(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    missing = ConnectorConfig(name="gone", command=[str(tmp_path / "no-such-program")])
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([missing, bench.config()], tmp_path / "data", embedder, 0.1, 60)):
            await until(lambda: len(bench.calls("changed")) >= 1)
    assert bench.stored() == ["a"]


@pytest.mark.anyio
async def test_the_log_has_a_failure_once_until_the_source_is_back(
    bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="passageway_sync")
    lists = 0

    async def listed(times: int) -> None:
        nonlocal lists
        lists = len(bench.calls("list")) + times
        await until(lambda: len(bench.calls("list")) >= lists)

    bench.tell(items={"a": "text"}, fail="list")
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.05, 0.1)):
            await listed(4)
            bench.tell(items={"a": "text"})
            await until(lambda: "1 items" in caplog.text)
            bench.tell(items={"a": "text"}, fail="list")
            await listed(4)
    failures = [record for record in caplog.records if "sync failed" in record.message]
    assert len(failures) == 2


@pytest.mark.anyio
async def test_a_file_deleted_in_use_is_built_anew_with_the_next_poll(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 600)):
            await until(lambda: len(bench.calls("changed")) >= 1)
            bench.path.unlink()
            await until(lambda: len(bench.calls("list")) >= 2 and bench.path.exists())
            polls = len(bench.calls("changed"))
            await until(lambda: len(bench.calls("changed")) > polls)
    assert bench.stored() == ["a"]


@pytest.mark.anyio
async def test_a_data_folder_deleted_in_use_is_made_again_with_the_next_poll(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 600)):
            await until(lambda: len(bench.calls("changed")) >= 1)
            bench.path.parent.rename(tmp_path / "elsewhere")
            await until(lambda: len(bench.calls("list")) >= 2 and bench.path.exists())
            polls = len(bench.calls("changed"))
            await until(lambda: len(bench.calls("changed")) > polls)
    assert bench.stored() == ["a"]


@pytest.mark.anyio
async def test_a_file_that_cannot_be_made_anew_at_once_is_made_long_before_the_next_reconcile(
    bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench.tell(items={"a": "text"})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 600)):
            await until(lambda: len(bench.calls("changed")) >= 1)
            bench.path.rename(tmp_path / "elsewhere.db")
            bench.path.mkdir()
            await until(lambda: "cannot be opened" in caplog.text)
            bench.path.rmdir()
            await until(lambda: len(bench.calls("list")) >= 2)
            polls = len(bench.calls("changed"))
            await until(lambda: len(bench.calls("changed")) > polls)
    assert bench.stored() == ["a"]


@pytest.mark.anyio
async def test_a_file_that_breaks_in_use_is_built_anew_by_the_next_reconcile(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    with contextlib.closing(bench.embedder()) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 1)):
            await until(lambda: len(bench.calls("changed")) >= 1)
            with contextlib.closing(sqlite3.connect(bench.path, isolation_level=None, timeout=10)) as other:
                other.execute("UPDATE sections SET text = 'something else'")
            await until(lambda: len(bench.calls("fetch")) >= 2)
            polls = len(bench.calls("changed"))
            await until(lambda: len(bench.calls("changed")) > polls)
    assert bench.stored() == ["a"]
    assert bench.path.with_name("notes.db.damaged").exists()


@pytest.mark.anyio
async def test_a_stop_does_not_wait_for_an_embedder_that_hangs(bench, tmp_path: Path) -> None:
    bench.tell(items={"a": "text"})
    log = tmp_path / "log"
    env = {"FAKE_MISBEHAVE": "hang", "FAKE_LOG": str(log)}
    command = [sys.executable, "-m", "passageway.testing.fake_embedder"]
    with contextlib.closing(CommandEmbedder("stuck", command, env=env, timeout_s=300, min_similarity=0.5)) as embedder:
        async with running(Schedule([bench.config()], tmp_path / "data", embedder, 0.1, 60)):
            await until(lambda: log.exists() and "embed passage" in log.read_text(encoding="utf-8"))
            started = time.monotonic()
    assert time.monotonic() - started < 2 * STOP_S + 5
    assert bench.stored() == []
