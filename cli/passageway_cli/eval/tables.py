"""The tables of a report as plain rows, so that Markdown and HTML cannot differ."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from passageway.passages import trail
from passageway_cli.eval.history import SHOWN, Entry
from passageway_cli.eval.measurement import CaseResult, Change, Group, Measurement, Pair, Subject
from passageway_cli.eval.metrics import Found, Latency, Score
from passageway_cli.eval.verdicts import Verdict
from passageway_cli.eval.wording import (
    UNKNOWN,
    average,
    milliseconds,
    p95,
    p_value,
    percent,
    rate,
    ratio,
    seconds,
    threshold,
    time,
    times,
)

MOST_APART = 4
"""Groups of unanswerable questions that get a row or column each; more are left to the table of groups."""


@dataclass(frozen=True, slots=True)
class Table:
    """Column heads and rows of text. `marked` numbers the row that stands out, from 0; `wordy` cells are sentences."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None
    wordy: bool = False


def metrics_table(subject: Subject) -> Table:
    """Every figure at the subject's own threshold, with its interval."""
    measured, metrics = subject.measured, subject.measured.metrics
    rows = [
        ("Questions", f"{metrics.questions} ({metrics.answerable} answerable, {metrics.unanswerable} unanswerable)"),
        ("Hit@1", rate(metrics.hit_at_1)),
        ("Hit@3", rate(metrics.hit_at_3)),
        ("MRR", average(metrics.mrr)),
        ("nDCG@3", average(metrics.ndcg_at_3)),
        ("Recall@3", rate(metrics.recall_at_3)),
        ("Recall@10 of the ranking, before the gate", rate(subject.recall_at_10)),
        *((f"Silence{suffix}", rate(score)) for suffix, score in silences(measured)),
        ("False silence on answerable questions", rate(metrics.false_silence)),
    ]
    if measured.near_miss is not None:
        rows.append(("Near-miss answers, with the right ones hidden", rate(measured.near_miss)))
    return Table(("Metric", "Value"), (*rows, *_latency_rows(metrics.latency)))


def sweep_table(subject: Subject) -> Table:
    """A row a threshold, the subject's own marked; point values only."""
    apart = [suffix for suffix, _ in silences(subject.measured)]
    near = subject.measured.near_miss is not None
    heads = ("Threshold", "Hit@1", "Hit@3", "MRR", *(f"Silence{suffix}" for suffix in apart), "False silence")
    rows = tuple(_sweep_row(measured, near=near) for measured in subject.sweep)
    own = [measured.threshold for measured in subject.sweep].index(subject.measured.threshold)
    return Table((*heads, *(["Near-miss answers"] if near else []), "p95"), rows, own)


def groups_table(measured: Measurement) -> Table:
    """A row a group, and one for all questions together."""
    near = measured.near_miss is not None
    groups = (*measured.groups, Group("all", measured.metrics, measured.near_miss))
    heads = ("Group", "Questions", "Hit@3", "MRR", "Silence", *(["Near-miss answers"] if near else []))
    return Table(heads, tuple(_group_row(group, near=near) for group in groups), len(groups) - 1)


def targets_table(verdicts: Sequence[Verdict]) -> Table:
    """A row a target."""
    return Table(
        ("Target", "Wanted", "Measured", "Met"),
        tuple((v.target.figure.label, v.wanted, v.shown, "yes" if v.met else "no") for v in verdicts),
    )


def history_table(history: Sequence[Entry]) -> Table:
    """The last runs, newest last."""
    return Table(
        ("Date", "Embedder", "Threshold", "Questions", "Hit@3", "Silence", "p95"),
        tuple(
            (e.date, e.embedder, threshold(e.threshold), str(e.questions), percent(e.hit_at_3), _silence_of(e),
             milliseconds(e.p95_ms))
            for e in history[-SHOWN:]
        ),
    )  # fmt: skip


def candidates_table(subjects: Sequence[Subject]) -> Table:
    """A row a candidate at its own threshold."""
    apart = [suffix for suffix, _ in silences(subjects[0].measured)]
    near = subjects[0].measured.near_miss is not None
    heads = (
        "Embedder", "Dimensions", "Threshold", "Load", "Index", "Hit@1", "Hit@3", "MRR",
        *(f"Silence{suffix}" for suffix in apart), "False silence", *(["Near-miss answers"] if near else []),
        "p50 / p95",
    )  # fmt: skip
    return Table(heads, tuple(_candidate_row(subject) for subject in subjects))


