"""Targets: judged by what the report shows."""

from collections.abc import Callable

import pytest

from passageway_cli.eval.measurement import NearMiss, summary
from passageway_cli.eval.metrics import Outcome
from passageway_cli.eval.targets import FIGURES, Target
from passageway_cli.eval.verdicts import verdicts

MakeOutcome = Callable[..., Outcome]


def test_two_of_three_meets_two_thirds_as_the_report_rounds_it(outcome: MakeOutcome) -> None:
    measured = summary(0.8, [outcome([True]), outcome([True]), outcome([False])], None)
    below, met, above = verdicts(
        [Target("hit_at_3", 0.6), Target("hit_at_3", 0.667), Target("hit_at_3", 0.668)], measured
    )
    assert (below.met, met.met, above.met) == (True, True, False)
    assert (met.shown, met.wanted) == ("66.7%", "at least 66.7%")


def test_less_is_better_for_false_silence_times_and_near_misses(outcome: MakeOutcome) -> None:
    outcomes = [outcome([True], took_ms=10.04), outcome([], took_ms=20.0)]
    measured = summary(0.8, outcomes, [NearMiss(1, None, ()), NearMiss(2, None, outcomes[0].found)])
    wanted = {
        "false_silence": (0.5, True),
        "near_miss": (0.49, False),
        "p50_ms": (10.0, True),
        "p95_ms": (19.9, False),
    }
    results = verdicts([Target(name, value) for name, (value, _) in wanted.items()], measured)
    assert [verdict.met for verdict in results] == [met for _, met in wanted.values()]
    assert results[0].wanted == "at most 50.0%"


def test_what_is_not_known_meets_no_target(outcome: MakeOutcome) -> None:
    measured = summary(0.8, [outcome([True])], None)
    silence, near_miss = verdicts([Target("silence", 0.0), Target("near_miss", 1.0)], measured)
    assert (silence.shown, silence.met) == ("n/a", False)
    assert (near_miss.shown, near_miss.met) == ("n/a", False)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_that_may_have_a_target_is_measured(outcome: MakeOutcome, name: str) -> None:
    outcomes = [outcome([True]), outcome([], answerable=False)]
    (verdict,) = verdicts([Target(name, 0.5)], summary(0.8, outcomes, [NearMiss(1, None, ())]))
    assert verdict.shown != "n/a"
