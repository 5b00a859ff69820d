from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_connector_wikipedia.formulas import with_plain_formulas


def column(*letters: str, source: str) -> str:
    """A formula as MediaWiki's text extracts print it."""
    lines = "".join(f"        {letter}\n" for letter in letters)
    return f"\n  \n    \n      \n{lines}      \n    \n    {{\\displaystyle {source}}}\n  \n"


def test_a_formula_in_a_sentence_stays_in_it() -> None:
    text = f"where {column('m', source='m')} is the mass and {column('a', source='a')}, the acceleration."
    assert with_plain_formulas(text) == "where m is the mass and a, the acceleration."


def test_a_formula_that_stands_apart_gets_a_line_of_its_own() -> None:
    text = f"The force is\n{column('F', '=', 'm', 'a', source='F=ma')}\nand grows."
    assert with_plain_formulas(text) == "The force is\nF=ma\nand grows."


def test_two_formulas_in_a_row_leave_no_letters_behind() -> None:
    text = f"Both{column('x', source='x_{1}')}{column('y', source='y')}hold."
    assert with_plain_formulas(text) == "Both x_{1}\ny hold."


def test_a_formula_at_the_start_or_the_end_leaves_no_gap() -> None:
    assert with_plain_formulas(column("x", source="x") + " is here.") == "x is here."
    assert with_plain_formulas("Here is " + column("x", source="x")) == "Here is x"


def test_braces_in_a_formula_are_counted() -> None:
    assert with_plain_formulas(r"a {\displaystyle \{x\}_{i{j}}} b") == r"a \{x\}_{i{j}} b"


def test_a_formula_that_never_closes_ends_with_its_paragraph() -> None:
    assert with_plain_formulas("a {\\displaystyle x_{1\n\nb") == "a x_{1\nb"


def test_a_very_long_formula_is_named_only() -> None:
    assert with_plain_formulas(f"a {{\\displaystyle {'x+' * 400}1}} b") == "a [formula] b"


def test_a_column_without_a_source_is_taken_out() -> None:
    assert (
        with_plain_formulas("Salt\n\n  \n    \n      N\n      a\n      Cl\n    \n  \n\nis white.")
        == "Salt\n\nis white."
    )


def test_other_text_stays_as_it_is() -> None:
    for text in ("A\nB\nC\nD", "One.\n\nTwo.", "a {b} c", "- x\n- y\n- z", "code:\n    if x:\n        y = 12345"):
        assert with_plain_formulas(text) == text


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["{\\displaystyle ", "}", "{", "\\", "\n", "  ", "x", "word ", "\n\n", "."])).map("".join)
)
def test_any_text_is_read_and_keeps_its_words(text: str) -> None:
    plain = with_plain_formulas(text)
    # An indented line beside a formula is one of the scraps that its picture leaves behind.
    plain_lines = [line for line in text.split("\n") if not line.startswith(" ") and not set(line) & set("{}")]
    kept = sum(line.count("word") for line in plain_lines)
    assert kept <= plain.count("word") <= text.count("word")
    assert "\n\n\n" not in plain
