"""`passageway stdio` as a client starts it: the official client in both eras, and line by line."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from passageway.records import Item, Section
from passageway_query.app import create_app
from passageway_query.search import Search

QUESTION = "When do we rotate the signing certificate?"
COMMAND = [sys.executable, "-m", "passageway_cli", "stdio"]


@pytest.fixture
def environment(tmp_path: Path, standing_url: str, password: str) -> dict[str, str]:
    """What a client would be configured with, for the shared service."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PASSAGEWAY_PORT": str(urlsplit(standing_url).port),
        "PASSAGEWAY_LOGIN_PASSWORD": password,
    }


def exchange(environment: dict[str, str], *lines: bytes) -> tuple[list[Any], subprocess.CompletedProcess[bytes]]:
    """Every message that came back for those lines of input, each from a line of its own."""
    done = subprocess.run(COMMAND, env=environment, input=b"\n".join(lines), capture_output=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def request(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


@pytest.mark.anyio
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_the_official_client_of_either_era_finds_and_opens_an_item(
    environment: dict[str, str], mode: str, version: str
) -> None:
    program = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment)
    async with Client(stdio_client(program), mode=mode) as client:
        assert client.protocol_version == version
        assert [tool.name for tool in (await client.list_tools()).tools][:3] == ["recall", "open", "status"]
        found = await client.call_tool("recall", {"query": QUESTION})
        assert found.structured_content
        assert "every March" in found.structured_content["passages"][0]["text"]
        opened = await client.call_tool("open", {"id": found.structured_content["passages"][0]["id"]})
        assert not opened.is_error


def test_every_line_of_output_is_json_rpc_whatever_the_input_is(environment: dict[str, str]) -> None:
    initialized = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    lines = [b"not json", b"[]", b"", b"\xff\xfe", initialized, request(1, "no/such"), request(2, "tools/list")]
    answers, done = exchange(environment, *lines)
    assert done.returncode == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    errors = sorted(answer["error"]["code"] for answer in answers if "error" in answer)
    assert errors == [-32700, -32700, -32601, -32600]
    [listed] = [answer for answer in answers if answer.get("id") == 2]
    assert len(listed["result"]["tools"]) == 3


def test_an_id_that_is_none_is_answered_in_json_without_one(environment: dict[str, str]) -> None:
    ids = [b"NaN", b"1e999", b"[1]", b'{"a": 1}', b"true", b"null"]
    lines = [b'{"jsonrpc": "2.0", "id": %b, "method": "tools/list"}' % message_id for message_id in ids]
    # The service takes such a message for a notification; where there is none, the bridge itself answers.
    _, done = exchange({**environment, "PASSAGEWAY_PORT": "9"}, *lines)
    answers = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(None, -32000)] * len(ids)


def test_lines_of_a_text_that_are_none_of_the_protocol_arrive(
    build: Callable[..., None], serve: Callable[..., str], environment: dict[str, str]
) -> None:
    text = "Rotate the signing certificate\u2028every March\x85and\u2029again in May."
    build(items=[Item("a", "Certificates\u2028of ours", "https://notes.example/a", "1", (Section(None, text),))])
    there = {**environment, "PASSAGEWAY_PORT": str(urlsplit(serve()).port)}
    [answer], _ = exchange(there, request(1, "tools/call", name="open", arguments={"id": "notes/a"}))
    assert answer["result"]["structuredContent"]["text"] == text


def test_requests_that_were_sent_before_the_end_of_the_input_are_all_answered(environment: dict[str, str]) -> None:
    call = {"name": "recall", "arguments": {"query": QUESTION}}
    answers, _ = exchange(environment, *(request(number, "tools/call", **call) for number in range(20)))
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert all(answer["result"]["structuredContent"]["passages"] for answer in answers)


def test_without_a_server_a_request_is_answered_with_what_to_do(environment: dict[str, str]) -> None:
    notification = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    answers, done = exchange({**environment, "PASSAGEWAY_PORT": "9"}, request("one", "initialize"), notification)
    assert done.returncode == 0
    [answer] = answers
    assert answer["id"] == "one"
    assert "no passageway answers at http://127.0.0.1:9/mcp" in answer["error"]["message"]
    assert "start it with `passageway`" in answer["error"]["message"]


def test_a_wrong_password_is_told_as_an_error_and_never_printed(environment: dict[str, str]) -> None:
    answers, done = exchange({**environment, "PASSAGEWAY_LOGIN_PASSWORD": "wröng"}, request(1, "tools/list"))
    [answer] = answers
    assert "does not take this password" in answer["error"]["message"]
    assert "wröng".encode() not in done.stdout + done.stderr


def test_the_password_of_init_is_used_where_the_environment_has_none(
    environment: dict[str, str], tmp_path: Path, password: str
) -> None:
    folder = tmp_path / ".config/passageway"
    folder.mkdir(parents=True)
    (folder / "password").write_text(f"{password}\n", encoding="utf-8")
    del environment["PASSAGEWAY_LOGIN_PASSWORD"]
    [answer], _ = exchange(environment, request(1, "tools/list"))
    assert answer["result"]["tools"]


def test_a_server_that_is_just_being_started_is_waited_for(
    environment: dict[str, str],
    settings: Any,
    data_dir: Path,
    embedder: Any,
    served_on: Callable[..., Any],
    build: Callable[..., None],
) -> None:
    build()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    environment["PASSAGEWAY_PORT"] = str(listener.getsockname()[1])
    pipe = subprocess.PIPE
    process = subprocess.Popen(COMMAND, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(request(1, "tools/list") + b"\n")
    process.stdin.flush()
    assert b"nothing answers" in process.stderr.readline()
    listener.listen(128)
    search = Search(data_dir, embedder)
    try:
        with served_on(create_app(settings, search), listener):
            answer = json.loads(process.stdout.readline())
            process.communicate(timeout=20)
    finally:
        search.close()
    assert answer["result"]["tools"]
    assert process.returncode == 0


def test_the_log_has_nothing_of_the_question(environment: dict[str, str]) -> None:
    call = {"name": "recall", "arguments": {"query": "xylophone"}}
    _, done = exchange({**environment, "PASSAGEWAY_LOG_LEVEL": "DEBUG"}, request(1, "tools/call", **call))
    assert b"xylophone" not in done.stderr
