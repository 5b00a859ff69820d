"""From what came back for each question to the figures of a run. Nothing here reads or asks anything."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from passageway_cli.eval.cases import Case
from passageway_cli.eval.intervals import Interval, quantile, quantile_interval, wilson

TOP = 3
"""Hits that an answer holds at most, and the depth of hit@3, nDCG@3 and recall@3."""


@dataclass(frozen=True, slots=True)
class Found:
    """One hit as `--include-cases` shows it."""

    source: str
    id: str
    title: str
    heading: str | None
    similarity: float | None
    accepted: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question brought: its hits, best first. `relevant` items of the index hold an accepted answer."""

    case: Case
    found: tuple[Found, ...]
    relevant: int
    took_ms: float
    embed_ms: float

    @property
    def rank(self) -> int | None:
        """The rank of the first accepted hit, from 1; None when there is none."""
        return next((rank for rank, hit in enumerate(self.found, 1) if hit.accepted), None)

    @property
    def silent(self) -> bool:
        """Whether nothing came back."""
        return not self.found

    @property
    def right(self) -> bool:
        """An accepted answer among the first three, or silence where nothing fits."""
        return self.rank is not None and self.rank <= TOP if self.case.answerable else self.silent


@dataclass(frozen=True, slots=True)
class Score:
    """A rate, or a mean of values from 0 to 1, over `of` questions."""

    total: float
    of: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None without a question: unknown, neither good nor bad."""
        return self.total / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """The 95% interval; None without a question."""
        return wilson(self.total, self.of) if self.of else None


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of measured times in milliseconds; the interval is None when there are too few of them."""

    value_ms: float
    interval_ms: Interval | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Times to answer, embedding included, in milliseconds; `ordered_ms` is ascending, so in no order of questions."""

    ordered_ms: tuple[float, ...]
    p50: Quantile
    p95: Quantile
    embed_p50_ms: float

    @property
    def embed_share(self) -> float:
        """The embedding's part of the median, from 0 to 1."""
        return self.embed_p50_ms / self.p50.value_ms if self.p50.value_ms else 0.0


@dataclass(frozen=True, slots=True)
class Metrics:
    """The figures over one set of questions; `latency` is None when nothing was timed."""

    answerable: int
    unanswerable: int
    hit_at_1: Score
    hit_at_3: Score
    mrr: Score
    ndcg_at_3: Score
    recall_at_3: Score
    silence: Score
    false_silence: Score
    latency: Latency | None

    @property
    def scores(self) -> dict[str, Score]:
        """The scores by the names that reports and targets use."""
        return {
            "hit_at_1": self.hit_at_1,
            "hit_at_3": self.hit_at_3,
            "mrr": self.mrr,
            "ndcg_at_3": self.ndcg_at_3,
            "recall_at_3": self.recall_at_3,
            "silence": self.silence,
            "false_silence": self.false_silence,
        }

    @property
    def questions(self) -> int:
        """All questions, of both kinds."""
        return self.answerable + self.unanswerable


def measure(outcomes: Sequence[Outcome]) -> Metrics:
    """The figures over these outcomes; a score without a question behind it has no value."""
    asked = [outcome for outcome in outcomes if outcome.case.answerable]
    null = [outcome for outcome in outcomes if not outcome.case.answerable]
    return Metrics(
        answerable=len(asked),
        unanswerable=len(null),
        hit_at_1=share(outcome.rank == 1 for outcome in asked),
        hit_at_3=share(outcome.right for outcome in asked),
        mrr=mean(1 / outcome.rank if outcome.rank else 0.0 for outcome in asked),
        ndcg_at_3=mean(ndcg([hit.accepted for hit in outcome.found], outcome.relevant) for outcome in asked),
        recall_at_3=mean(recall([hit.accepted for hit in outcome.found], outcome.relevant) for outcome in asked),
        silence=share(outcome.silent for outcome in null),
        false_silence=share(outcome.silent for outcome in asked),
        latency=latency(outcomes),
    )


def share(flags: Iterable[bool]) -> Score:
    """How many of the flags are set."""
    values = list(flags)
    return Score(sum(values), len(values))


def mean(values: Iterable[float]) -> Score:
    """The mean of values from 0 to 1."""
    collected = list(values)
    return Score(math.fsum(collected), len(collected))


def ndcg(accepted: Sequence[bool], relevant: int) -> float:
    """nDCG@3 with gains of 0 and 1 and the discount 1/log2(rank + 1), as trec_eval's `ndcg_cut`; 0 when none exist."""
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(TOP, relevant) + 1))
    gained = math.fsum(1 / math.log2(rank + 1) for rank, hit in enumerate(accepted[:TOP], 1) if hit)
    return gained / ideal if ideal else 0.0


def recall(accepted: Sequence[bool], relevant: int, k: int = TOP) -> float:
    """The share of the relevant items among the first k; 0 when none exist."""
    return sum(accepted[:k]) / relevant if relevant else 0.0


def latency(outcomes: Sequence[Outcome]) -> Latency | None:
    """The times of these outcomes; None when there are none."""
    if not outcomes:
        return None
    ordered = sorted(outcome.took_ms for outcome in outcomes)
    embedding = sorted(outcome.embed_ms for outcome in outcomes)
    return Latency(tuple(ordered), _quantile(ordered, 0.5), _quantile(ordered, 0.95), quantile(embedding, 0.5))


def _quantile(ordered: Sequence[float], q: float) -> Quantile:
    return Quantile(quantile(ordered, q), quantile_interval(ordered, q))
