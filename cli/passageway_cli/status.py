"""`passageway status`: what the running server says of itself."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from passageway.errors import PassagewayError
from passageway.settings import Settings
from passageway_cli.own_server import local_url, own_client, with_password
from passageway_cli.table import print_table

TIMEOUT_S = 10


def status(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the report of `/health`; 0 when everything is well, 1 when something fails or no server answers."""
    report = fetch_report(settings)
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(report, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print_report(report, Console(highlight=False, soft_wrap=True), str(settings.config_path))
    return 0 if report.get("status") in ("ok", "indexing") else 1


def fetch_report(settings: Settings) -> dict[str, Any]:
    """The report of the server at the configured address, errors included if the password is known."""
    url = f"{local_url(settings)}/health"
    try:
        with own_client(TIMEOUT_S) as http:
            report = http.get(url, auth=with_password(settings)).json()
    except httpx.HTTPError as error:
        raise PassagewayError(f"no passageway answers at {url} ({error}); start it with `passageway`") from error
    except ValueError:
        report = None
    if not isinstance(report, dict) or "status" not in report:
        raise PassagewayError(
            f"what answers at {url} is not passageway; PASSAGEWAY_PORT says where passageway listens, 8082 by default"
        )
    return report


def print_report(report: Mapping[str, Any], console: Console, config: str = "passageway.toml") -> None:
    """Print the report for a person: the sources, the model, and then what is wrong with them."""
    instance = f", instance {report['instance']}" if report.get("instance") else ""
    version = escape(f"passageway {report.get('version', '')}{instance}")
    console.print(f"[bold]{escape(str(report['status']))}[/bold]  {version}")
    sources: Sequence[Mapping[str, Any]] = report.get("sources") or []
    if sources:
        table = Table("Source", "State", "Items", "Sections", "Synced", "", box=None)
        for source in sources:
            table.add_row(*map(escape, _row(source)))
        print_table(table, console)
    elif report["status"] != "error":
        console.print(escape(f"No source yet: add a [[connector]] to {config} and start passageway again."))
    for name in ("embedder", "sync"):
        if part := report.get(name):
            console.print(f"{name}: {escape(' '.join(filter(None, (part.get('state'), part.get('name')))))}")
    for line in _errors(report):
        console.print(escape(line))


def _row(source: Mapping[str, Any]) -> tuple[str, ...]:
    remarks = []
    if source.get("of"):
        remarks.append(f"{source.get('fetched') or 0:,} of {source['of']:,} read")
    if not source.get("vectors_current", True):
        remarks.append("vectors of another model, found by words only")
    if not source.get("configured", True):
        remarks.append("no longer configured")
    age_s = source.get("last_success_age_s")
    return (
        str(source.get("name")),
        str(source.get("state")),
        f"{source.get('items', 0):,}",
        f"{source.get('sections', 0):,}",
        "never" if age_s is None else ago(age_s),
        ", ".join(remarks),
    )


def ago(seconds: int) -> str:
    """`5 s ago`, `12 min ago`, `3 h ago`, `2 d ago`."""
    for unit, size_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size_s:
            return f"{seconds // size_s} {unit} ago"
    return f"{seconds} s ago"


def _errors(report: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong, a line each. Without the password the server keeps the texts to itself."""
    if report.get("error"):
        yield str(report["error"])
    parts = [*(report.get("sources") or []), {**(report.get("embedder") or {}), "name": "embedder"}]
    for part in parts:
        if part.get("error"):
            yield f"{part['name']}: {part['error']}"
    if report["status"] in ("degraded", "error") and not report.get("errors_shown"):
        yield "What is wrong is told to whoever has the password: set PASSAGEWAY_LOGIN_PASSWORD_FILE to its file."
