"""`passageway status`: what the running server says of itself."""

import argparse
import sys
from typing import Any

import httpx
import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from passageway.errors import PassagewayError
from passageway.settings import Settings
from passageway_cli.own_server import local_url, own_client, with_password

TIMEOUT_S = 10


def status(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the report of `/health`; 0 when everything is well, 1 when something fails or no server answers."""
    report = fetch_report(settings)
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(report, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print_report(report, Console(highlight=False, soft_wrap=True))
    return 0 if report.get("status") in ("ok", "indexing") else 1


def fetch_report(settings: Settings) -> dict[str, Any]:
    """The report of the server at the configured address, errors included if the password is known."""
    url = f"{local_url(settings)}/health"
    try:
        with own_client(TIMEOUT_S) as http:
            report = http.get(url, auth=with_password(settings)).json()
    except (httpx.HTTPError, ValueError) as error:
        raise PassagewayError(f"no passageway answers at {url} ({error}); start it with `passageway`") from error
    if not isinstance(report, dict):
        raise PassagewayError(f"what answers at {url} is not passageway")
    return report


def print_report(report: dict[str, Any], console: Console) -> None:
    """Print the report for a person."""
    console.print(
        f"[bold]{escape(str(report.get('status')))}[/bold]  passageway {escape(str(report.get('version', '')))}"
    )
    if report.get("error"):
        console.print(escape(str(report["error"])))
    table = Table("Source", "State", "Items", "Sections", "Progress", "Error", box=None)
    for source in report.get("sources") or []:
        progress = f"{source['fetched']} of {source['of']}" if source.get("of") else ""
        cells = (
            source.get("name"),
            source.get("state"),
            source.get("items"),
            source.get("sections"),
            progress,
            source.get("error") or "",
        )
        table.add_row(*(escape(str(cell)) for cell in cells))
    if table.row_count:
        console.print(table)
