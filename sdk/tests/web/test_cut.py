from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.passages import split_text
from passageway_sdk.web import MAX_SECTION_TOKENS, cut_sections, cut_text, estimated_tokens


def letters(text: str) -> str:
    return "".join(text.split())


def test_a_short_text_stays_whole() -> None:
    assert cut_text("\n  One.\n\nTwo.\n") == ["  One.\n\nTwo."]
    assert cut_text(" \n ") == []


def test_a_long_text_is_cut_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 50 for number in range(12)]
    pieces = cut_text("\n\n".join(paragraphs))
    assert len(pieces) > 1
    assert all(piece.startswith("Paragraph") for piece in pieces)
    assert all(estimated_tokens(piece) <= MAX_SECTION_TOKENS for piece in pieces)


def test_a_long_table_has_its_head_over_every_piece() -> None:
    rows = "\n".join(f"| name {number} | value {number} |" for number in range(200))
    pieces = cut_text(f"| Name | Value |\n| --- | --- |\n{rows}")
    assert len(pieces) > 1
    assert all(piece.startswith("| Name | Value |\n| --- | --- |\n| name") for piece in pieces)
    assert sum(piece.count("| value") for piece in pieces) == 200


def test_long_code_has_its_fence_around_every_piece_and_keeps_blank_lines() -> None:
    code = "\n".join(f"    call({number})" + ("\n" if number % 9 == 0 else "") for number in range(200))
    pieces = cut_text(f"```python\n{code}\n```")
    assert len(pieces) > 1
    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in pieces)
    assert sum(piece.count("call(") for piece in pieces) == 200


def test_a_text_without_any_blank_is_cut_hard() -> None:
    pieces = cut_text("x" * 5000)
    assert "".join(pieces) == "x" * 5000
    assert all(estimated_tokens(piece) <= MAX_SECTION_TOKENS for piece in pieces)


def test_the_core_cuts_no_further() -> None:
    text = "\n\n".join("Ein Satz, der etwas sagt. " * number for number in range(1, 40))
    assert all(split_text(piece) == [piece.strip()] for piece in cut_text(text))


def test_the_pieces_of_a_section_share_its_heading() -> None:
    sections = cut_sections([{"heading": "A › B", "text": "word " * 1000}, {"heading": None, "text": "end"}])
    assert {section["heading"] for section in sections[:-1]} == {"A › B"} and len(sections) > 3
    assert sections[-1] == {"heading": None, "text": "end"}


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab .\n`|-日", max_size=400), st.integers(8, 60))
def test_nothing_is_lost_and_every_piece_fits(text: str, limit: int) -> None:
    pieces = cut_text(text, limit)
    assert all(estimated_tokens(piece) <= limit and piece.strip() for piece in pieces)
    if "```" not in text and "---" not in text:
        assert letters("".join(pieces)) == letters(text)
