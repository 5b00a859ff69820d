"""`passageway recall QUESTION`: the answer the doors would give, with the reasons on demand."""

import argparse
import contextlib
import sys
from dataclasses import asdict
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from passageway.config import Config, load_config
from passageway.embed_client import HttpEmbedder
from passageway.embedder import Embedder
from passageway.errors import EmbedderError
from passageway.settings import Settings
from passageway_embed.make import make_embedder
from passageway_query.answer import Answer, Candidate, Filters, Hit, Question
from passageway_query.search import Search


def recall(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print at most three passages, or the reason for silence; 0. Raises EmbedderError rather than fall silent."""
    filters = Filters(arguments.source, arguments.path, arguments.label, arguments.updated_after)
    question = Question(" ".join(arguments.question), filters, explain=arguments.why)
    config = load_config(settings.config_path) if settings.config_path.exists() else Config()
    with (
        contextlib.closing(_embedder(settings, config)) as embedder,
        contextlib.closing(Search(settings.data_dir, embedder)) as search,
    ):
        answer = search.ask(question)
    if arguments.json:
        sys.stdout.buffer.write(orjson.dumps(as_json(answer), option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print_answer(answer, Console(soft_wrap=True, highlight=False))
    return 0


def _embedder(settings: Settings, config: Config) -> Embedder:
    """The embed service where one runs, so that no second model is loaded; else the model in this process."""
    service = HttpEmbedder(settings.embed_url)
    try:
        service.info()
    except EmbedderError:
        service.close()
        return make_embedder(config.embedder, settings)
    return service


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as plain values; silence is a reason or null."""
    return {**asdict(answer), "silence": answer.silence.value if answer.silence else None}


def print_answer(answer: Answer, console: Console) -> None:
    """Print the passages with title, place and link, or the silence, and the explanation if there is one."""
    for hit in answer.hits:
        _print_hit(hit, console)
    if answer.related:
        console.print("[dim]Related:[/dim] " + escape(", ".join(related.title for related in answer.related)))
    if answer.silence is not None:
        console.print(f"[dim]Nothing: {escape(answer.silence.value)}.[/dim]")
    if answer.keyword_only is not None:
        console.print(f"[yellow]By words alone: {escape(answer.keyword_only)}[/yellow]")
    if answer.explanation is not None:
        _print_explanation(answer, console)


def _print_hit(hit: Hit, console: Console) -> None:
    place = " › ".join((hit.source, *hit.path, *([hit.heading] if hit.heading else [])))
    similarity = "" if hit.similarity is None else f"  {hit.similarity:.3f}"
    console.print(f"[bold]{escape(hit.title)}[/bold][dim]{similarity}  {escape(place)}[/dim]")
    console.print(f"[dim]{escape(hit.url)}[/dim]")
    console.print(escape(hit.text))
    console.print()


def _print_explanation(answer: Answer, console: Console) -> None:
    explanation = answer.explanation
    assert explanation is not None
    gate = "none (by words alone)" if explanation.min_similarity is None else f"{explanation.min_similarity:g}"
    console.print(f"\n{explanation.sections_searched:,} sections searched, gate {gate}")
    table = Table("Item", "Words", "Meaning", "Cosine", "Shared words", "Weight", "Score", "Verdict", box=None)
    for candidate in explanation.candidates:
        table.add_row(*_row(candidate))
    console.print(table)
    if (nearest := explanation.nearest_rejected) is not None:
        cosine = "" if nearest.similarity is None else f", cosine {nearest.similarity:.3f}"
        console.print(f"Nearest that did not pass: {escape(nearest.title)} ({escape(nearest.source)}{cosine})")


def _row(candidate: Candidate) -> tuple[str, ...]:
    def rank(number: int | None) -> str:
        return "–" if number is None else str(number)

    return (
        escape(f"{candidate.title} ({candidate.source})"),
        rank(candidate.keyword_rank),
        rank(candidate.vector_rank),
        "–" if candidate.similarity is None else f"{candidate.similarity:.3f}",
        escape(" ".join(candidate.matched)) or "–",
        f"{candidate.weight:g}",
        f"{candidate.score:.4f}",
        escape(candidate.verdict),
    )
