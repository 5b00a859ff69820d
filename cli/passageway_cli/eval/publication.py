"""Where a report goes: the terminal, a folder, the marked block of a page with its history."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from passageway.errors import SettingsError
from passageway_cli.eval.history import Entry, entry_of, history_path, load_history, with_entries, write_history
from passageway_cli.eval.page import Page, load_page, write_page
from passageway_cli.eval.report import Report, RunReport
from passageway_cli.eval.report_html import report_html
from passageway_cli.eval.report_json import report_json
from passageway_cli.eval.report_markdown import markdown


@dataclass(frozen=True, slots=True)
class Publication:
    """The places of one run, found fit to be written before anything is measured."""

    folder: Path | None
    page: Page | None
    history: tuple[Entry, ...]


def prepare_publication(folder: Path | None, page: Path | None) -> Publication:
    """The places, or SettingsError for a page without markers, a broken history or a folder that cannot be made."""
    ready = None if page is None else load_page(page)
    history = () if page is None else load_history(history_path(page))
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"--out {folder} is no folder and cannot become one: {error}") from error
    return Publication(folder, ready, history)


def publish(report: Report, publication: Publication) -> None:
    """Print the report, then write what was asked for. Raises SettingsError when a file cannot be written.

    The page never gets the questions, whatever the report holds: it is there to be published.
    """
    _print(markdown(report, cases=True))
    if publication.folder is not None:
        _write(publication.folder / "report.json", report_json(report))
        _write(publication.folder / "report.md", markdown(report, cases=True).encode())
        _write(publication.folder / "report.html", report_html(report).encode())
    if publication.page is not None:
        history = with_entries(publication.history, _entries(report))
        write_history(history_path(publication.page.path), history)
        write_page(publication.page, markdown(report, history))


def _entries(report: Report) -> Sequence[Entry]:
    subjects = (report.subject,) if isinstance(report, RunReport) else report.subjects
    return [entry_of(subject, report.setting) for subject in subjects]


def _print(text: str) -> None:
    if sys.stdout.isatty():
        Console().print(Markdown(text))
    else:
        print(text, end="", flush=True)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error}") from error
