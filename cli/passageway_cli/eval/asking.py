"""Puts the questions to the index, as any client would, and notes what came back."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from passageway.errors import EmbedderError, PassagewayError
from passageway_cli.eval.cases import Case
from passageway_cli.eval.catalogue import Catalogue, Key
from passageway_cli.eval.measurement import NearMiss
from passageway_cli.eval.metrics import Found, Outcome, Score, mean, recall
from passageway_query.answer import Answer, Hit, Question, SilenceReason
from passageway_query.search import Search

logger = logging.getLogger(__name__)

WARM_UP = "which page explains the length of a warranty"
"""Asked first and not counted: the first question pays for loading what all others find loaded."""

DEPTH = 10
"""How far down the ranking before the gate an accepted item counts as ranked at all."""

Step = Callable[[], None]
"""Called after each question, for the progress bar."""

_RELEVANCE = frozenset({SilenceReason.BELOW_GATE, SilenceReason.FILTERED_OUT, SilenceReason.NOT_A_QUESTION})
"""Silences that are an answer; any other says that the index is not whole, and a figure of it would mislead."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with the indexed items that answer it, and with what to hide so that nothing does: these and copies."""

    case: Case
    accepted: frozenset[Key]
    hidden: frozenset[Key]


def prepare(cases: Sequence[Case], catalogue: Catalogue) -> tuple[Prepared, ...]:
    """The cases with their items. Warns of those that accept nothing in the index, by their numbers."""
    prepared = []
    for case in cases:
        accepted = catalogue.accepted(case) if case.answerable else frozenset()
        prepared.append(Prepared(case, accepted, catalogue.with_copies(accepted)))
    _warn_of_lost([entry.case.number for entry in prepared if entry.case.answerable and not entry.accepted])
    return tuple(prepared)


def _warn_of_lost(numbers: Sequence[int]) -> None:
    if numbers:
        listed = ", ".join(map(str, numbers))
        subject = f"case {listed} accepts" if len(numbers) == 1 else f"cases {listed} accept"
        logger.warning("%s nothing that is indexed, and can only be missed", subject)


def ask_all(search: Search, cases: Sequence[Prepared], step: Step) -> list[Outcome]:
    """One outcome a case, in their order, after a question that is not counted.

    Raises EmbedderError when the embedder fails and PassagewayError when a source does: neither is silence.
    """
    _ask(search, Question(WARM_UP))
    outcomes = []
    for prepared in cases:
        started = time.perf_counter()
        answer = _ask(search, Question(prepared.case.query))
        took_ms = (time.perf_counter() - started) * 1000
        found = _found(answer, prepared.case)
        outcomes.append(Outcome(prepared.case, found, len(prepared.accepted), took_ms, answer.embed_ms))
        step()
    return outcomes


def ask_without_answers(search: Search, cases: Sequence[Prepared], step: Step) -> list[NearMiss]:
    """The answerable cases asked with their accepted items, and copies of these, hidden: nothing should come back."""
    misses = []
    for prepared in cases:
        if prepared.case.answerable:
            answer = _ask(search, Question(prepared.case.query, exclude=prepared.hidden))
            misses.append(NearMiss(prepared.case.number, prepared.case.group, _found(answer, prepared.case)))
            step()
    return misses


def ranked_recall(search: Search, cases: Sequence[Prepared], step: Step) -> Score:
    """The mean share of accepted items among the first ten of the ranking, before the gate."""
    shares = []
    for prepared in cases:
        if prepared.case.answerable:
            ranking = _ranking(_ask(search, Question(prepared.case.query, explain=True)))
            shares.append(recall([key in prepared.accepted for key in ranking], len(prepared.accepted), DEPTH))
            step()
    return mean(shares)


def _ranking(answer: Answer) -> list[Key]:
    """What was ranked, best first; nothing for a text that is no question, such as `ok`, which is not looked up."""
    candidates = answer.explanation.candidates if answer.explanation else ()
    return [(candidate.source, candidate.id) for candidate in candidates]


def _ask(search: Search, question: Question) -> Answer:
    answer = search.ask(question)
    if answer.problems:
        raise PassagewayError(f"a question could not be put to every source: {'; '.join(answer.problems)}")
    if answer.keyword_only is not None:
        raise EmbedderError(f"a question was answered by words alone: {answer.keyword_only}")
    if answer.silence is not None and answer.silence not in _RELEVANCE:
        raise PassagewayError(f"a question found the index not whole: {answer.silence.value}")
    return answer


def _found(answer: Answer, case: Case) -> tuple[Found, ...]:
    return tuple(
        Found(hit.source, hit.id, hit.title, hit.heading, hit.similarity, _is_accepted(hit, case))
        for hit in answer.hits
    )


def _is_accepted(hit: Hit, case: Case) -> bool:
    return case.accepts(hit.id, (hit.title, hit.heading, hit.url))
