"""`/health` and the status of sources, embedder and sync."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError
from passageway.index.state import SourceState
from passageway.settings import Settings, load_settings
from passageway_query.health import HealthSource, health_text
from passageway_query.model_check import ModelCheck
from passageway_query.search import Search


def test_a_current_index_is_ok(client: httpx.Client) -> None:
    health = client.get("/health").json()
    assert health["status"] == "ok"
    assert health["version"] == "9.9.9"
    assert "instance" not in health
    [source] = health["sources"]
    assert (source["name"], source["state"], source["items"], source["sections"]) == ("notes", "ok", 3, 4)
    assert 0 <= source["last_success_age_s"] < 20
    assert source["vectors_current"] is True
    assert health["embedder"] == {"state": "ok", "name": "words", "dimension": 512, "min_similarity": 0.35}
    assert health["sync"]["state"] == "running"


def test_health_answers_a_head_request(client: httpx.Client) -> None:
    assert client.head("/health").status_code == 200


def test_an_instance_is_named(
    build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    build()
    url = serve(make_settings(PASSAGEWAY_INSTANCE="work"))
    assert httpx.get(f"{url}/health").json()["instance"] == "work"


def test_a_build_shows_how_far_it_is(build: Callable[..., None], serve: Callable[..., str]) -> None:
    now = time.time()
    build(state=SourceState("indexing", fetched=50, of=1200, heartbeat=now))
    health = httpx.get(f"{serve(connectors=['notes'])}/health").json()
    assert health["status"] == "indexing"
    [source] = health["sources"]
    assert (source["state"], source["fetched"], source["of"]) == ("indexing", 50, 1200)
    assert "last_success_age_s" not in source


def test_a_failing_source_degrades_and_its_error_is_for_the_owner_alone(
    build: Callable[..., None], serve: Callable[..., str], auth: dict[str, str]
) -> None:
    now = time.time()
    build(state=SourceState("failing", error="https://wiki.internal refused", heartbeat=now, last_success=now - 90))
    build("wiki")
    url = serve(connectors=["notes", "wiki"])
    stranger = httpx.get(f"{url}/health")
    assert stranger.json()["status"] == "degraded"
    assert [source["state"] for source in stranger.json()["sources"]] == ["failing", "ok"]
    assert "wiki.internal" not in stranger.text
    owner = httpx.get(f"{url}/health", headers=auth).json()
    assert owner["sources"][0]["error"] == "https://wiki.internal refused"
    assert owner["sources"][0]["last_success_age_s"] >= 90


def test_errors_are_not_shown_for_a_wrong_password(build: Callable[..., None], serve: Callable[..., str]) -> None:
    build(state=SourceState("failing", error="https://wiki.internal refused", heartbeat=time.time()))
    reply = httpx.get(f"{serve()}/health", headers={"Authorization": "Bearer wrong"})
    assert reply.status_code == 200
    assert "wiki.internal" not in reply.text


def test_a_source_without_a_file_is_waited_for(build: Callable[..., None], serve: Callable[..., str]) -> None:
    build()
    health = httpx.get(f"{serve(connectors=['notes', 'wiki'])}/health").json()
    assert health["status"] == "indexing"
    assert [(source["name"], source["state"], source["items"]) for source in health["sources"]] == [
        ("notes", "ok", 3),
        ("wiki", "indexing", 0),
    ]


def test_a_source_that_left_the_configuration_is_marked_and_not_held_against_the_rest(
    build: Callable[..., None], serve: Callable[..., str]
) -> None:
    build()
    build("old", state=SourceState("failing", error="gone", heartbeat=1.0, built=True))
    health = httpx.get(f"{serve(connectors=['notes'])}/health").json()
    assert health["status"] == "ok"
    assert {source["name"]: source["configured"] for source in health["sources"]} == {"notes": True, "old": False}


def test_files_that_no_configured_connector_keeps_do_not_degrade_the_server(
    build: Callable[..., None], serve: Callable[..., str]
) -> None:
    build("old", state=SourceState("ok", heartbeat=1.0, last_success=1.0, built=True))
    health = httpx.get(f"{serve(connectors=[])}/health").json()
    assert health["status"] == "ok"
    assert [source["configured"] for source in health["sources"]] == [False]


def test_an_old_heartbeat_means_that_sync_is_gone(
    build: Callable[..., None], serve: Callable[..., str], auth: dict[str, str]
) -> None:
    now = time.time()
    build(state=SourceState("ok", heartbeat=now - 31, last_success=now - 40, built=True))
    health = httpx.get(f"{serve(connectors=['notes'])}/health", headers=auth).json()
    assert health["status"] == "degraded"
    assert health["sync"]["state"] == "gone"
    assert health["sync"]["heartbeat_age_s"] >= 31
    assert "31 s" in health["sources"][0]["error"] or "32 s" in health["sources"][0]["error"]


def test_one_source_that_nobody_looks_after_is_noticed_while_others_are(
    build: Callable[..., None], serve: Callable[..., str]
) -> None:
    now = time.time()
    build("deaf", state=SourceState("ok", heartbeat=now - 3600, last_success=now - 3600, built=True))
    build()
    health = httpx.get(f"{serve(connectors=['deaf', 'notes'])}/health").json()
    assert health["status"] == "degraded"
    assert health["sync"]["state"] == "gone"


def test_a_sync_process_that_never_came_is_gone_after_half_a_minute(
    data_dir: Any, embedder: Any, settings: Settings
) -> None:
    search = Search(data_dir, embedder)
    try:
        now = [1000.0]
        source = HealthSource(settings, search, None, ("notes",), now=lambda: now[0])
        before, now[0] = source.report(errors=True), 1031.0
        after = source.report(errors=True)
    finally:
        search.close()
    assert before.sync and before.sync.state == "unknown"
    assert before.status == "indexing"
    assert after.sync and after.sync.state == "gone"
    assert after.status == "degraded"


def test_a_sync_that_ended_before_the_clock_was_set_back_is_gone(
    build: Callable[..., None], serve: Callable[..., str]
) -> None:
    then = time.time() + 3600
    build(state=SourceState("ok", heartbeat=then, last_success=then, built=True))
    assert httpx.get(f"{serve(connectors=['notes'])}/health").json()["sync"]["state"] == "gone"


def test_a_data_folder_that_sync_cannot_write_to_is_named_at_once(
    data_dir: Path, embedder: Any, tmp_path: Path
) -> None:
    settings = load_settings({"HOME": str(tmp_path), "PASSAGEWAY_DATA_DIR": str(tmp_path / "gone")})
    search = Search(data_dir, embedder)
    try:
        health = HealthSource(settings, search, None, ("wiki",)).report(errors=True)
    finally:
        search.close()
    assert health.status == "degraded"
    assert health.sources[0].error is not None
    assert health.sources[0].error.startswith(f"{tmp_path}/gone cannot be written by user {os.geteuid()}; make it")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_sync_may_not_write_any_more_is_named_when_sync_is_missed(
    build: Callable[..., None], serve: Callable[..., str], data_dir: Path, auth: dict[str, str]
) -> None:
    then = time.time() - 3600
    build(state=SourceState("ok", heartbeat=then, last_success=then, built=True))
    (data_dir / "notes.db").chmod(0o400)
    [source] = httpx.get(f"{serve(connectors=['notes'])}/health", headers=auth).json()["sources"]
    assert source["error"].startswith(f"{data_dir}/notes.db cannot be written by user")


def test_an_embedder_that_cannot_be_reached_degrades(client: httpx.Client, embedder: Any, auth: dict[str, str]) -> None:
    embedder.failure = "nothing listens on port 8182"
    stranger = client.get("/health")
    assert stranger.json()["status"] == "degraded"
    assert stranger.json()["embedder"] == {"state": "failing"}
    owner = client.get("/health", headers=auth).json()
    assert owner["embedder"]["error"] == "nothing listens on port 8182"


def test_a_model_that_has_not_answered_yet_is_loading(wait_until: Callable[..., None]) -> None:
    release = threading.Event()

    def load() -> EmbedderInfo:
        release.wait(20)
        return EmbedderInfo("words", 8, 0.5)

    check = ModelCheck(load, wait_s=0.05)
    assert check.health().state == "loading"
    release.set()
    wait_until(lambda: check.health().state == "ok")
    assert check.health().name == "words"


def test_a_model_that_stops_answering_is_failing_and_costs_no_check_more_than_the_wait(
    wait_until: Callable[..., None],
) -> None:
    release, asked = threading.Event(), []

    def hang() -> EmbedderInfo:
        asked.append(None)
        if len(asked) > 1:
            release.wait(20)
        return EmbedderInfo("words", 8, 0.5)

    check = ModelCheck(hang, wait_s=0.05)
    wait_until(lambda: check.health().state == "ok")
    for _ in range(20):
        state = check.health()
        assert (state.state, state.error) == ("failing", "the model did not answer within 0.05 s")
    assert len(asked) == 2
    release.set()
    wait_until(lambda: check.health().state == "ok")


def test_a_model_that_failed_and_now_hangs_keeps_its_reason(
    wait_until: Callable[..., None],
) -> None:
    release, asked = threading.Event(), []

    def fail_then_hang() -> EmbedderInfo:
        asked.append(None)
        if len(asked) > 1:
            release.wait(20)
        raise EmbedderError("the key was refused")

    check = ModelCheck(fail_then_hang, wait_s=0.05)
    wait_until(lambda: check.health().error == "the key was refused")
    assert check.health().error == "the model did not answer within 0.05 s; before that: the key was refused"
    release.set()


def test_vectors_of_another_model_are_flagged(client: httpx.Client, embedder: Any) -> None:
    embedder.name = "better-words"
    health = client.get("/health").json()
    assert health["sources"][0]["vectors_current"] is False
    assert health["status"] == "indexing"


@pytest.mark.parametrize("content", [b"not a database", b"", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_an_error_of_that_source_alone(
    build: Callable[..., None], serve: Callable[..., str], data_dir: Any, auth: dict[str, str], content: bytes
) -> None:
    build()
    (data_dir / "broken.db").write_bytes(content)
    health = httpx.get(f"{serve(connectors=['broken', 'notes'])}/health", headers=auth).json()
    states = {source["name"]: source["state"] for source in health["sources"]}
    assert states["notes"] == "ok"
    assert states["broken"] in ("failing", "indexing")
    assert health["status"] in ("degraded", "indexing")


def test_the_report_reads_as_lines_too(client: httpx.Client, data_dir: Any, embedder: Any, settings: Settings) -> None:
    search = Search(data_dir, embedder)
    try:
        text = health_text(HealthSource(settings, search, None, ("notes",)).report(errors=True))
    finally:
        search.close()
    assert text.startswith("passageway 9.9.9: ok\nsource notes: ok, 3 items, 4 sections, last success")
    assert "embedder: ok (words, 512 dimensions)" in text
    assert "sync: running" in text
