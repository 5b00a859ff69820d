"""The geometry of the drawings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_cli.eval.charts import WIDTHS, Series, bar_plot, histogram, nice_ticks, sweep_plot
from passageway_cli.eval.metrics import Latency, Quantile, Score


def latency(*values_ms: float) -> Latency:
    ordered = tuple(sorted(values_ms))
    return Latency(ordered, Quantile(ordered[len(ordered) // 2], None), Quantile(ordered[-1], None), 1.0)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_sweep_stays_inside_its_drawing_and_rises_upwards(width: int) -> None:
    series = [Series("Hit@3", 0, (Score(0, 10), Score(5, 10), Score(10, 10)))]
    plot = sweep_plot([0.8, 0.845, 0.9], series, 0.845, width)
    points = [
        tuple(map(float, point.split(","))) for point in (plot.lines[0].points + " " + plot.lines[0].band).split()
    ]
    assert all(0 <= x <= width and 0 <= y <= plot.height for x, y in points)
    first, middle, last = points[:3]
    assert first[0] < middle[0] < last[0]
    assert first[1] > middle[1] > last[1]
    assert plot.own_x == middle[0]


def test_a_series_without_questions_is_left_out() -> None:
    plot = sweep_plot([0.8, 0.9], [Series("Silence", 3, (Score(0, 0), Score(0, 0)))], 0.8, 800)
    assert plot.lines == ()


def test_one_threshold_stands_in_the_middle() -> None:
    plot = sweep_plot([0.8], [Series("Hit@3", 0, (Score(1, 2),))], 0.8, 800)
    assert plot.lines[0].dots[0].x == plot.own_x == pytest.approx((44 + 800 - 12) / 2)


def test_a_bar_is_as_long_as_its_share_and_its_whisker_spans_the_interval() -> None:
    (bar,) = bar_plot([("a label that is far too long for a telephone", 0, Score(1, 2))], 340).bars
    assert bar.length == 170
    assert bar.whisker is not None
    assert bar.whisker[0] < 170 < bar.whisker[1]
    assert len(bar.label) == 36
    assert bar.full_label == "a label that is far too long for a telephone"


@given(values=st.lists(st.floats(0.01, 5000), min_size=1, max_size=200))
@settings(deadline=None)
def test_every_time_is_in_one_column_of_the_histogram(values: list[float]) -> None:
    for width in WIDTHS:
        plot = histogram(latency(*values), width)
        assert sum(int(column.words.split(" ")[0]) for column in plot.columns) == len(values)
        assert all(column.x >= 44 and column.x + column.width <= width for column in plot.columns)


def test_a_time_far_outside_is_counted_in_the_last_column() -> None:
    times = Latency((10.0,) * 99 + (9000.0,), Quantile(10.0, None), Quantile(10.0, None), 1.0)
    last = histogram(times, 800).columns[-1]
    assert last.words.startswith("1 from ")
    assert last.words.endswith(" on")


@given(low=st.floats(-1000, 1000), span=st.floats(1e-3, 1000), most=st.integers(1, 10))
@settings(deadline=None)
def test_ticks_are_few_and_within_the_range(low: float, span: float, most: int) -> None:
    ticks = nice_ticks(low, low + span, most)
    assert len(ticks) <= most + 1
    assert all(low - 1e-6 <= tick <= low + span + 1e-6 for tick in ticks)
