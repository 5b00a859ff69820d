"""The drawings of `report.html` as geometry; the template only writes it down. Lengths in SVG user units (pixels)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from passageway_cli.eval.intervals import Interval
from passageway_cli.eval.metrics import Latency, Score
from passageway_cli.eval.wording import milliseconds, rate, threshold

WIDTHS = (864, 358)
"""One drawing for wide windows and one for a telephone: text that is scaled down cannot be read. The page is as wide,
without its margins."""

LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 40
"""Margins around a plot, for the labels of its axes."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a sweep: one score a threshold. `style` numbers its colour and dash."""

    label: str
    style: int
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A measured point, with the words that a pointer resting on it shows."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Line:
    """A drawn series: SVG point lists of its line and its band of intervals."""

    label: str
    style: int
    points: str
    band: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class SweepPlot:
    """Shares against the threshold, and a vertical line at the one in use."""

    width: int
    height: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    own_x: float
    own_label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A share as a bar with its interval as a whisker; `value` is None where there was no question."""

    label: str
    full_label: str
    shown: str
    style: int
    y: float
    length: float
    whisker: Interval | None


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Bars, one below the other."""

    width: int
    height: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a histogram."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """How the times are spread; the last column also holds every longer time."""

    width: int
    height: int
    columns: tuple[Column, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Tick, ...]


def sweep_plot(thresholds: Sequence[float], series: Sequence[Series], own: float, width: int) -> SweepPlot:
    """The plot of at least one threshold; series without a question behind them are left out."""
    height = 300 if width > 500 else 260
    x = _scale(min(thresholds), max(thresholds), LEFT, width - RIGHT)
    y = _scale(0, 1, height - BOTTOM, TOP)
    ticks = nice_ticks(min(thresholds), max(thresholds), 8 if width > 500 else 4)
    return SweepPlot(
        width,
        height,
        tuple(Tick(x(value), threshold(value)) for value in ticks),
        tuple(Tick(y(share), f"{100 * share:.0f}%") for share in (0, 0.25, 0.5, 0.75, 1)),
        tuple(_line(one, thresholds, x, y) for one in series if all(score.of for score in one.scores)),
        x(own),
        threshold(own),
    )


def bar_plot(bars: Sequence[tuple[str, int, Score]], width: int) -> BarPlot:
    """A bar for each (label, style, score)."""
    row = 46
    x = _scale(0, 1, 0, width)
    fitting = 90 if width > 500 else 36
    return BarPlot(
        width,
        row * len(bars),
        tuple(
            Bar(
                _cut(label, fitting),
                label,
                rate(score),
                style,
                row * number,
                x(score.value or 0),
                score.interval and (x(score.interval[0]), x(score.interval[1])),
            )
            for number, (label, style, score) in enumerate(bars)
        ),
    )


def histogram(latency: Latency, width: int) -> Histogram:
    """The times in columns of equal width from 0 to well past the 95th percentile."""
    height = 240
    edges = _edges(latency.p95.value_ms, 30 if width > 500 else 18)
    counts = _counts(latency.ordered_ms, edges)
    x = _scale(0, edges[-1], LEFT, width - RIGHT)
    y = _scale(0, max(counts), height - BOTTOM, TOP + 18)
    columns = tuple(
        Column(
            x(low) + 0.5,
            y(count),
            x(high) - x(low) - 1,
            y(0) - y(count),
            f"{count} from {milliseconds(low)} {'on' if high == edges[-1] else f'to {milliseconds(high)}'}",
        )
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    )
    marks = (("p50", latency.p50), ("p95", latency.p95))
    return Histogram(
        width,
        height,
        columns,
        tuple(Tick(x(value), f"{value:g}") for value in nice_ticks(0, edges[-1], 8 if width > 500 else 4)),
        tuple(Tick(y(value), f"{value:g}") for value in nice_ticks(0, max(counts), 4) if value == int(value)),
        tuple(Tick(x(mark.value_ms), label) for label, mark in marks),
    )


def nice_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` + 1 round values from low to high: multiples of 1, 2 or 5 times a power of ten."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _scale(low: float, high: float, first: float, last: float) -> Callable[[float], float]:
    """From [low, high] to [first, last]; the middle when there is only one value."""
    if high == low:
        return lambda _: (first + last) / 2
    return lambda value: round(first + (value - low) / (high - low) * (last - first), 2)


def _line(
    series: Series, thresholds: Sequence[float], x: Callable[[float], float], y: Callable[[float], float]
) -> Line:
    points, upper, lower, dots = [], [], [], []
    for value, score in zip(thresholds, series.scores, strict=True):
        share, interval = score.value, score.interval
        assert share is not None and interval is not None, "series without questions are left out"
        points.append(f"{x(value)},{y(share)}")
        lower.append(f"{x(value)},{y(interval[0])}")
        upper.append(f"{x(value)},{y(interval[1])}")
        dots.append(Dot(x(value), y(share), f"{series.label} at {threshold(value)}: {rate(score)}"))
    return Line(series.label, series.style, " ".join(points), " ".join([*upper, *reversed(lower)]), tuple(dots))


def _edges(p95_ms: float, columns: int) -> list[float]:
    """Equal steps of a round width that pass the 95th percentile by at least a half."""
    end = 1.5 * p95_ms or 1.0
    step = end / columns
    power = 10 ** math.floor(math.log10(step))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step)
    return [round(number * step, 9) for number in range(math.ceil(end / step) + 1)]


def _counts(ordered_ms: Sequence[float], edges: Sequence[float]) -> list[int]:
    counts = [0] * (len(edges) - 1)
    step = edges[1]
    for value in ordered_ms:
        counts[min(len(counts) - 1, int(value / step))] += 1
    return counts


def _cut(label: str, characters: int) -> str:
    return label if len(label) <= characters else f"{label[: characters - 1]}…"
