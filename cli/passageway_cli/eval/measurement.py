"""What a run, and a comparison of several, hold: everything a report is written from."""

from collections.abc import Sequence
from dataclasses import dataclass

from passageway_cli.eval.intervals import mcnemar
from passageway_cli.eval.metrics import Found, Metrics, Outcome, Score, measure, share

UNGROUPED = "(no group)"
"""What the report calls the cases without a `group` beside others that have one."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An answerable question asked again with its accepted items hidden; whatever came back is a false answer."""

    number: int
    group: str | None
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of the cases with one label; `near_miss` is None without `--leave-out`."""

    name: str
    metrics: Metrics
    near_miss: Score | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One threshold: the figures over all cases and for each group. `groups` is empty when no case names one."""

    threshold: float
    metrics: Metrics
    groups: tuple[Group, ...]
    near_miss: Score | None

    @property
    def silence_groups(self) -> tuple[Group, ...]:
        """The groups with questions that nothing answers."""
        return tuple(group for group in self.groups if group.metrics.unanswerable)


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """A source's name in the configuration, and what its index holds."""

    name: str
    items: int
    sections: int


@dataclass(frozen=True, slots=True)
class Occasion:
    """When and where: date as ISO 8601, version of passageway, and operating system, processor and Python."""

    date: str
    version: str
    machine: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One question as `--include-cases` reports it."""

    outcome: Outcome
    near_miss: NearMiss | None


@dataclass(frozen=True, slots=True)
class Subject:
    """What was measured: a model, its index, and the figures at its own threshold and at those of a sweep.

    `name` is the candidate's in a comparison, else empty. `index_kept`: the index was there before and was only brought
    up to date. `sweep` is empty without one; with one it holds the subject's own threshold too, in ascending order.
    `recall_at_10` is of the ranking before the gate. `right` has a flag a case, in their order. `cases` is empty unless
    they are to be reported.
    """

    name: str
    embedder: str
    dimension: int
    load_s: float
    index_s: float
    index_kept: bool
    sources: tuple[IndexedSource, ...]
    measured: Measurement
    sweep: tuple[Measurement, ...]
    recall_at_10: Score
    right: tuple[bool, ...]
    cases: tuple[CaseResult, ...]

    @property
    def label(self) -> str:
        """`default: multilingual-e5-small` in a comparison, else the model alone."""
        return f"{self.name}: {self.embedder}" if self.name else self.embedder


@dataclass(frozen=True, slots=True)
class Change:
    """The same questions asked of two candidates: how many only one of them got right."""

    questions: int
    only_first: int
    only_second: int

    @property
    def p_value(self) -> float:
        """Of McNemar's exact test, two-sided."""
        return mcnemar(self.only_first, self.only_second)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates by name, compared question by question: hit@3 and silence apart."""

    first: str
    second: str
    hit_at_3: Change
    silence: Change


def summary(threshold: float, outcomes: Sequence[Outcome], near: Sequence[NearMiss] | None) -> Measurement:
    """The figures of one threshold. `near` is None when nothing was left out."""
    labels = list(dict.fromkeys(outcome.case.group for outcome in outcomes))
    groups = () if labels == [None] else tuple(_group(label, outcomes, near) for label in labels)
    return Measurement(threshold, measure(outcomes), groups, _near_miss(near))


def pairs(subjects: Sequence[Subject], answerable: Sequence[bool]) -> tuple[Pair, ...]:
    """Every two of the subjects; `answerable` says which kind each question is."""
    return tuple(
        Pair(
            first.name,
            second.name,
            _change(first.right, second.right, answerable, kind=True),
            _change(first.right, second.right, answerable, kind=False),
        )
        for number, first in enumerate(subjects)
        for second in subjects[number + 1 :]
    )


def _change(first: Sequence[bool], second: Sequence[bool], answerable: Sequence[bool], *, kind: bool) -> Change:
    both = [(a, b) for a, b, is_answerable in zip(first, second, answerable, strict=True) if is_answerable == kind]
    return Change(len(both), sum(a and not b for a, b in both), sum(b and not a for a, b in both))


def _group(label: str | None, outcomes: Sequence[Outcome], near: Sequence[NearMiss] | None) -> Group:
    own = [outcome for outcome in outcomes if outcome.case.group == label]
    near_own = None if near is None else [miss for miss in near if miss.group == label]
    return Group(UNGROUPED if label is None else label, measure(own), _near_miss(near_own))


def _near_miss(near: Sequence[NearMiss] | None) -> Score | None:
    return None if near is None else share(bool(miss.found) for miss in near)
