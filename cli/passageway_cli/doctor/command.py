"""The order of the looks, and how their findings are printed."""

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict

import orjson
from rich.console import Console
from rich.markup import escape

from passageway.settings import Settings
from passageway_cli.doctor import machine
from passageway_cli.doctor.finding import Finding, State, counted
from passageway_cli.doctor.server import TIMEOUT_S, report_findings, server
from passageway_cli.doctor.sign_in import sign_in
from passageway_cli.own_server import own_client, own_password

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "bold red", State.SKIPPED: "dim"}


def doctor(settings: Settings, arguments: argparse.Namespace) -> int:
    """Look at everything and say what to do; 0 when nothing failed, else 1."""
    found: list[Finding] = []
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings(settings):
        found.append(finding)
        if not arguments.json:
            print_finding(finding, console)
    if arguments.json:
        sys.stdout.buffer.write(
            orjson.dumps([asdict(finding) for finding in found], option=orjson.OPT_INDENT_2) + b"\n"
        )
    else:
        console.print(summary(found))
    return 1 if any(finding.state is State.FAILED for finding in found) else 0


def findings(settings: Settings) -> Iterator[Finding]:
    """One finding after another, each as soon as it is there."""
    config, finding = machine.configuration(settings)
    yield finding
    yield machine.password(settings, os.environ)
    yield from machine.data_folder(settings, config)
    if config is not None:
        yield from machine.connectors(settings, config)
    with own_client(TIMEOUT_S) as http:
        report, found = server(settings, http)
    yield from found
    if report is not None:
        yield from report_findings(report)
    elif config is not None:
        yield machine.model(settings, config)
        yield from machine.index_files(settings, config)
    if settings.base_url is not None:
        yield from sign_in(settings.base_url, own_password(settings))


def print_finding(finding: Finding, console: Console) -> None:
    """One line, and one more with what to do."""
    style = _STYLES[finding.state]
    console.print(f"[{style}]{finding.state:8}[/{style}] {escape(finding.what)}: {escape(finding.seen)}")
    if finding.advice:
        console.print(f"{'':8} → {escape(finding.advice)}")


def summary(found: list[Finding]) -> str:
    """The last line."""
    failures = sum(finding.state is State.FAILED for finding in found)
    warnings = sum(finding.state is State.WARNING for finding in found)
    if not failures and not warnings:
        return "All is well."
    return f"{failures or 'nothing'} failed, {counted(warnings, 'warning')}".capitalize() + "."
