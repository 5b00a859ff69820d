"""Intervals and the paired test, against published values and another implementation."""

from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_cli.eval.intervals import mcnemar, quantile, quantile_interval, wilson


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    module: ModuleType = pytest.importorskip("scipy.stats")
    return module


@pytest.mark.parametrize(
    ("successes", "of", "low", "high"),
    [
        # Table I of R. G. Newcombe, Statistics in Medicine 17 (1998), method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_wilson_interval_has_its_published_values(successes: int, of: int, low: float, high: float) -> None:
    assert wilson(successes, of) == pytest.approx((low, high), abs=5e-5)


@given(counts=st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
@settings(deadline=None)
def test_the_wilson_interval_is_that_of_scipy(stats: ModuleType, counts: tuple[int, int]) -> None:
    successes, of = counts
    expected = stats.binomtest(successes, of).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(successes, of) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(only_first=st.integers(0, 60), only_second=st.integers(0, 60))
@settings(deadline=None)
def test_mcnemar_is_the_exact_binomial_test_of_the_changed_pairs(
    stats: ModuleType, only_first: int, only_second: int
) -> None:
    changed = only_first + only_second
    expected = stats.binomtest(only_first, changed, 0.5).pvalue if changed else 1.0
    assert mcnemar(only_first, only_second) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_one_side_only_is_twice_a_power_of_two() -> None:
    assert mcnemar(5, 0) == mcnemar(0, 5) == 2 / 32
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1.0


def test_mcnemar_of_thousands_of_changes_is_no_overflow() -> None:
    assert mcnemar(1000, 1000) == 1.0
    assert 0 < mcnemar(900, 1100) < 1e-4


@pytest.mark.parametrize(("q", "expected"), [(0.5, 2.0), (0.95, 4.0), (0.25, 1.0), (0.26, 2.0), (1.0, 4.0), (0.0, 1.0)])
def test_a_quantile_is_a_measured_value_that_enough_do_not_exceed(q: float, expected: float) -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], q) == expected


def test_the_interval_of_a_median_lies_between_the_ranks_of_the_sign_test() -> None:
    # n = 20: P(X <= 5) = 0.0207 and P(X <= 14) = 0.9793 for X ~ Binomial(20, 1/2), so ranks 6 and 15.
    assert quantile_interval([float(rank) for rank in range(1, 21)], 0.5) == (6.0, 15.0)


@pytest.mark.parametrize(("values", "known"), [(71, False), (72, True), (5000, True)])
def test_a_95th_percentile_has_an_interval_from_72_values_on(values: int, known: bool) -> None:
    assert (quantile_interval([float(value) for value in range(values)], 0.95) is not None) is known
