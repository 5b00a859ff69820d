"""Made-up outcomes of known figures, for everything that works on the results of a run."""

from collections.abc import Callable, Sequence

import pytest

from passageway_cli.eval.cases import Case
from passageway_cli.eval.measurement import CaseResult, IndexedSource, NearMiss, Occasion, Subject, summary
from passageway_cli.eval.metrics import Found, Outcome, Score

SECRET_WORDS = ("Rotating the signing key", "https://intranet.example.org/keys", "who holds the vault key?", "keys.md")

MakeOutcome = Callable[..., Outcome]


@pytest.fixture
def outcome() -> MakeOutcome:
    """Makes one outcome: `accepted` has a flag for each hit."""

    def make(
        accepted: Sequence[bool] = (),
        *,
        answerable: bool = True,
        group: str | None = None,
        relevant: int = 1,
        took_ms: float = 10.0,
        embed_ms: float = 4.0,
        number: int = 1,
    ) -> Outcome:
        title, _, query, item_id = SECRET_WORDS
        case = Case(number, query, expect=(title,) if answerable else (), group=group)
        found = tuple(Found("notes", item_id, title, "Steps", 0.9, flag) for flag in accepted)
        return Outcome(case, found, relevant, took_ms, embed_ms)

    return make


@pytest.fixture
def occasion() -> Occasion:
    return Occasion("2026-11-30", "0.1.0", "Linux x86_64, Python 3.11.7")


@pytest.fixture
def subject(outcome: MakeOutcome) -> Callable[..., Subject]:
    """Makes a measured model: 4 answerable questions, 3 of them found, and 4 unanswerable ones, in two groups."""

    def make(name: str = "", *, near: bool = True, cases: bool = False, grouped: bool = True, miss: int = 1) -> Subject:
        def label(text: str) -> str | None:
            return text if grouped else None

        outcomes = [
            *(outcome([n >= miss], group=label("definition"), number=n + 1, took_ms=8 + n) for n in range(4)),
            *(outcome([], answerable=False, group=label("off-topic"), number=n + 5) for n in range(2)),
            outcome([False], answerable=False, group=label("near-topic"), number=7),
            outcome([], answerable=False, group=label("near-topic"), number=8, took_ms=30),
        ]
        misses = [NearMiss(o.case.number, o.case.group, o.found[:1] if n == 0 else ()) for n, o in
                  enumerate(outcomes[:4])]  # fmt: skip
        measured = summary(0.845, outcomes, misses if near else None)
        sweep = tuple(summary(value, outcomes, misses if near else None) for value in (0.8, 0.845, 0.9))
        return Subject(
            name=name,
            embedder="toy-64",
            dimension=64,
            load_s=0.25,
            index_s=20.94,
            index_kept=False,
            sources=(IndexedSource("notes", 30, 818), IndexedSource("wiki", 1, 1)),
            measured=measured,
            sweep=sweep,
            recall_at_10=Score(4, 4),
            right=tuple(o.right for o in outcomes),
            cases=tuple(CaseResult(o, misses[n] if n < 4 else None) for n, o in enumerate(outcomes)) if cases else (),
        )

    return make


@pytest.fixture
def secret_words() -> tuple[str, ...]:
    """What stands in the made-up sources and questions and must not reach a report by itself."""
    return SECRET_WORDS
