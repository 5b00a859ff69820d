"""Builds every source into an index of its own for a measurement, away from the one that serves."""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from passageway.config import Config, ConnectorConfig
from passageway.embedder import Embedder
from passageway.errors import PassagewayError, SettingsError
from passageway.settings import Settings
from passageway_cli.eval.asking import WARM_UP
from passageway_cli.eval.measurement import IndexedSource
from passageway_query.answer import Question
from passageway_query.search import Search
from passageway_sync.sync import build


class SourceFailedError(PassagewayError):
    """A source could not be built; figures of the others alone would mislead."""


@contextmanager
def index_folder(kept: Path | None) -> Iterator[Path]:
    """The folder to keep the index in, created if need be, or one that is gone afterwards."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="passageway-eval-") as folder:
        yield Path(folder)


def check_kept_folder(folder: Path, settings: Settings, config: Config) -> None:
    """Nothing when the folder may be used. Raises SettingsError for the live one, or one with other sources in it."""
    if folder.resolve() == settings.data_dir.resolve():
        raise SettingsError(
            f"--data-dir {folder} is the folder that the server serves from; name another, such as eval-index"
        )
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"--data-dir {folder} is no folder")
    strangers = {path.stem for path in folder.glob("*.db")} - {connector.name for connector in config.connectors}
    if strangers:
        raise SettingsError(
            f"--data-dir {folder} also holds {', '.join(sorted(strangers))}, which the configuration does not name; "
            "passages from there would be found too, so delete the files or name another folder"
        )


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


def build_sources(
    config: Config, folder: Path, embedder: Embedder, console: Console
) -> tuple[tuple[IndexedSource, ...], float]:
    """What each source holds once it is built or brought up to date, and the seconds that took.

    Raises SourceFailedError naming the source that failed.
    """
    started = time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
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
