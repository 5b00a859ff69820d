"""The running server: who holds its port, whether it takes our password, and what it says of itself."""

import socket
from collections.abc import Iterator
from typing import Any

import httpx

from passageway.settings import Settings
from passageway_cli.doctor.finding import Finding, counted, failed, ok, skipped, warning
from passageway_cli.own_server import local_url, own_password, with_password
from passageway_cli.rpc import headers_for, tool_call

TIMEOUT_S = 20
"""A report may wait for a model that is being loaded."""


def server(settings: Settings, http: httpx.Client) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The report of the running server, None when there is none, and what was found on the way to it."""
    url = local_url(settings)
    if not _held(url.host, url.port or 80):
        return None, [failed("server", f"nothing listens at {url}", "start it with `passageway`")]
    try:
        report = http.get(f"{url}/health", auth=with_password(settings)).json()
        version = report["version"]
    except httpx.TimeoutException:
        return None, [failed("server", f"{url} did not answer in {TIMEOUT_S} s", "look at its log; restart it")]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None, [
            failed(
                "server",
                f"what listens at {url} is not passageway",
                "stop that program, or choose another port with PASSAGEWAY_PORT",
            )
        ]
    return report, [_version(str(url), version, settings), *_password(settings, http, str(url))]


def _held(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=2):
            return True
    except OSError:
        return False


def _version(url: str, version: str, settings: Settings) -> Finding:
    if version != settings.version:
        return warning("server", f"{url} runs {version}, this is {settings.version}", "restart the server")
    return ok("server", f"{url} runs {version}")


def _password(settings: Settings, http: httpx.Client, url: str) -> Iterator[Finding]:
    """Whether hook and MCP are open to our password."""
    if not own_password(settings):
        yield skipped("hook", "there is no password to try")
        yield skipped("mcp", "there is no password to try")
        return
    opened, call = with_password(settings), tool_call("status")
    yield _door("hook", http.post(f"{url}/recall", json={"prompt": "ok"}, auth=opened))
    yield _door("mcp", http.post(f"{url}/mcp", json=call, headers=headers_for(call), auth=opened))


def _door(what: str, reply: httpx.Response) -> Finding:
    path = reply.request.url.path
    if reply.status_code == 200:
        return ok(what, f"{path} takes the password")
    if reply.status_code == 401:
        return failed(
            what,
            f"{path} says that this is not its password",
            "set the same PASSAGEWAY_LOGIN_PASSWORD_FILE here as for the server, and restart it if that has changed",
        )
    if reply.status_code == 429:
        wait_s = reply.headers.get("retry-after", "60")
        return failed(what, f"{path} has had too many wrong passwords", f"wait {wait_s} s, and find who sends them")
    return failed(what, f"{path} answered {reply.status_code}: {reply.text[:200]}", "look at the log of the server")


def report_findings(report: dict[str, Any]) -> Iterator[Finding]:
    """What the server says of its configuration, sources, model and sync."""
    if report.get("error"):
        yield failed("server", str(report["error"]), "mend the configuration and restart the server")
    for source in report.get("sources") or []:
        yield _source(source)
    embedder, sync = report.get("embedder"), report.get("sync")
    if embedder:
        yield _embedder(embedder)
    if sync:
        yield _sync(sync)


def _source(source: dict[str, Any]) -> Finding:
    what = f"source {source['name']}"
    counts = f"{counted(source['items'], 'item')}, {counted(source['sections'], 'section')}"
    if source["state"] == "failing":
        return failed(
            what,
            source.get("error") or "it is failing; the reason needs the password",
            "mend the cause; what was indexed stays searchable and the next sync tries again",
        )
    if not source["vectors_current"]:
        return warning(what, f"{counts}, found by words only", "wait until its vectors are made anew")
    if source["state"] == "indexing":
        done = f"{source.get('fetched') or 0:,} of {source['of']:,} read" if source.get("of") else "not begun yet"
        return ok(what, f"{counts}; being read, {done}")
    return ok(what, counts)


def _embedder(embedder: dict[str, Any]) -> Finding:
    state = embedder["state"]
    if state == "ok":
        return ok("model", f"{embedder['name']}, {embedder['dimension']} numbers, gate {embedder['min_similarity']:g}")
    why = embedder.get("error") or state
    if state == "loading":
        return warning("model", why, "wait; questions are answered once it is there")
    return failed("model", why, "until it answers, questions are an error and nothing new is indexed")


def _sync(sync: dict[str, Any]) -> Finding:
    if sync["state"] == "gone":
        return failed(
            "sync", "nobody looks after the sources", "start `passageway sync`, or look at the log for why it ended"
        )
    return ok("sync", sync["state"])
