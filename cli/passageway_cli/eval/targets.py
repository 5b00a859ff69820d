"""What `[targets]` in a cases file may ask for."""

import difflib
from dataclasses import dataclass
from typing import Literal

from passageway.errors import SettingsError

Unit = Literal["percent", "ratio", "ms"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can have a target: its name in a report, how it is written, and whether less is better."""

    label: str
    unit: Unit
    at_most: bool = False


FIGURES = {
    "hit_at_1": Figure("Hit@1", "percent"),
    "hit_at_3": Figure("Hit@3", "percent"),
    "mrr": Figure("MRR", "ratio"),
    "ndcg_at_3": Figure("nDCG@3", "ratio"),
    "recall_at_3": Figure("Recall@3", "percent"),
    "silence": Figure("Silence", "percent"),
    "false_silence": Figure("False silence", "percent", at_most=True),
    "near_miss": Figure("Near-miss answers", "percent", at_most=True),
    "p50_ms": Figure("Latency p50", "ms", at_most=True),
    "p95_ms": Figure("Latency p95", "ms", at_most=True),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A value to reach, or not to exceed. Shares and means from 0 to 1, times in milliseconds."""

    name: str
    wanted: float

    @property
    def figure(self) -> Figure:
        """What it is a target for."""
        return FIGURES[self.name]


def target(name: str, wanted: float) -> Target:
    """The target of that name. Raises SettingsError for an unknown one, or a share above 1."""
    if name not in FIGURES:
        near = difflib.get_close_matches(name, list(FIGURES), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(FIGURES)}"
        raise SettingsError(f"{name!r} is nothing that is measured; {hint}")
    if FIGURES[name].unit != "ms" and wanted > 1:
        raise SettingsError(f"{name} is {wanted:g}, expected a share from 0 to 1, such as 0.8")
    return Target(name, wanted)
