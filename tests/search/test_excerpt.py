"""Passages cut to the budget of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passageway.passages import estimated_tokens
from passageway_query.excerpt import excerpt, shares


@pytest.mark.parametrize(
    ("lengths", "allowed"),
    [
        ([], []),
        ([100], [100]),
        ([900], [400]),
        ([900, 900], [200, 200]),
        ([900, 20, 900], [190, 20, 190]),
        ([10, 20, 30], [10, 20, 30]),
    ],
)
def test_what_short_texts_leave_goes_to_long_ones(lengths: list[int], allowed: list[int]) -> None:
    assert shares(lengths) == allowed


def test_a_text_within_the_limit_is_left_as_it_is() -> None:
    assert excerpt("  Two lines.\nHere. ", ["lines"], 100) == "  Two lines.\nHere. "


def test_the_sentences_with_the_words_are_chosen() -> None:
    text = "Nothing here. " * 30 + "The mooring buoy lies north. It is red. " + "Nothing there. " * 30
    cut = excerpt(text, ["mooring", "red"], 40)
    assert cut.startswith("… Nothing here.") and cut.endswith("It is red. …")
    assert "The mooring buoy lies north. It is red." in cut
    assert estimated_tokens(cut) <= 42


def test_accents_do_not_hide_a_word() -> None:
    text = "Nichts davon. " * 40 + "Die Übergabe ist um sechs."
    assert "Übergabe" in excerpt(text, ["ubergabe"], 30)


def test_one_sentence_longer_than_the_limit_is_cut_at_a_word() -> None:
    cut = excerpt("mooring " * 500, ["mooring"], 50)
    assert cut.startswith("mooring mooring") and cut.endswith("mooring…")
    assert estimated_tokens(cut) <= 52


@given(
    text=st.text(st.sampled_from("ab .!?\n车。é"), max_size=400),
    limit=st.integers(min_value=1, max_value=60),
)
def test_any_text_is_cut_to_the_limit(text: str, limit: int) -> None:
    # A cut may add a mark at each end.
    assert estimated_tokens(excerpt(text, ["ab"], limit)) <= max(limit, 1) + 2
