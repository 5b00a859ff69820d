"""Where a long section is cut, and what of an item is embedded."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.passages import MAX_PASSAGE_TOKENS, embedded_text, estimated_tokens, split_item, split_text
from passageway.records import Item, Section

FENCE = "```python\n" + "value = compute(value)\n" * 20 + "\n\nprint(value)\n```"


def item(*sections: Section, title: str = "Tea", path: tuple[str, ...] = ()) -> Item:
    return Item("a", title, "", "1", sections, path=path)


def test_a_passage_is_embedded_with_its_place() -> None:
    (passage,) = split_item(item(Section("Steps › First", "Boil water."), path=("Kitchen", "Drinks")))
    assert passage.embedded == "Tea › Kitchen › Drinks › Steps › First: Boil water."
    assert (passage.heading, passage.text) == ("Steps › First", "Boil water.")


def test_an_item_without_text_is_one_passage_of_its_title() -> None:
    (passage,) = split_item(item())
    assert (passage.text, passage.embedded) == ("", "Tea")
    (passage,) = split_item(item(Section("Empty", " \n ")))
    assert passage.embedded == "Tea"


def test_equal_texts_have_equal_hashes_whatever_their_item() -> None:
    first, second = (split_item(Item(name, "Tea", "", "1", (Section(None, "leaf"),)))[0] for name in ("a", "b"))
    assert first.hash == second.hash
    assert split_item(item(Section(None, "leaf"), title="Mint"))[0].hash != first.hash


def test_a_long_place_leaves_room_for_the_text() -> None:
    embedded = embedded_text("word " * 1000, (), None, "the text")
    assert embedded.endswith(": the text")
    assert estimated_tokens(embedded) < 130


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}. " + "Leaves are dried slowly. " * 12 for number in range(10)]
    pieces = split_text("\n\n".join(paragraphs))
    assert len(pieces) > 2
    assert all(re.match(r"Paragraph \d", piece) for piece in pieces)
    assert "\n\n".join(piece.strip() for piece in pieces).split() == " ".join(paragraphs).split()


def test_a_code_block_stays_whole_where_it_fits() -> None:
    text = "\n\n".join(["Prose about tea. " * 30, FENCE, "More prose. " * 60, FENCE])
    assert sum(FENCE in piece for piece in split_text(text)) == 2


@pytest.mark.parametrize("fence", ["````", "~~~"])
def test_a_fence_ends_only_with_its_own_mark(fence: str) -> None:
    block = f"{fence}text\n```\n\nstill code\n\n```\n{fence}"
    pieces = split_text(f"{'Prose. ' * 150}\n\n{block}\n\n{'Prose. ' * 150}")
    assert any(block in piece for piece in pieces)


def test_a_paragraph_that_is_too_long_is_cut_between_sentences() -> None:
    pieces = split_text("The kettle is on the stove tonight. " * 80)
    assert len(pieces) > 1
    assert all(piece.startswith("The kettle") and piece.endswith("tonight.") for piece in pieces)


def test_text_without_any_gap_is_cut_hard() -> None:
    assert "".join(split_text("x" * 10_000)) == "x" * 10_000
    assert "".join(split_text("茶" * 2_000)) == "茶" * 2_000


@settings(max_examples=150, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(
            ["leaf ", "Tea. ", "\n", "\n\n", "```\n", "~~~\n", "茶", "。", "x" * 40, "# head\n", "  ", "é! "]
        ),
        max_size=250,
    ).map("".join),
    limit=st.integers(min_value=4, max_value=80),
)
def test_nothing_but_space_is_lost_and_no_piece_is_too_long(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(estimated_tokens(piece) <= limit for piece in pieces)
    assert all(piece.strip() for piece in pieces)


def test_no_passage_is_longer_than_the_model_reads() -> None:
    sections = [Section(f"Part {number}", ("word " * 50 + "\n\n") * 20) for number in range(3)]
    assert all(estimated_tokens(passage.text) <= MAX_PASSAGE_TOKENS for passage in split_item(item(*sections)))
