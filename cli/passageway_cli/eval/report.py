"""A finished run or comparison with all that its reports show."""

from dataclasses import dataclass

from passageway_cli.eval.measurement import Occasion, Pair, Subject
from passageway_cli.eval.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class RunReport:
    """One model on one set of questions."""

    occasion: Occasion
    subject: Subject
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Several models on the same questions. `shared_threshold`: all were asked at one, not each at its own."""

    occasion: Occasion
    subjects: tuple[Subject, ...]
    pairs: tuple[Pair, ...]
    shared_threshold: bool


Report = RunReport | ComparisonReport
