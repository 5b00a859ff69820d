"""How figures are written: the same in Markdown, in HTML and in what a target is compared with."""

from passageway_cli.eval.intervals import Interval
from passageway_cli.eval.metrics import Latency, Quantile, Score

UNKNOWN = "n/a"
"""A figure without a question behind it."""


def percent(value: float | None) -> str:
    """`85.0%`."""
    return UNKNOWN if value is None else f"{100 * value:.1f}%"


def ratio(value: float | None) -> str:
    """`0.826`."""
    return UNKNOWN if value is None else f"{value:.3f}"


def milliseconds(value_ms: float | None) -> str:
    """`14.0 ms`."""
    return UNKNOWN if value_ms is None else f"{value_ms:.1f} ms"


def seconds(value_s: float) -> str:
    """`20.9 s`."""
    return f"{value_s:.1f} s"


def rate(score: Score | None) -> str:
    """`85.0% (77–91%)`: a rate and its 95% interval."""
    if score is None or score.interval is None:
        return UNKNOWN
    return f"{percent(score.value)} ({_percents(score.interval)})"


def average(score: Score) -> str:
    """`0.826 (0.72–0.90)`: a mean of values from 0 to 1 and its 95% interval."""
    if score.interval is None:
        return UNKNOWN
    low, high = score.interval
    return f"{ratio(score.value)} ({low:.2f}–{high:.2f})"


def time(quantile: Quantile) -> str:
    """`14.0 ms (12.1–18.3)`, without the brackets when there are too few times for an interval."""
    shown = milliseconds(quantile.value_ms)
    if quantile.interval_ms is None:
        return shown
    low, high = quantile.interval_ms
    return f"{shown} ({low:.1f}–{high:.1f})"


def times(latency: Latency | None) -> str:
    """`7.7 / 11.4 ms`: median and 95th percentile, for a narrow column."""
    return UNKNOWN if latency is None else f"{latency.p50.value_ms:.1f} / {milliseconds(latency.p95.value_ms)}"


def p95(latency: Latency | None) -> str:
    """`11.4 ms`."""
    return UNKNOWN if latency is None else milliseconds(latency.p95.value_ms)


def threshold(value: float) -> str:
    """`0.845`."""
    return f"{value:.6g}"


def p_value(value: float) -> str:
    """`0.031`, or `< 0.001`."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def plural(count: int, noun: str) -> str:
    """`1 item`, `30 items`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _percents(interval: Interval) -> str:
    low, high = interval
    return f"{100 * low:.0f}–{100 * high:.0f}%"
