"""The figures, from made-up outcomes, by hand and against trec_eval."""

import math
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_cli.eval.cases import Case
from passageway_cli.eval.measurement import NearMiss, pairs, summary
from passageway_cli.eval.metrics import Found, Outcome, Score, measure

MakeOutcome = Callable[..., Outcome]


def test_ranks_make_hits_and_reciprocal_ranks(outcome: MakeOutcome) -> None:
    metrics = measure([outcome([True]), outcome([False, False, True]), outcome([False]), outcome([])])
    assert metrics.hit_at_1.value == 0.25
    assert metrics.hit_at_3.value == 0.5
    assert metrics.mrr.value == pytest.approx((1 + 1 / 3) / 4)
    assert metrics.false_silence.value == 0.25
    assert metrics.answerable == 4


def test_any_hit_counts_against_silence(outcome: MakeOutcome) -> None:
    metrics = measure([outcome([], answerable=False), outcome([False], answerable=False)])
    assert metrics.silence == Score(1, 2)
    assert metrics.unanswerable == 2


def test_a_figure_without_a_question_is_unknown(outcome: MakeOutcome) -> None:
    answered = measure([outcome([True])])
    assert answered.silence.value is None
    assert answered.silence.interval is None
    unanswered = measure([outcome([], answerable=False)])
    assert unanswered.hit_at_3.value is unanswered.mrr.value is unanswered.false_silence.value is None
    assert measure([]).latency is None


def test_times_are_ordered_and_the_embedding_has_its_share(outcome: MakeOutcome) -> None:
    latency = measure([outcome(took_ms=took, embed_ms=2.0) for took in (30.0, 10.0, 20.0)]).latency
    assert latency is not None
    assert latency.ordered_ms == (10.0, 20.0, 30.0)
    assert (latency.p50.value_ms, latency.p95.value_ms) == (20.0, 30.0)
    assert latency.embed_share == 0.1
    assert latency.p95.interval_ms is None


def test_groups_keep_their_order_and_have_figures_of_their_own(outcome: MakeOutcome) -> None:
    outcomes = [outcome([True], group="b"), outcome([], group="a"), outcome([True]), outcome([False], group="b")]
    near = [NearMiss(1, "b", outcomes[0].found), NearMiss(2, "a", ()), NearMiss(3, None, ()), NearMiss(4, "b", ())]
    measured = summary(0.8, outcomes, near)
    assert [(g.name, g.metrics.hit_at_3.value, g.near_miss) for g in measured.groups] == [
        ("b", 0.5, Score(1, 2)),
        ("a", 0.0, Score(0, 1)),
        ("(no group)", 1.0, Score(0, 1)),
    ]
    assert measured.near_miss == Score(1, 4)


def test_without_labels_there_are_no_groups(outcome: MakeOutcome) -> None:
    assert summary(0.8, [outcome([True]), outcome([])], None).groups == ()


def test_a_pair_counts_the_questions_that_only_one_got_right(subject: Callable[..., object]) -> None:
    first, second = subject("a", miss=3), subject("b", miss=1)
    (pair,) = pairs([first, second], [True] * 4 + [False] * 4)  # type: ignore[list-item]
    assert (pair.first, pair.second) == ("a", "b")
    assert (pair.hit_at_3.questions, pair.hit_at_3.only_first, pair.hit_at_3.only_second) == (4, 0, 2)
    assert pair.hit_at_3.p_value == 0.5
    assert (pair.silence.questions, pair.silence.only_first, pair.silence.only_second) == (4, 0, 0)
    assert pair.silence.p_value == 1.0


@pytest.fixture(scope="module")
def pytrec_eval() -> ModuleType:
    module: ModuleType = pytest.importorskip("pytrec_eval")
    return module


rankings = st.lists(
    st.tuples(st.lists(st.booleans(), max_size=3), st.integers(0, 4)).map(
        lambda drawn: (drawn[0], max(1, sum(drawn[0]) + drawn[1]))
    ),
    min_size=1,
    max_size=8,
)


@given(questions=rankings)
@settings(deadline=None)
def test_every_ranking_figure_is_that_of_trec_eval(
    pytrec_eval: ModuleType, questions: list[tuple[list[bool], int]]
) -> None:
    outcomes, judged, ranked = [], {}, {}
    for number, (accepted, relevant) in enumerate(questions):
        found = tuple(Found("s", str(n), "", None, None, hit) for n, hit in enumerate(accepted))
        outcomes.append(Outcome(Case(number, "q", expect=("t",)), found, relevant, 1.0, 1.0))
        others = {f"not found {n}": 1 for n in range(relevant - sum(accepted))}
        judged[str(number)] = {str(n): int(hit) for n, hit in enumerate(accepted)} | others
        ranked[str(number)] = {str(n): -float(n) for n in range(len(accepted))}
    measures = {"ndcg_cut_3", "recall_3", "recip_rank", "success_1", "success_3"}
    per_query = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(ranked)
    metrics = measure(outcomes)
    ours = {
        "ndcg_cut_3": metrics.ndcg_at_3,
        "recall_3": metrics.recall_at_3,
        "recip_rank": metrics.mrr,
        "success_1": metrics.hit_at_1,
        "success_3": metrics.hit_at_3,
    }
    for name, score in ours.items():
        # trec_eval leaves out a question for which nothing was returned; its figures are then 0.
        theirs = math.fsum(figures[name] for figures in per_query.values()) / len(questions)
        assert score.value == pytest.approx(theirs, abs=1e-9), name
