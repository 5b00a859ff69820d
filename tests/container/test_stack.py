"""compose.yaml as it is, run by compose: three services, killed, restarted and upgraded, asked from outside."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

PASSWORD = "correct horse battery staple"
QUESTION = "How hot should the water for green tea be?"
ANSWER = "eighty degrees"
ROLES = ("embed", "sync", "query")

CRASH = """
import os, pathlib, signal
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if path.parent.name != "1" and path.read_bytes().endswith(b"passageway\\0query\\0"):
        os.kill(int(path.parent.name), signal.SIGKILL)
"""


def ok(report: dict[str, Any]) -> bool:
    return bool(report["status"] == "ok" and report["sources"][0]["items"] >= 2)


async def recall_through_mcp(port: int) -> list[str]:
    """Titles of what the official client is given, over the published port."""
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {PASSWORD}"}) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as session,
    ):
        result = await session.call_tool("recall", {"query": QUESTION})
    assert not result.is_error and result.structured_content is not None, result.content
    return [passage["title"] for passage in result.structured_content["passages"]]


@pytest.mark.anyio
async def test_three_services_answer_a_client_outside(stack: Any, record_property: Any) -> None:
    started = time.monotonic()
    stack.up()
    stack.wait(ok, "the three services")
    assert ANSWER in stack.recall(QUESTION)
    record_property("seconds from `up` to the first answer", round(time.monotonic() - started, 1))
    assert await recall_through_mcp(stack.port) == ["Brewing green tea"]
    assert stack.inside("embed", "python", "-m", "passageway_cli.probe", "8182").returncode == 0
    assert stack.inside("query", "python", "-m", "passageway_cli.probe").returncode == 0


def test_no_service_has_a_right_or_a_secret_to_spare(stack: Any) -> None:
    stack.up()
    stack.wait(ok, "the three services")
    for service in ROLES:
        status = stack.inside(service, "cat", "/proc/self/status").stdout
        assert re.search(r"^Uid:\t10001\t10001\t10001\t10001$", status, re.MULTILINE), service
        assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE), service
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE), service
        assert "Read-only file system" in stack.inside(service, "touch", "/opt/x").stderr, service
        assert "Read-only file system" in stack.inside(service, "touch", "/config/x").stderr, service
    knowing = [service for service in ROLES if PASSWORD in stack.inside(service, "env").stdout]
    assert knowing == ["query"]


def test_the_model_is_out_of_reach_for_a_neighbour_on_the_same_network(stack: Any, engine: Any, image: str) -> None:
    stack.up()
    stack.wait(ok, "the three services")
    network = f"{stack.project}_default"
    for port, reached in ((8082, True), (8182, False)):
        connect = f"import socket; socket.create_connection(('net', {port}), 5)"
        done = engine("run", "--rm", "--network", network, image, "python", "-c", connect, check=False)
        assert (done.returncode == 0) is reached, done.stderr
        assert reached or "ConnectionRefusedError" in done.stderr


def test_each_service_may_stop_while_the_others_go_on_and_health_tells(stack: Any, engine: Any) -> None:
    stack.up()
    stack.wait(ok, "the three services")

    engine("stop", "--time", "0", stack.container("embed"))
    report = stack.wait(lambda report: report["embedder"]["state"] != "ok", "the embedder's absence")
    assert report["status"] == "degraded" and report["sync"]["state"] == "running"
    # By words alone, in time for the prompt.
    assert ANSWER in stack.recall("green tea brewed with water at how many degrees")
    engine("start", stack.container("embed"))
    stack.wait(ok, "the embedder's return")

    engine("stop", "--time", "0", stack.container("sync"))
    report = stack.wait(lambda report: report["sync"]["state"] == "gone", "the sync's absence")
    assert report["status"] == "degraded" and report["embedder"]["state"] == "ok"
    assert ANSWER in stack.recall(QUESTION)
    engine("start", stack.container("sync"))
    stack.wait(ok, "the sync's return")

    engine("stop", "--time", "0", stack.container("query"))
    assert stack.health() == {}
    note = stack.folder / "config/notes/ferry.md"
    note.write_text("# Ferry\n\nThe last ferry leaves at half past nine in the evening.\n", encoding="utf-8")
    note.chmod(0o644)
    assert stack.inside("embed", "python", "-m", "passageway_cli.probe", "8182").returncode == 0
    engine("start", stack.container("query"))
    stack.wait(lambda report: report["sources"][0]["items"] == 3, "query's return, with what sync read meanwhile")
    assert "half past nine" in stack.recall("When does the last ferry leave?")


def test_a_service_that_crashes_is_started_again(stack: Any) -> None:
    stack.up()
    stack.wait(ok, "the three services")
    before = stack.inside("query", "cat", "/proc/1/stat").stdout.split()[21]
    stack.inside("query", "python", "-c", CRASH)
    stack.wait(ok, "query, started again")
    assert stack.inside("query", "cat", "/proc/1/stat").stdout.split()[21] != before
    assert ANSWER in stack.recall(QUESTION)


def test_an_upgrade_keeps_what_was_indexed(stack: Any, engine: Any, image: str, tmp_path: Path) -> None:
    stack.up()
    stack.wait(ok, "the three services")
    stack.compose("down", "-t", "10")

    # Another image, and the source out of reach: what answers now is in the volume.
    context = tmp_path / "newer"
    context.mkdir()
    (context / "Dockerfile").write_text(f"FROM {image}\nENV APP_VERSION=99.0\n", encoding="utf-8")
    newer = "localhost/passageway-newer"
    options = ["--format", "docker"] if engine.program == "podman" else []
    engine("build", *options, "--tag", newer, str(context), timeout_s=600)
    (stack.folder / "config/notes").rename(stack.folder / "config/elsewhere")
    stack.up(image=newer)
    report = stack.wait(lambda report: report["sources"][0]["state"] == "failing", "the failure of the source")
    assert report["version"] == "99.0" and report["sources"][0]["items"] == 2
    stack.wait(lambda report: report["embedder"]["state"] == "ok", "the embedder")
    assert ANSWER in stack.recall(QUESTION)


@pytest.mark.anyio
@pytest.mark.parametrize("stack", ["one"], indirect=True)
async def test_the_one_service_for_small_machines_answers_a_client_outside(stack: Any, record_property: Any) -> None:
    started = time.monotonic()
    stack.up()
    stack.wait(ok, "the one service")
    assert ANSWER in stack.recall(QUESTION)
    record_property("seconds from `up` to the first answer", round(time.monotonic() - started, 1))
    assert await recall_through_mcp(stack.port) == ["Brewing green tea"]
    assert stack.inside("passageway", "id", "-u").stdout.strip() == "10001"
