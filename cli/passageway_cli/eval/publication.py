"""Where a report goes: the terminal, a folder, the marked block of a page with its history."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from passageway.errors import SettingsError
from passageway_cli.eval.folders import make_folder
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
    """The places. Raises SettingsError for a page without markers, a broken history, or what cannot be written."""
    if folder is not None:
        make_folder("--out", folder)
    if page is None:
        return Publication(folder, None, ())
    ready, history = load_page(page), load_history(history_path(page))
    for path in (page, history_path(page)):
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise SettingsError(f"--write {page}: {path} is not to be written; look at its owner and permissions")
    return Publication(folder, ready, history)


def publish(report: Report, publication: Publication) -> None:
    """Write what was asked for and print the report. Raises SettingsError when a file cannot be written.

    The page never gets the questions, whatever the report holds: it is there to be published.
    """
    text = markdown(report, cases=True)
    try:
        if publication.folder is not None:
            _write(publication.folder / "report.json", report_json(report))
            _write(publication.folder / "report.md", text.encode())
            _write(publication.folder / "report.html", report_html(report).encode())
        if publication.page is not None:
            history = with_entries(publication.history, _entries(report))
            write_page(publication.page, markdown(report, history))
            write_history(history_path(publication.page.path), history)
    finally:
        # Neither costs the other: not a full disk the figures, nor a reader who left, as in `| head`, the files.
        _print(text)


def _entries(report: Report) -> Sequence[Entry]:
    subjects = (report.subject,) if isinstance(report, RunReport) else report.subjects
    return [entry_of(subject, report.occasion) for subject in subjects]


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
