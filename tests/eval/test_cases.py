"""The cases file: what is read, and what is refused with which words."""

import logging
from pathlib import Path

import pytest

from passageway.errors import SettingsError
from passageway_cli.eval.cases import Case, load_cases, parse_cases

GOOD = """
[targets]
hit_at_3 = 0.8
silence = 1
p95_ms = 300

[[case]]
query = "what is backpropagation"
expect = ["Backpropagation"]
group = "definition"

[[case]]
query = "wie lernt ein Netz"
expect_id = ["lernen.md"]

[[case]]
query = "what is for lunch"
"""


def test_questions_answers_groups_and_targets_are_read_in_their_order() -> None:
    file = parse_cases(GOOD)
    assert file.cases == (
        Case(1, "what is backpropagation", expect=("Backpropagation",), group="definition"),
        Case(2, "wie lernt ein Netz", expect_id=("lernen.md",)),
        Case(3, "what is for lunch"),
    )
    assert [(target.name, target.wanted) for target in file.targets] == [
        ("hit_at_3", 0.8),
        ("silence", 1.0),
        ("p95_ms", 300.0),
    ]
    assert [case.answerable for case in file.cases] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[case]]\nquery = "q"\nexpct = ["a"]', "case 1: expct: unknown key, did you mean 'expect'?"),
        ('[[case]]\nquery = "q"\nzzz = 1', "case 1: zzz: unknown key, expected query, expect, expect_id, group"),
        ('[[cases]]\nquery = "q"', "cases: unknown key, did you mean 'case'?"),
        ('[[case]]\nquery = "q"\n[[case]]\nexpect = ["a"]', "case 2: query: missing"),
        ('[[case]]\nquery = "  "', "case 1: query: is blank"),
        ('[[case]]\nquery = "q"\nexpect = "a"', "case 1: expect: expected a list of texts in brackets"),
        ('[[case]]\nquery = "q"\nexpect = []', "case 1: expect: is empty; leave the key out"),
        ('[[case]]\nquery = "q"\nexpect = ["a", " "]', "case 1: expect 2: is blank"),
        ('[[case]]\nquery = "q"\nexpect_id = [7]', "case 1: expect_id 1: expected a text in quotes"),
        ('[[case]]\nquery = "q"\ngroup = ""', "case 1: group: is blank"),
        ('[case]\nquery = "q"', "case: expected [[case]] for each question, with two brackets"),
        ("case = [1]", "case 1: expected a table"),
        ('targets = 3\n[[case]]\nquery = "q"', "targets: expected a table"),
        ("[targets]\nsilence = 0.9", "no [[case]] in it"),
        ("", "no [[case]] in it"),
        ("[[case]\n", "not valid TOML"),
        ('[targets]\nhit_at_33 = 0.8\n[[case]]\nquery = "q"', "'hit_at_33' is nothing that is measured; did you mean"),
        ('[targets]\nsilence = 80\n[[case]]\nquery = "q"', "silence is 80, expected a share from 0 to 1"),
        ('[targets]\nsilence = "0.8"\n[[case]]\nquery = "q"', "targets: silence: Input should be a valid number"),
        ('[targets]\nsilence = true\n[[case]]\nquery = "q"', "targets: silence: Input should be a valid number"),
        ('[targets]\nsilence = nan\n[[case]]\nquery = "q"', "targets: silence"),
        ('[targets]\np95_ms = -1\n[[case]]\nquery = "q"', "targets: p95_ms"),
    ],
)
def test_a_mistake_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_cases(text)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


def test_all_mistakes_are_named_at_once_and_no_question_is_quoted() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_cases('[[case]]\nquery = "secret question"\nexpct = 1\n[[case]]\nqury = "another secret"')
    assert "case 1: expct" in str(caught.value)
    assert "case 2: qury" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_question_asked_twice_is_warned_of_without_quoting_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parse_cases('[[case]]\nquery = "Secret question"\n[[case]]\nquery = "secret question "')
    assert "case 2 asks what case 1 asks" in caplog.text
    assert "ecret" not in caplog.text


@pytest.mark.parametrize(
    ("case", "accepted"),
    [
        (Case(1, "q", expect=("gradient DESCENT",)), True),
        (Case(1, "q", expect=("nothing", "vanishing")), False),
        (Case(1, "q", expect=("momentum",)), True),
        (Case(1, "q", expect=("/en/GRAD",)), True),
        (Case(1, "q", expect=("U\u0308bung",)), True),
        (Case(1, "q", expect_id=("a/descent.md",)), True),
        (Case(1, "q", expect_id=("descent.md",)), False),
        (Case(1, "q", expect=("nothing",), expect_id=("a/descent.md",)), True),
        (Case(1, "q"), False),
    ],
)
def test_an_answer_is_accepted_for_a_part_of_title_heading_or_address_or_for_its_whole_id(
    case: Case, accepted: bool
) -> None:
    texts = ("Gradient descent", "Variants › Momentum", "https://example.org/en/gradient.html", "\u00dcbung", None)
    assert case.accepts("a/descent.md", texts) is accepted


def test_a_missing_file_and_one_that_is_not_utf_8_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml does not exist"):
        load_cases(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes('[[case]]\nquery = "Grösse"'.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"latin\.toml cannot be read"):
        load_cases(tmp_path / "latin.toml")


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_text('[[case]]\nquery = "q"', encoding="utf-8-sig")
    assert load_cases(tmp_path / "bom.toml").cases == (Case(1, "q"),)
