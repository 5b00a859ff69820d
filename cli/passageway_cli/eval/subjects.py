"""Measures one model: its index is built, the questions are asked at every threshold, and the figures collected."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from passageway.config import Config, EmbedderConfig
from passageway.embedder import Embedder, EmbedderInfo
from passageway.errors import EmbedderError, SettingsError
from passageway.settings import Settings
from passageway_cli.eval.asking import Prepared, Step, ask_all, ask_without_answers, prepare, ranked_recall
from passageway_cli.eval.cases import Case
from passageway_cli.eval.catalogue import Catalogue
from passageway_cli.eval.indexes import bars, build_sources
from passageway_cli.eval.measurement import CaseResult, Measurement, NearMiss, Subject, summary
from passageway_cli.eval.metrics import Outcome
from passageway_embed.make import make_embedder
from passageway_query.search import Search


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `threshold` None means the model's own."""

    cases: tuple[Case, ...]
    threshold: float | None
    sweep: tuple[float, ...]
    leave_out: bool
    include_cases: bool


@dataclass(frozen=True, slots=True)
class StartedEmbedder:
    """An embedder that has answered, and how long it took until it did."""

    name: str
    embedder: Embedder
    info: EmbedderInfo
    load_s: float


@contextmanager
def started(name: str, config: EmbedderConfig, settings: Settings) -> Iterator[StartedEmbedder]:
    """The embedder, closed at the end. Raises SettingsError when it cannot start: nothing was measured yet."""
    begun = time.perf_counter()
    with contextlib.ExitStack() as stack:
        try:
            embedder = stack.enter_context(contextlib.closing(make_embedder(config, settings, foreground=True)))
            info = embedder.info()
            embedder.embed(["a first text"], "query")  # some load their model only now
        except EmbedderError as error:
            what = f"embedder {name!r}" if name else "the embedder"
            raise SettingsError(f"{what} cannot start: {error}") from error
        yield StartedEmbedder(name, embedder, info, time.perf_counter() - begun)


def measure_subject(started: StartedEmbedder, config: Config, folder: Path, plan: Plan, console: Console) -> Subject:
    """The figures of this embedder. Raises SourceFailedError, or EmbedderError when it fails on a question."""
    kept = any(folder.glob("*.db"))
    sources, index_s = build_sources(config, folder, started.embedder, console)
    own = started.info.min_similarity if plan.threshold is None else plan.threshold
    thresholds = (own, *(value for value in plan.sweep if value != own))
    with _questions_bar(started.name, plan, len(thresholds), console) as step:
        with contextlib.closing(Search(folder, started.embedder, min_similarity=own)) as search:
            cases = prepare(plan.cases, Catalogue(search.items()))
            recall_at_10 = ranked_recall(search, cases, step)
        rounds = {value: _round(folder, started.embedder, value, cases, plan, step) for value in thresholds}
    return Subject(
        name=started.name,
        embedder=started.info.name,
        dimension=started.info.dimension,
        load_s=started.load_s,
        index_s=index_s,
        index_kept=kept,
        sources=sources,
        measured=rounds[own].measured,
        sweep=tuple(rounds[value].measured for value in sorted(rounds)) if plan.sweep else (),
        recall_at_10=recall_at_10,
        right=tuple(outcome.right for outcome in rounds[own].outcomes),
        cases=rounds[own].cases() if plan.include_cases else (),
    )


@dataclass(frozen=True, slots=True)
class _Round:
    """All questions at one threshold; `near` is None when nothing was left out."""

    measured: Measurement
    outcomes: list[Outcome]
    near: list[NearMiss] | None

    def cases(self) -> tuple[CaseResult, ...]:
        by_number = {miss.number: miss for miss in self.near or ()}
        return tuple(CaseResult(outcome, by_number.get(outcome.case.number)) for outcome in self.outcomes)


def _round(
    folder: Path, embedder: Embedder, threshold: float, cases: Sequence[Prepared], plan: Plan, step: Step
) -> _Round:
    with contextlib.closing(Search(folder, embedder, min_similarity=threshold)) as search:
        outcomes = ask_all(search, cases, step)
        near = ask_without_answers(search, cases, step) if plan.leave_out else None
    return _Round(summary(threshold, outcomes, near), outcomes, near)


@contextmanager
def _questions_bar(name: str, plan: Plan, rounds: int, console: Console) -> Iterator[Step]:
    """A bar that counts every question asked."""
    answerable = sum(case.answerable for case in plan.cases)
    questions = rounds * (len(plan.cases) + answerable * plan.leave_out) + answerable
    with bars(console) as progress:
        task = progress.add_task(f"Asking {escape(name)}" if name else "Asking", total=questions)
        yield lambda: progress.advance(task)
