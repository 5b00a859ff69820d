"""The report as Markdown: for the terminal, for `report.md` and for the block of a page."""

import re
from collections.abc import Iterable, Sequence

from passageway_cli.eval import notes
from passageway_cli.eval.history import Entry
from passageway_cli.eval.measurement import Occasion, Subject
from passageway_cli.eval.report import ComparisonReport, Report, RunReport
from passageway_cli.eval.tables import (
    Table,
    candidates_table,
    cases_table,
    groups_table,
    history_table,
    metrics_table,
    pairs_table,
    sweep_table,
    targets_table,
)
from passageway_cli.eval.wording import plural, seconds, threshold

_SPECIAL = re.compile(r"[\\`*~<>|\[\]]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
"""Characters that Markdown or a table would read; labels and titles are anybody's words. An underscore between letters
is none of them."""


def markdown(report: Report, history: Sequence[Entry] = (), *, cases: bool = False) -> str:
    """The whole report. `cases` adds every question, which quotes the sources; a page is written without."""
    parts = _run(report) if isinstance(report, RunReport) else _comparison(report)
    if history:
        parts += ["### History", _table(history_table(history))]
    if cases and isinstance(report, RunReport) and report.subject.cases:
        near = report.subject.measured.near_miss is not None
        parts += ["### Questions", _table(cases_table(report.subject.cases, near=near))]
    return "\n\n".join(parts) + "\n"


def run_line(report: RunReport) -> str:
    """`2026-11-30 · passageway 0.1.0 · multilingual-e5-small (384 dimensions) · relevance threshold 0.845`."""
    occasion, subject = report.occasion, report.subject
    model = f"{subject.embedder} ({subject.dimension} dimensions)"
    return f"{_when(occasion)} · {model} · relevance threshold {threshold(subject.measured.threshold)}"


def index_line(report: RunReport) -> str:
    """The machine, the time to build the index, and what each source holds."""
    occasion, subject = report.occasion, report.subject
    built = "an earlier index brought up to date" if subject.index_kept else "index built"
    return f"{occasion.machine} · {built} in {seconds(subject.index_s)} ({sources_line(subject)})"


def sources_line(subject: Subject) -> str:
    """`notes: 30 items, 818 sections; wiki: …`."""
    return "; ".join(
        f"{source.name}: {plural(source.items, 'item')}, {plural(source.sections, 'section')}"
        for source in subject.sources
    )


def comparison_line(report: ComparisonReport) -> str:
    """The date, the version, how many questions, and the machine."""
    metrics = report.subjects[0].measured.metrics
    kinds = f"{metrics.answerable} answerable, {metrics.unanswerable} unanswerable"
    return f"{_when(report.occasion)} · {metrics.questions} questions ({kinds}) · {report.occasion.machine}"


def _when(occasion: Occasion) -> str:
    return f"{occasion.date} · passageway {occasion.version}"


def _run(report: RunReport) -> list[str]:
    subject, measured = report.subject, report.subject.measured
    parts = [_text(run_line(report)), _text(index_line(report)), _table(metrics_table(subject)), notes.INTERVALS]
    if measured.near_miss is not None:
        parts.append(notes.NEAR_MISS)
    if subject.sweep:
        parts += ["### Relevance threshold", _table(sweep_table(subject)), f"{notes.POINTS} {notes.GATE}"]
    if measured.groups:
        parts += ["### Groups", _table(groups_table(measured))]
    if report.verdicts:
        parts += ["### Targets", _table(targets_table(report.verdicts))]
    return parts


def _comparison(report: ComparisonReport) -> list[str]:
    own = notes.SHARED_THRESHOLD if report.shared_threshold else notes.OWN_THRESHOLDS
    first = report.subjects[0]
    parts = [
        _text(comparison_line(report)),
        _text(sources_line(first)),
        own,
        _table(candidates_table(report.subjects)),
        notes.INTERVALS,
        *([notes.NEAR_MISS] if first.measured.near_miss is not None else []),
        "### Question by question",
        notes.PAIRS,
        _table(pairs_table(report.pairs)),
    ]
    for subject in report.subjects:
        if subject.sweep:
            parts += [f"### Relevance threshold: {_text(subject.name)}", _table(sweep_table(subject))]
    if first.sweep:
        parts.append(f"{notes.POINTS} {notes.GATE}")
    return parts


def _table(table: Table) -> str:
    """The table with its columns padded, so that it reads well where nothing renders it."""
    cells = [[_text(cell) for cell in row] for row in (table.heads, *table.rows)]
    if table.marked is not None:
        cells[table.marked + 1][0] = f"**{cells[table.marked + 1][0]}**"
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.heads))]
    lines = [_line(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([lines[0], _line("-" * width for width in widths), *lines[1:]])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """The text on one line, with what Markdown would read escaped."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))
