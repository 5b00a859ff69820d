"""Whether a run reached its targets, judged by the figures that the report shows."""

from collections.abc import Iterable
from dataclasses import dataclass

from passageway_cli.eval.measurement import Measurement
from passageway_cli.eval.targets import Target
from passageway_cli.eval.wording import milliseconds, percent, ratio

_SHOWN = {"percent": percent, "ratio": ratio, "ms": milliseconds}
_SCALE = {"percent": 100, "ratio": 1, "ms": 1}
_DECIMALS = {"percent": 1, "ratio": 3, "ms": 1}

EPSILON = 1e-9
"""Far below the last digit that a report shows: the last bit of a float must not decide."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target beside what was measured, both as the report writes them."""

    target: Target
    shown: str
    met: bool

    @property
    def wanted(self) -> str:
        """`at least 80.0%`."""
        figure = self.target.figure
        return f"at {'most' if figure.at_most else 'least'} {_SHOWN[figure.unit](self.target.wanted)}"


def verdicts(targets: Iterable[Target], measured: Measurement) -> tuple[Verdict, ...]:
    """One verdict a target. A figure that is not known meets none: no question is not a good score."""
    return tuple(_verdict(target, _value(target.name, measured)) for target in targets)


def _verdict(target: Target, value: float | None) -> Verdict:
    unit = target.figure.unit
    if value is None:
        return Verdict(target, _SHOWN[unit](None), met=False)
    # Two of three are shown as 66.7%, and that is what a target of 0.667 is held against.
    above = round(value * _SCALE[unit], _DECIMALS[unit]) - target.wanted * _SCALE[unit]
    met = above <= EPSILON if target.figure.at_most else above >= -EPSILON
    return Verdict(target, _SHOWN[unit](value), met)


def _value(name: str, measured: Measurement) -> float | None:
    latency = measured.metrics.latency
    match name:
        case "p50_ms":
            return latency.p50.value_ms if latency else None
        case "p95_ms":
            return latency.p95.value_ms if latency else None
        case "near_miss":
            return measured.near_miss.value if measured.near_miss else None
    return measured.metrics.scores[name].value
