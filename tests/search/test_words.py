"""A question as words, folded as SQLite folds the text, and extra terms for what SQLite's tokenizer misses."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.index.terms import JOINT, extra_terms
from passageway_query.words import Tokenizer, question_words, readable


@pytest.fixture(scope="module")
def tokenizer() -> Iterator[Tokenizer]:
    made = Tokenizer()
    yield made
    made.close()


def said(text: str, tokenizer: Tokenizer) -> list[str]:
    """The words that count, in order."""
    return [word.term for word in question_words(readable(text), tokenizer).all if word.share]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("How do I rotate the signing cert?", ["rotate", "signing", "cert"]),
        ("Wie wird das Zertifikat erneuert?", ["zertifikat", "erneuert"]),
        # A German stop word that is an English word of its own counts in English.
        ("causes of the war", ["causes", "war"]),
        ("wie war das mit dem Getriebe", ["getriebe"]),
        ("don't we can't", []),
        ("C:\\hook\\door", ["hook", "door"]),
        ("parse_http_reply", ["parse", "http", "reply"]),
        ("RetryBudget", ["retry", "budget"]),
        ("HTTPReply v2", ["http", "reply", "v2"]),
        ("release 4.12", ["release", "12"]),
        ("车牌号", ["车牌", "牌号"]),
        ("牌", ["牌"]),
        ("ÜBERGABE", ["ubergabe"]),
        ("straße", ["straße"]),
    ],
)
def test_the_words_that_say_something(tokenizer: Tokenizer, text: str, terms: list[str]) -> None:
    assert said(text, tokenizer) == terms


@pytest.mark.parametrize("text", ["ok thanks", "please continue", "danke, mach weiter", "Ja bitte!", "weiter"])
def test_small_talk_is_told_from_a_question(tokenizer: Tokenizer, text: str) -> None:
    assert question_words(readable(text), tokenizer).small_talk


@pytest.mark.parametrize("text", ["how to continue a build", "who is that", "thanks to whom do we have tides", ""])
def test_a_question_is_no_small_talk(tokenizer: Tokenizer, text: str) -> None:
    assert not question_words(readable(text), tokenizer).small_talk


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("Plain prose, with a full stop. And another.", []),
        ("call parse_http_reply now", [f"parse{JOINT}http{JOINT}reply"]),
        ("the RetryBudget class", ["Retry", "Budget", f"Retry{JOINT}Budget"]),
        ("HTTPReply", ["HTTP", "Reply", f"HTTP{JOINT}Reply"]),
        ("release 4.12", [f"4{JOINT}12"]),
        ("车牌号", ["车牌", "牌号", "号"]),
        ("使用Docker部署", ["使用", "用", "部署", "署", "Docker"]),
        ("हिन्दी", ["हनद"]),
        ("N4IgLg" * 40, []),
        ("a-b-c-d-e-f-g-h-i-j-k-l", []),
    ],
)
def test_extra_terms_are_what_the_tokenizer_misses(text: str, extra: list[str]) -> None:
    assert extra_terms(text).split() == extra


def fts5_tokens(text: str) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE page USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')")
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (page, instance)")
        connection.execute("INSERT INTO page VALUES (?)", (text,))
        return [row[0] for row in connection.execute("SELECT term FROM terms ORDER BY offset")]


def test_ascii_is_folded_as_sqlite_folds_it(tokenizer: Tokenizer) -> None:
    text = "".join(f"a{chr(code)}B " for code in range(1, 128))
    assert list(tokenizer.tokens(text)) == fts5_tokens(text)


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60))
def test_any_text_is_folded_as_sqlite_folds_it(tokenizer: Tokenizer, text: str) -> None:
    assert list(tokenizer.tokens(text)) == fts5_tokens(text)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=300))
def test_any_text_has_words_and_extra_terms(tokenizer: Tokenizer, text: str) -> None:
    words = question_words(readable(text), tokenizer)
    assert words.said == sum(word.share for word in words.all)
    assert len({word.term for word in words.all}) == len(words.all)
    extra = extra_terms(readable(text))
    assert extra == " ".join(extra.split())


@settings(max_examples=100, deadline=None)
@given(name=st.from_regex(r"[a-z]{2,6}([_.-][a-z]{2,6}){1,3}|([A-Z][a-z]{1,5}){2,4}", fullmatch=True))
def test_a_name_in_a_question_meets_itself_in_a_text(tokenizer: Tokenizer, name: str) -> None:
    indexed = set(fts5_tokens(f"See {name} there")) | set(fts5_tokens(extra_terms(f"See {name} there")))
    asked = {word.term for word in question_words(readable(name), tokenizer).all}
    assert asked <= indexed
    assert any(JOINT in term for term in asked)


def test_a_text_of_all_letters_there_are_is_no_problem(tokenizer: Tokenizer) -> None:
    text = " ".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    assert question_words(readable(text), tokenizer).said > 0
