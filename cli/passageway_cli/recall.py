"""`passageway recall QUESTION`: the answer the doors would give, with the reasons on demand."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from passageway.config import Config, load_config
from passageway.embed_client import HttpEmbedder
from passageway.embedder import Embedder
from passageway.errors import EmbedderError, SettingsError
from passageway.passages import trail
from passageway.settings import Settings
from passageway_cli.table import print_table
from passageway_embed.make import make_embedder
from passageway_query.answer import Answer, Candidate, Filters, Hit, Question, SilenceReason
from passageway_query.filters import updated_after_s
from passageway_query.search import Search

SILENCES = {
    SilenceReason.NOTHING_INDEXED: "Name a source in {config} and start `passageway`.",
    SilenceReason.BELOW_GATE: "No passage comes close enough to the question.",
    SilenceReason.FILTERED_OUT: "The filters leave nothing that fits.",
    SilenceReason.STILL_INDEXING: "A source is still being read; ask again later.",
    SilenceReason.SOURCE_FAILING: "A source could not be read; `passageway status` says which and why.",
    SilenceReason.NOT_A_QUESTION: "There is no word in it to look for.",
}
"""What a silence means to somebody at a terminal."""


def recall(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print at most three passages, or the reason for silence; 0.

    Raises EmbedderError rather than fall silent, and SettingsError for a filter that means nothing.
    """
    filters = _filters(arguments)
    question = Question(" ".join(arguments.question), filters, explain=arguments.why)
    config = load_config(settings.config_path) if settings.config_path.exists() else Config()
    with (
        contextlib.closing(_embedder(settings, config)) as embedder,
        contextlib.closing(Search(settings.data_dir, embedder)) as search,
    ):
        _check_source(filters.source, [report.name for report in search.sources()])
        answer = search.ask(question)
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(as_json(answer), option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print_answer(answer, Console(soft_wrap=True, highlight=False), str(settings.config_path))
    return 0


def _filters(arguments: argparse.Namespace) -> Filters:
    filters = Filters(arguments.source, arguments.path, arguments.label, arguments.updated_after)
    try:
        updated_after_s(filters)
    except ValueError:
        raise SettingsError(
            f"--updated-after is {filters.updated_after!r}, expected a date such as 2026-03-01"
        ) from None
    return filters


def _check_source(name: str, there: Sequence[str]) -> None:
    if name and name not in there:
        raise SettingsError(f"no source is named {name!r}; there is {', '.join(there) or 'none yet'}")


def _embedder(settings: Settings, config: Config) -> Embedder:
    """The embed service where one runs, so that no second model is loaded; else the model in this process."""
    service = HttpEmbedder(settings.embed_url)
    try:
        service.info()
    except EmbedderError:
        service.close()
        return make_embedder(config.embedder, settings, foreground=True)
    return service


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as plain values; silence is a reason or null. The names are those of the other doors."""
    values = asdict(answer)
    words_only = values.pop("keyword_only")
    return {**values, "silence": answer.silence.value if answer.silence else None, "words_only": words_only}


def print_answer(answer: Answer, console: Console, config: str = "passageway.toml") -> None:
    """Print the passages with title, place and link, or the silence, and the explanation if there is one."""
    for hit in answer.hits:
        _print_hit(hit, console)
    if answer.related:
        console.print("[dim]Related:[/dim] " + escape(", ".join(related.title for related in answer.related)))
    if answer.silence is not None:
        meaning = SILENCES[answer.silence].format(config=config)
        console.print(f"Nothing: {escape(answer.silence.value)}. [dim]{escape(meaning)}[/dim]")
    if answer.keyword_only is not None:
        console.print(f"[yellow]By words alone: {escape(answer.keyword_only)}[/yellow]")
    for problem in answer.problems:
        console.print(f"[yellow]Not searched: {escape(problem)}[/yellow]")
    if answer.explanation is not None:
        _print_explanation(answer, console)


def _print_hit(hit: Hit, console: Console) -> None:
    place = trail((hit.source, *hit.path, hit.heading))
    similarity = "" if hit.similarity is None else f"  {hit.similarity:.3f}"
    console.print(f"[bold]{escape(hit.title)}[/bold][dim]{similarity}  {escape(place)}[/dim]")
    console.print(f"[dim]{escape(hit.url)}[/dim]")
    console.print(escape(hit.text))
    console.print()


def _print_explanation(answer: Answer, console: Console) -> None:
    explanation = answer.explanation
    assert explanation is not None
    gate = "none (by words alone)" if explanation.min_similarity is None else f"{explanation.min_similarity:g}"
    console.print(f"{explanation.sections_searched:,} sections searched, gate {gate}\n")
    # What is long stands last, so that the figures stay below each other in a narrow terminal.
    table = Table("Score", "Words", "Meaning", "Cosine", "Weight", "Verdict", "Item", "Shared words", box=None)
    for candidate in explanation.candidates:
        table.add_row(*_row(candidate))
    print_table(table, console)
    if (nearest := explanation.nearest_rejected) is not None:
        cosine = "" if nearest.similarity is None else f", cosine {nearest.similarity:.3f}"
        console.print(f"\nNearest that did not pass: {escape(nearest.title)} ({escape(nearest.source)}{cosine})")


def _row(candidate: Candidate) -> tuple[str, ...]:
    def rank(number: int | None) -> str:
        return "–" if number is None else str(number)

    return (
        f"{candidate.score:.4f}",
        rank(candidate.keyword_rank),
        rank(candidate.vector_rank),
        "–" if candidate.similarity is None else f"{candidate.similarity:.3f}",
        f"{candidate.weight:g}",
        escape(candidate.verdict),
        escape(f"{candidate.title} ({candidate.source})"),
        escape(" ".join(candidate.matched)) or "–",
    )
