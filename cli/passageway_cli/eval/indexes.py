"""Builds every source into an index of its own for a measurement, away from the one that serves."""

import contextlib
import time
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from passageway.config import Config, ConnectorConfig
from passageway.embedder import Embedder
from passageway.errors import PassagewayError, SettingsError
from passageway_cli.eval.asking import WARM_UP
from passageway_cli.eval.measurement import IndexedSource
from passageway_query.answer import Question
from passageway_query.search import Search
from passageway_sync.sync import build


class SourceFailedError(PassagewayError):
    """A source could not be built; figures of the others alone would mislead."""


def check_kept_model(folder: Path, embedder: Embedder) -> None:
    """Nothing when all that is indexed in the folder is this embedder's. Raises SettingsError naming what is not."""
    if not any(folder.glob("*.db")):
        return
    with contextlib.closing(Search(folder, embedder)) as search:
        search.ask(Question(WARM_UP))  # a search knows its model from the first question on
        others = [report.name for report in search.sources() if report.sections and not report.vectors_current]
    if others:
        raise SettingsError(
            f"--data-dir {folder}: {', '.join(others)} was built with another embedding model than "
            f"{embedder.info().name}; name another folder, or delete this one to build it anew"
        )


def bars(console: Console) -> Progress:
    """Bars that count what is done; none where there is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def build_sources(
    config: Config, folder: Path, embedder: Embedder, console: Console
) -> tuple[tuple[IndexedSource, ...], float]:
    """What each source holds once it is built or brought up to date, and the seconds that took.

    Raises SourceFailedError naming the source that failed.
    """
    started = time.perf_counter()
    with bars(console) as progress:
        sources = tuple(_build(connector, folder, embedder, progress) for connector in config.connectors)
    if not any(source.sections for source in sources):
        raise SourceFailedError("the sources hold no text at all, so there is nothing to measure")
    return sources, time.perf_counter() - started


def _build(connector: ConnectorConfig, folder: Path, embedder: Embedder, progress: Progress) -> IndexedSource:
    task = progress.add_task(f"Indexing {escape(connector.name)}", total=None)
    try:
        report = build(connector, folder, embedder, partial(_update, progress, task))
    except PassagewayError as error:
        raise SourceFailedError(f"source {connector.name!r} could not be indexed: {error}") from error
    _update(progress, task, report.items, report.items)
    if not progress.console.is_terminal:
        progress.console.print(f"{connector.name}: {report.items} items, {report.sections} sections", markup=False)
    return IndexedSource(report.name, report.items, report.sections)


def _update(progress: Progress, task: TaskID, done: int, of: int) -> None:
    progress.update(task, completed=done, total=of)
