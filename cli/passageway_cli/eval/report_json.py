"""The report for machines. Shares and means from 0 to 1, times in the unit of the key; null where it is unknown."""

from typing import Any

import orjson

from passageway_cli.eval.measurement import CaseResult, Change, Group, Measurement, NearMiss, Occasion, Pair, Subject
from passageway_cli.eval.metrics import Found, Metrics, Quantile, Score
from passageway_cli.eval.report import ComparisonReport, Report, RunReport
from passageway_cli.eval.verdicts import Verdict

FORMAT = 1
"""Grows when a key changes its meaning or goes away."""


def report_json(report: Report) -> bytes:
    """The report as indented JSON with a line break at its end; questions only if the report has them."""
    tables = _run(report) if isinstance(report, RunReport) else _comparison(report)
    return orjson.dumps(tables, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _run(report: RunReport) -> dict[str, Any]:
    subject = report.subject
    return {
        "kind": "run",
        **_occasion(report.occasion),
        **_subject(subject),
        "targets": [_verdict(verdict) for verdict in report.verdicts],
        **({"cases": [_case(case) for case in subject.cases]} if subject.cases else {}),
    }


def _comparison(report: ComparisonReport) -> dict[str, Any]:
    return {
        "kind": "compare",
        **_occasion(report.occasion),
        "shared_threshold": report.shared_threshold,
        "candidates": [{"name": subject.name, **_subject(subject)} for subject in report.subjects],
        "pairs": [_pair(pair) for pair in report.pairs],
    }


def _occasion(occasion: Occasion) -> dict[str, Any]:
    return {"format": FORMAT, "date": occasion.date, "passageway": occasion.version, "machine": occasion.machine}


def _subject(subject: Subject) -> dict[str, Any]:
    latency = subject.measured.metrics.latency
    return {
        "embedder": {"name": subject.embedder, "dimension": subject.dimension, "load_s": round(subject.load_s, 3)},
        "index": {
            "build_s": round(subject.index_s, 3),
            "kept": subject.index_kept,
            "sources": [{"name": s.name, "items": s.items, "sections": s.sections} for s in subject.sources],
        },
        **_measurement(subject.measured),
        "recall_at_10_before_gate": subject.recall_at_10.value,
        "recall_at_10_before_gate_interval": subject.recall_at_10.interval,
        "groups": [_group(group) for group in subject.measured.groups],
        "sweep": [_measurement(measured) for measured in subject.sweep],
        # Ascending, so that no time can be told to belong to a question.
        "latencies_ms": [] if latency is None else [round(value, 3) for value in latency.ordered_ms],
    }


def _measurement(measured: Measurement) -> dict[str, Any]:
    scores = _scores(measured.metrics, measured.near_miss)
    quantiles = _quantiles(measured.metrics)
    metrics = measured.metrics
    return {
        "threshold": measured.threshold,
        "questions": {
            "all": metrics.questions,
            "answerable": metrics.answerable,
            "unanswerable": metrics.unanswerable,
        },
        "metrics": {
            **{name: score.value for name, score in scores.items()},
            **{name: None if q is None else round(q.value_ms, 3) for name, q in quantiles.items()},
            "embed_p50_ms": None if metrics.latency is None else round(metrics.latency.embed_p50_ms, 3),
        },
        "intervals": {
            **{name: score.interval for name, score in scores.items()},
            **{name: None if q is None else q.interval_ms for name, q in quantiles.items()},
        },
        "silence_by_group": {
            group.name: {"value": group.metrics.silence.value, "interval": group.metrics.silence.interval}
            for group in measured.silence_groups
        },
    }


def _group(group: Group) -> dict[str, Any]:
    scores = _scores(group.metrics, group.near_miss)
    return {
        "name": group.name,
        "questions": group.metrics.questions,
        "metrics": {name: score.value for name, score in scores.items()},
        "intervals": {name: score.interval for name, score in scores.items()},
    }


def _scores(metrics: Metrics, near_miss: Score | None) -> dict[str, Score]:
    return metrics.scores if near_miss is None else metrics.scores | {"near_miss": near_miss}


def _quantiles(metrics: Metrics) -> dict[str, Quantile | None]:
    latency = metrics.latency
    return {"p50_ms": latency.p50 if latency else None, "p95_ms": latency.p95 if latency else None}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.target.name,
        "wanted": verdict.target.wanted,
        "at_most": verdict.target.figure.at_most,
        "shown": verdict.shown,
        "met": verdict.met,
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "hit_at_3": _change(pair.hit_at_3),
        "silence": _change(pair.silence),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "questions": change.questions,
        "only_first": change.only_first,
        "only_second": change.only_second,
        "p": change.p_value if change.questions else None,
    }


def _case(result: CaseResult) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "number": outcome.case.number,
        "query": outcome.case.query,
        "group": outcome.case.group,
        "answerable": outcome.case.answerable,
        "rank": outcome.rank,
        "right": outcome.right,
        "took_ms": round(outcome.took_ms, 3),
        "found": [_found(hit) for hit in outcome.found],
        **({} if result.near_miss is None else {"near_miss": _near_miss(result.near_miss)}),
    }


def _near_miss(near: NearMiss) -> list[dict[str, Any]]:
    return [_found(hit) for hit in near.found]


def _found(hit: Found) -> dict[str, Any]:
    return {
        "source": hit.source,
        "id": hit.id,
        "title": hit.title,
        "heading": hit.heading,
        "similarity": None if hit.similarity is None else round(hit.similarity, 4),
        "accepted": hit.accepted,
    }