def pairs_table(pairs: Sequence[Pair]) -> Table:
    """Two rows a pair: how many questions only one of the two got right, and how surprising that is."""
    rows = [
        row
        for pair in pairs
        for row in (_pair_row(pair, "Hit@3", pair.hit_at_3), _pair_row(pair, "Silence", pair.silence))
    ]
    return Table(("A and B", "Figure", "Questions", "Changed", "Only A right", "Only B right", "p"), tuple(rows))


def cases_table(cases: Iterable[CaseResult], *, near: bool) -> Table:
    """Every question with what it found. This quotes the sources."""
    heads = ("Number", "Group", "Question", "Rank", "Found", *(["With the answer hidden"] if near else []))
    return Table(heads, tuple(_case_row(case, near=near) for case in cases), wordy=True)


def silences(measured: Measurement) -> list[tuple[str, Score]]:
    """Silence by group of unanswerable questions, as (what to put behind the word, score), or all in one.

    An average of questions of different difficulty says less than each part.
    """
    groups = measured.silence_groups
    if 2 <= len(groups) <= MOST_APART:
        return [(f", {group.name}", group.metrics.silence) for group in groups]
    return [("", measured.metrics.silence)]


def _latency_rows(latency: Latency | None) -> list[tuple[str, str]]:
    if latency is None:
        return []
    return [
        ("Latency p50", time(latency.p50)),
        ("Latency p95", time(latency.p95)),
        (
            "Embedding the question",
            f"{milliseconds(latency.embed_p50_ms)} ({percent(latency.embed_share)} of the latency)",
        ),
    ]


def _sweep_row(measured: Measurement, *, near: bool) -> tuple[str, ...]:
    metrics = measured.metrics
    return (
        threshold(measured.threshold),
        percent(metrics.hit_at_1.value),
        percent(metrics.hit_at_3.value),
        ratio(metrics.mrr.value),
        *(percent(score.value) for _, score in silences(measured)),
        percent(metrics.false_silence.value),
        *([percent(measured.near_miss.value)] if near and measured.near_miss else []),
        p95(metrics.latency),
    )


def _group_row(group: Group, *, near: bool) -> tuple[str, ...]:
    metrics = group.metrics
    scores = (rate(metrics.hit_at_3), average(metrics.mrr), rate(metrics.silence))
    return (group.name, str(metrics.questions), *scores, *([rate(group.near_miss)] if near else []))


def _candidate_row(subject: Subject) -> tuple[str, ...]:
    measured, metrics = subject.measured, subject.measured.metrics
    return (
        subject.label,
        str(subject.dimension),
        threshold(measured.threshold),
        seconds(subject.load_s),
        seconds(subject.index_s),
        rate(metrics.hit_at_1),
        rate(metrics.hit_at_3),
        average(metrics.mrr),
        *(rate(score) for _, score in silences(measured)),
        rate(metrics.false_silence),
        *([rate(measured.near_miss)] if measured.near_miss is not None else []),
        times(metrics.latency),
    )


def _pair_row(pair: Pair, figure: str, change: Change) -> tuple[str, ...]:
    names = f"{pair.first} and {pair.second}"
    if not change.questions:
        return (names, figure, "0", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    counts = (change.questions, change.only_first + change.only_second, change.only_first, change.only_second)
    return (names, figure, *map(str, counts), p_value(change.p_value))


def _silence_of(entry: Entry) -> str:
    if 2 <= len(entry.silence_by_group) <= MOST_APART:
        return ", ".join(f"{name} {percent(value)}" for name, value in entry.silence_by_group.items())
    return percent(entry.silence)


def _case_row(result: CaseResult, *, near: bool) -> tuple[str, ...]:
    outcome = result.outcome
    if outcome.case.answerable:
        rank = "silent" if outcome.silent else str(outcome.rank or "wrong")
    else:
        rank = "silent, right" if outcome.silent else "answered, wrong"
    hidden = [_found(result.near_miss.found) if result.near_miss else "–"] if near else []
    found = _found(outcome.found)
    return (str(outcome.case.number), outcome.case.group or "–", outcome.case.query, rank, found, *hidden)


def _found(found: Sequence[Found]) -> str:
    # Markdown makes one line of it, HTML keeps a line a hit.
    return ";\n".join(_hit(hit) for hit in found) or "–"


def _hit(hit: Found) -> str:
    similarity = "" if hit.similarity is None else f" {hit.similarity:.3f}"
    return f"{'✓ ' if hit.accepted else ''}{trail((hit.title, hit.heading))}{similarity}"
