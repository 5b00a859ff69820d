"""The clients that most programs are built on: the official ones in TypeScript, and `mcp-remote`, as npm has them."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from passageway_query.auth.documents import Documents

SCRIPTS = Path(__file__).parent / "node"
LOOPBACK = "http://localhost:7777/callback"
CLAUDE = "https://claude.ai/api/mcp/auth_callback"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
METHODS = ["none", "client_secret_post", "client_secret_basic", None]

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(node_packages: Path) -> Run:
    """What a client's script reports: `run("sdk1.mjs", url=…, password=…)`."""
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, node_packages)

    def run(script: str, **options: Any) -> dict[str, Any]:
        command = ["node", str(node_packages / script), json.dumps(options)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report

    return run


def assert_served(report: dict[str, Any]) -> None:
    """A client saw all there is, found the passage, and read what it links to."""
    assert report["tools"] == ["recall", "open", "status"]
    assert report["prompts"] == ["catch_me_up", "what_did_we_decide"]
    assert report["title"] == "Rotating certificates"
    assert "every March" in report["text"]
    assert "All certificates are kept in the vault." in report["read"]
    assert report["completed"] == ["notes"]
    assert report["missing"] == -32602


def test_the_client_of_sdk_1_is_served_with_the_password(run: Run, standing_url: str, password: str) -> None:
    report = run("sdk1.mjs", url=f"{standing_url}/mcp", password=password)
    assert_served(report)
    assert report["version"] == "2025-11-25"


@pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_client_of_sdk_2_is_served_in_either_era(
    run: Run, standing_url: str, password: str, era: str, version: str
) -> None:
    report = run("client2.mjs", url=f"{standing_url}/mcp", password=password, era=era)
    assert_served(report)
    assert report["version"] == version


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("script", ["sdk1.mjs", "client2.mjs"])
def test_the_clients_sign_in_and_renew_their_token_however_they_mean_to_prove_themselves(
    run: Run, person: Any, password: str, script: str, method: str | None
) -> None:
    redirect = LOOPBACK if method in ("none", "client_secret_basic") else CLAUDE
    about = {"url": f"{person.url}/mcp", "password": password, "era": "auto"}
    report = run(script, **about, signIn=True, method=method, redirect=redirect)
    assert_served(report)
    assert report["renewed"]


@pytest.mark.parametrize("script", ["sdk1.mjs", "client2.mjs"])
def test_the_clients_sign_in_by_a_document_where_that_is_offered(
    run: Run, meet: Callable[..., Any], password: str, script: str
) -> None:
    person = meet(documents=Documents())
    about = {"url": f"{person.url}/mcp", "password": password, "era": "legacy"}
    report = run(script, **about, signIn=True, method="none", redirect=LOOPBACK, document=CLAUDE_CODE)
    assert_served(report)
    assert report["client"] == CLAUDE_CODE
    assert report["renewed"]


def remote(node_packages: Path, tmp_path: Path, url: str, *words: str) -> StdioServerParameters:
    """How a client starts mcp-remote, with a home of its own and no browser to be found."""
    proxy = str(node_packages / "node_modules/mcp-remote/dist/proxy.js")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MCP_REMOTE_CONFIG_DIR": str(tmp_path)}
    return StdioServerParameters(command="node", args=[proxy, f"{url}/mcp", *words], env=environment)


@pytest.mark.anyio
async def test_mcp_remote_passes_a_client_on_with_the_password(
    node_packages: Path, tmp_path: Path, standing_url: str, password: str
) -> None:
    program = remote(node_packages, tmp_path, standing_url, "--header", f"Authorization: Bearer {password}")
    async with Client(stdio_client(program), mode="legacy") as client:
        found = await client.call_tool("recall", {"query": "When do we rotate the signing certificate?"})
        assert found.structured_content
        assert found.structured_content["passages"][0]["title"] == "Rotating certificates"


@pytest.mark.anyio
async def test_mcp_remote_signs_in_through_a_persons_browser(node_packages: Path, tmp_path: Path, person: Any) -> None:
    log = tmp_path / "log"
    with log.open("w", encoding="utf-8") as output:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, _allow, person, log)
            program = remote(node_packages, tmp_path, person.url)
            async with Client(stdio_client(program, errlog=output), mode="legacy") as client:
                found = await client.call_tool("recall", {"query": "When do we rotate the signing certificate?"})
    assert found.structured_content
    assert found.structured_content["passages"][0]["title"] == "Rotating certificates"


def _allow(person: Any, log: Path) -> None:
    """Sign in at the address that the log names, and let the browser go where it is sent."""
    deadline = time.monotonic() + 60
    while not (named := re.search(rf"({re.escape(person.url)}/authorize\S+)", log.read_text(encoding="utf-8"))):
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.1)
    back = person.answer(person.http.get(named[1])).headers["location"]
    assert httpx.get(back, timeout=20).status_code == 200
