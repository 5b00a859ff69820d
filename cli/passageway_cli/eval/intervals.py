"""How sure a figure is: 95% intervals of rates, means and quantiles, and the exact test of a paired difference."""

import math
from collections.abc import Sequence

Interval = tuple[float, float]

Z_95 = 1.959963984540054
"""The 97.5% quantile of the standard normal distribution: two tails of 2.5%."""

TAIL = 0.025
"""What a two-sided 95% interval leaves out on each side."""


def wilson(total: float, of: int) -> Interval:
    """The 95% Wilson score interval of `total` / `of`, within [0, 1] (Wilson 1927). `of` is at least 1.

    Also used for a mean of values in [0, 1]: their variance is at most p(1-p), so the interval is then wider than it
    need be, never narrower.
    """
    p = total / of
    spread = Z_95 * math.sqrt(p * (1 - p) / of + Z_95**2 / (4 * of**2))
    centre = p + Z_95**2 / (2 * of)
    scale = 1 + Z_95**2 / of
    # Rounding must not put 0 of n above 0 or n of n below 1.
    return (
        0.0 if total == 0 else max(0.0, (centre - spread) / scale),
        1.0 if total == of else min(1.0, (centre + spread) / scale),
    )


def quantile(ordered: Sequence[float], q: float) -> float:
    """The smallest value that at least the share `q` of the ascending values does not exceed: one that was measured."""
    return ordered[max(0, math.ceil(q * len(ordered) - 1e-9) - 1)]


def quantile_interval(ordered: Sequence[float], q: float) -> Interval | None:
    """A 95% interval of the quantile between two of the ascending values, whatever their distribution.

    None when there are too few values for one: the 95th percentile needs 72 (order statistics, binomial tails).
    """
    n = len(ordered)
    below = _binomial_cdf(n, q)
    low = max((rank for rank in range(1, n + 1) if below[rank - 1] <= TAIL), default=None)
    high = min((rank for rank in range(1, n + 1) if below[rank - 1] >= 1 - TAIL), default=None)
    if low is None or high is None:
        return None
    return ordered[low - 1], ordered[high - 1]


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test: pairs that changed one way against pairs that changed the other.

    1.0 when nothing changed.
    """
    changed = only_first + only_second
    if changed == 0:
        return 1.0
    tail = sum(math.comb(changed, k) for k in range(min(only_first, only_second) + 1))
    # Both are whole numbers, which Python divides exactly, however large they are.
    return min(1.0, float(2 * tail / 2**changed))


def _binomial_cdf(n: int, q: float) -> list[float]:
    """P(X <= k) for k = 0 … n and X ~ Binomial(n, q), 0 < q < 1; in logarithms, since q**n underflows."""
    constant, cdf, total = math.lgamma(n + 1), [], 0.0
    for k in range(n + 1):
        total += math.exp(
            constant - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(q) + (n - k) * math.log1p(-q)
        )
        cdf.append(total)
    return cdf
