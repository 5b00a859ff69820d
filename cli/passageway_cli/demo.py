"""`passageway demo`: the whole thing on the sample articles, in one go."""

import argparse
import contextlib
import dataclasses
import os
import secrets
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from passageway.config import Config, ConnectorConfig
from passageway.embedder import Embedder
from passageway.errors import SettingsError
from passageway.settings import Settings
from passageway_cli.lifecycle import listen
from passageway_cli.parts import prepare_folder, serve_questions, sync_part
from passageway_cli.recall import print_answer
from passageway_embed.make import make_embedder
from passageway_query.answer import Question
from passageway_query.search import Search
from passageway_sync.sync import build

QUESTIONS = (
    "How does backpropagation compute the gradient of every weight?",
    "Warum überanpasst sich ein Modell an seine Trainingsdaten?",
    "Which part of a network lets a decoder look back at all the words of a sentence?",
    "What is on the cafeteria menu today?",
)
"""Two plain ones, one that shares hardly a word with its answer, and one that nothing answers."""

LANGUAGES = ("en", "de")


def demo(settings: Settings, arguments: argparse.Namespace) -> int:
    """Index the sample articles, ask the questions, then serve them until interrupted; 0."""
    started = time.monotonic()
    console = Console(highlight=False, soft_wrap=True)
    corpus = find_corpus(arguments.corpus)
    config = Config.model_validate({"connector": [_connector(corpus, language) for language in LANGUAGES]})
    with contextlib.ExitStack() as stack:
        data_dir = arguments.data_dir or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="passageway-demo-"))
        )
        prepare_folder(data_dir)
        settings = dataclasses.replace(
            settings, data_dir=data_dir, password=settings.password or secrets.token_urlsafe(12)
        )
        if not arguments.no_serve:
            listen(settings.host, settings.port).close()  # rather said now than after a minute of indexing
        console.print("Getting the embedding model ready …")
        embedder = stack.enter_context(contextlib.closing(make_embedder(config.embedder, settings, foreground=True)))
        _build(config, data_dir, embedder, console)
        _ask(data_dir, embedder, console)
        console.print(f"[dim]All of this took {time.monotonic() - started:.0f} s.[/dim]\n")
        if arguments.no_serve:
            return 0
        _say_how_to_go_on(settings, console)
        return serve_questions(settings, config, embedder, sync_part(settings, config, embedder))


def find_corpus(named: Path | None) -> Path:
    """The folder with `en` and `de` in it. Raises SettingsError saying where it was looked for."""
    candidates = [named] if named else [Path(__file__).parents[2] / "corpus", Path.cwd() / "corpus"]
    for candidate in candidates:
        if all((candidate / language).is_dir() for language in LANGUAGES):
            return candidate.resolve()
    looked = " and ".join(str(candidate) for candidate in candidates)
    raise SettingsError(f"no sample articles in {looked}; name the corpus folder of the source code with --corpus DIR")


def _connector(corpus: Path, language: str) -> ConnectorConfig:
    return ConnectorConfig(
        name=f"corpus-{language}",
        command=[sys.executable, "-m", "passageway_connector_markdown"],
        env={"FOLDER": str(corpus / language)},
    )


def _build(config: Config, data_dir: Path, embedder: Embedder, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for connector in config.connectors:
            if not console.is_terminal:
                console.print(f"Indexing {connector.name} …")
            task = progress.add_task(f"Indexing {connector.name}", total=None)
            report = build(connector, data_dir, embedder, partial(_update, progress, task))
            progress.remove_task(task)
            console.print(f"{connector.name}: {report.items} articles, {report.sections} sections")
    console.print()


def _update(progress: Progress, task: TaskID, done: int, of: int) -> None:
    progress.update(task, completed=done, total=of)


def _ask(data_dir: Path, embedder: Embedder, console: Console) -> None:
    with contextlib.closing(Search(data_dir, embedder)) as search:
        for text in QUESTIONS:
            console.print(f"[bold cyan]? {escape(text)}[/bold cyan]")
            print_answer(search.ask(Question(text)), console)
            console.print()


def _say_how_to_go_on(settings: Settings, console: Console) -> None:
    address = f"http://{settings.host}:{settings.port}"
    password = escape(settings.password or "")
    console.print(f"Serving at [bold]{address}[/bold] with the password [bold]{password}[/bold]")
    console.print("Connect Claude Code:")
    header = f'--header "Authorization: Bearer {password}"'
    console.print(f"  claude mcp add --transport http passageway {address}/mcp {header}")
    console.print(f"Stop it with Ctrl-C, or: kill {os.getpid()}")
