"""The report as one HTML page: drawings beside the tables, nothing loaded from anywhere, no script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jinja2

from passageway_cli.eval import notes
from passageway_cli.eval.charts import WIDTHS, BarPlot, Histogram, Series, SweepPlot, bar_plot, histogram, sweep_plot
from passageway_cli.eval.measurement import Measurement, Subject
from passageway_cli.eval.metrics import Score
from passageway_cli.eval.report import ComparisonReport, Report, RunReport
from passageway_cli.eval.report_markdown import comparison_line, index_line, run_line, sources_line
from passageway_cli.eval.tables import (
    Table,
    candidates_table,
    cases_table,
    groups_table,
    metrics_table,
    pairs_table,
    silences,
    sweep_table,
    targets_table,
)
from passageway_cli.eval.wording import threshold

HIT, FALSE_SILENCE, NEAR_MISS, SILENCE = 0, 1, 2, 3
"""Numbers of the styles in the style sheet; groups of unanswerable questions have SILENCE and those after it."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing in every width, with what it shows in words for those who cannot see it."""

    kind: str
    words: str
    plots: tuple[SweepPlot | BarPlot | Histogram, ...]
    legend: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page: heading, drawings, table and notes, each of which may be missing."""

    heading: str
    drawings: tuple[Drawing, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()


def report_html(report: Report) -> str:
    """The page; questions are on it only if the report has them."""
    if isinstance(report, RunReport):
        title, lines, parts = "Retrieval quality", (run_line(report), index_line(report)), _run(report)
    else:
        lines = (comparison_line(report), sources_line(report.subjects[0]))
        title, parts = "Models compared", _comparison(report)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("passageway_cli.eval"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(title=title, lines=lines, parts=parts) + "\n"


def _run(report: RunReport) -> list[Part]:
    subject, measured = report.subject, report.subject.measured
    near = measured.near_miss is not None
    headline = _bars("Shares at the threshold in use", _headline_bars(measured))
    parts = [
        Part("Figures", (headline,), metrics_table(subject), (notes.INTERVALS, *([notes.NEAR_MISS] if near else [])))
    ]
    if subject.sweep:
        parts.append(Part("Relevance threshold", _sweep(subject), sweep_table(subject), (notes.POINTS, notes.GATE)))
    if measured.groups:
        parts.append(Part("Groups", (_groups(measured),), groups_table(measured)))
    if measured.metrics.latency is not None:
        latency = measured.metrics.latency
        plots = tuple(histogram(latency, width) for width in WIDTHS)
        parts.append(Part("Time to answer", (Drawing("histogram", "How the times to answer are spread", plots),)))
    if report.verdicts:
        parts.append(Part("Targets", (), targets_table(report.verdicts)))
    if subject.cases:
        parts.append(Part("Questions", (), cases_table(subject.cases, near=near)))
    return parts


def _comparison(report: ComparisonReport) -> list[Part]:
    own = notes.SHARED_THRESHOLD if report.shared_threshold else notes.OWN_THRESHOLDS
    near = report.subjects[0].measured.near_miss is not None
    drawings = tuple(_bars(label, bars) for label, bars in _candidate_bars(report.subjects))
    table = candidates_table(report.subjects)
    said = (own, notes.INTERVALS, *([notes.NEAR_MISS] if near else []))
    return [
        Part("Candidates", drawings, table, said),
        Part("Question by question", (), pairs_table(report.pairs), (notes.PAIRS,)),
        *(
            Part(f"Relevance threshold: {subject.name}", _sweep(subject), sweep_table(subject), (notes.POINTS,))
            for subject in report.subjects
            if subject.sweep
        ),
    ]


def _sweep(subject: Subject) -> tuple[Drawing, ...]:
    """Two plots over the same thresholds: what should be high, and what should be low."""
    high = [Series("Hit@3", HIT, tuple(m.metrics.hit_at_3 for m in subject.sweep))]
    for number, (suffix, _) in enumerate(silences(subject.measured)):
        scores = tuple(silences(measured)[number][1] for measured in subject.sweep)
        high.append(Series(f"Silence{suffix}", SILENCE + number, scores))
    low = [Series("False silence", FALSE_SILENCE, tuple(m.metrics.false_silence for m in subject.sweep))]
    near = tuple(m.near_miss for m in subject.sweep if m.near_miss is not None)
    if near:
        low.append(Series("Near-miss answers", NEAR_MISS, near))
    plots = (_lines("Higher is better", subject, high), _lines("Lower is better", subject, low))
    return tuple(plot for plot in plots if plot.legend)


def _lines(words: str, subject: Subject, series: Sequence[Series]) -> Drawing:
    thresholds = [measured.threshold for measured in subject.sweep]
    plots = tuple(sweep_plot(thresholds, series, subject.measured.threshold, width) for width in WIDTHS)
    legend = tuple((line.label, line.style) for line in plots[0].lines)
    own = threshold(subject.measured.threshold)
    return Drawing("lines", f"{words}: shares against the threshold, which was {own}", plots, legend)


def _bars(words: str, bars: Iterable[tuple[str, int, Score]]) -> Drawing:
    known = [bar for bar in bars if bar[2].of]
    return Drawing("bars", words, tuple(bar_plot(known, width) for width in WIDTHS))


def _headline_bars(measured: Measurement) -> list[tuple[str, int, Score]]:
    metrics = measured.metrics
    return [
        ("Hit@1", HIT, metrics.hit_at_1),
        ("Hit@3", HIT, metrics.hit_at_3),
        *((f"Silence{suffix}", SILENCE + n, score) for n, (suffix, score) in enumerate(silences(measured))),
        ("False silence (lower is better)", FALSE_SILENCE, metrics.false_silence),
        ("Near-miss answers (lower is better)", NEAR_MISS, measured.near_miss or Score(0, 0)),
    ]


def _groups(measured: Measurement) -> Drawing:
    bars: list[tuple[str, int, Score]] = []
    apart = len(silences(measured)) > 1
    silence = {group.name: SILENCE + number * apart for number, group in enumerate(measured.silence_groups)}
    for group in measured.groups:
        bars.append((f"{group.name}: hit@3", HIT, group.metrics.hit_at_3))
        bars.append((f"{group.name}: silence", silence.get(group.name, SILENCE), group.metrics.silence))
        bars.append((f"{group.name}: near-miss answers", NEAR_MISS, group.near_miss or Score(0, 0)))
    return _bars("Shares by group", bars)


def _candidate_bars(subjects: Sequence[Subject]) -> list[tuple[str, list[tuple[str, int, Score]]]]:
    """A drawing a figure, with a bar a candidate."""
    rows = [_headline_bars(subject.measured) for subject in subjects]
    return [
        (bars[0][0], [(subject.name, bar[1], bar[2]) for subject, bar in zip(subjects, bars, strict=True)])
        for bars in zip(*rows, strict=True)
        if any(bar[2].of for bar in bars)
    ]
