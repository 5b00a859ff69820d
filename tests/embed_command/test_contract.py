"""The check that embedder authors run: it passes good embedders and names the rule a bad one breaks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.embed_command import CommandEmbedder
from passageway.testing.embedder_contract import RULES, check_embedder

Make = Callable[..., CommandEmbedder]
PAGE = Path(__file__).parents[2] / "docs/reference/embedder-protocol.md"


@pytest.mark.parametrize("settings", [{}, {"FAKE_DIM": 384}, {"batch_size": 1}, {"FAKE_MISBEHAVE": "big-numbers"}])
def test_an_embedder_that_keeps_the_rules_passes(fake: Make, settings: dict[str, object]) -> None:
    check_embedder(fake(**settings))


@pytest.mark.rule("E16")
@pytest.mark.rule("E17")
@pytest.mark.parametrize(
    ("misbehaviour", "rule", "seen"),
    [
        ("die-at-info", "E2", "exit status 4"),
        ("no-name", "E2", "no 'name'"),
        ("error", "E4", "refused the key"),
        ("too-few", "E4", "5 texts with 4 vectors"),
        ("zero", "E4", "has length 0"),
        ("shuffled", "E4", "in a batch, text 5 has the vector of text 1"),
        ("constant", "E6", "to one about bananas"),
        ("restless", "E16", "embedded twice"),
        ("no-question", "E6", "to one about bananas"),
        ("ascii-only", "E17", "with several scripts: "),
        ("short-only", "E17", "with 1,600 characters: "),
    ],
)
def test_an_embedder_that_breaks_a_rule_fails_with_the_rule_and_what_was_seen(
    fake: Make, misbehaviour: str, rule: str, seen: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        check_embedder(fake(FAKE_MISBEHAVE=misbehaviour))
    assert str(caught.value).startswith(f"rule {rule}: {RULES[rule]} Seen: ")
    assert seen in str(caught.value)


def test_every_rule_of_the_check_reads_the_same_on_the_page() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for number, rule in RULES.items():
        assert f"**{number}.** {rule}" in page
