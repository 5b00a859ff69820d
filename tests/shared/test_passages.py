import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.passages import MAX_PASSAGE_TOKENS, estimated_tokens, split_item, split_text
from passageway.records import Item, Section


def item(*sections: Section, **fields: object) -> Item:
    return Item("a", "Manual", "https://example.org", "1", sections, **fields)  # type: ignore[arg-type]


def test_the_embedded_text_names_title_path_and_heading() -> None:
    (passage,) = split_item(item(Section("Setup › Linux", "Run it."), path=("Ops", "Servers")))
    assert passage.embedded == "Manual › Ops › Servers › Setup › Linux: Run it."
    assert (passage.heading, passage.text) == ("Setup › Linux", "Run it.")


def test_an_item_without_text_is_found_by_its_title() -> None:
    (passage,) = split_item(item(Section("Empty", "  \n")))
    assert passage.embedded == "Manual"


def test_the_hash_changes_with_the_embedded_text_and_only_then() -> None:
    one, other, moved = (
        split_item(item(Section(None, text), path=path))[0].hash
        for text, path in [("Same.", ()), ("Same.", ()), ("Same.", ("Ops",))]
    )
    assert one == other != moved


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 100 for number in range(8)]
    pieces = split_text("\n\n".join(paragraphs))
    assert len(pieces) > 1
    assert [text.strip() for piece in pieces for text in piece.split("\n\n")] == [text.strip() for text in paragraphs]


def test_a_code_block_that_fits_stays_whole() -> None:
    code = "```python\n" + "value = compute(value)\n\n" * 20 + "```"
    pieces = split_text("Before. " * 150 + "\n\n" + code + "\n\n" + "After. " * 150)
    assert sum(code in piece for piece in pieces) == 1


def test_a_fence_closes_only_with_its_own_kind_and_length() -> None:
    code = "````text\n```\n\nstill code\n```\n````"
    pieces = split_text("Before. " * 170 + "\n\n" + code + "\n\n" + "After. " * 170)
    assert sum(code in piece for piece in pieces) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x" * 20_000,
        "番" * 5_000,
        "word " * 9_000,
        "a|b\n" * 3_000,
        "```\n" + "line of code\n" * 3_000,
        "Ein Satz. " * 3_000,
    ],
)
def test_every_piece_fits_and_nothing_but_space_is_lost(text: str) -> None:
    pieces = split_text(text)
    assert all(0 < estimated_tokens(piece) <= MAX_PASSAGE_TOKENS for piece in pieces)
    assert squeezed("".join(pieces)) == squeezed(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab .\n`~#!。番é"), max_size=400), st.integers(5, 60))
def test_any_text_is_cut_without_loss(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert all(estimated_tokens(piece) <= limit for piece in pieces)
    assert squeezed("".join(pieces)) == squeezed(text)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
