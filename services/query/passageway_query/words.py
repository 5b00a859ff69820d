"""A question as words: what to look for in the keyword index, and which of them say something.

Words are folded by SQLite's own tokenizer, the one that made the index, so that the two agree on every letter of every
version of Unicode. ASCII needs no such help.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from passageway.index.terms import JOINT, name_terms, names, pairs, spaced_apart, without_marks
from passageway_query.stop_words import GO_ON, POLITE, german_question, is_stop_word

MOST_WORDS = 512
"""Of a longer text the first three quarters of these and the last quarter count; a question has about ten."""

PAIR_SHARE = 0.5
"""What a pair of Chinese, Japanese, Korean or Thai letters counts for as a word: neighbouring pairs overlap."""

_MOST_LETTERS = 600
"""Of one unbroken run; anything longer is data, not words."""

_T = TypeVar("_T")

_ASCII_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Word:
    """One term of the keyword index. `share` is what it counts for in the gate: 1 a word, 0 what only helps to rank.

    A `stop` word says nothing; it is looked for only when the question has no other.
    """

    term: str
    shown: str
    share: float
    prefix: bool = False
    stop: bool = False

    @property
    def key(self) -> tuple[str, bool]:
        """What tells it from other words where postings are kept."""
        return self.term, self.prefix


@dataclass(frozen=True, slots=True)
class Words:
    """The distinct words of a question in order. `said` is the sum of their shares."""

    all: tuple[Word, ...]
    said: float
    small_talk: bool

    @property
    def searched(self) -> tuple[Word, ...]:
        """The words to look for: those that say something, else all of them."""
        return tuple(word for word in self.all if not word.stop) if self.said else self.all


class Tokenizer:
    """SQLite's `unicode61 remove_diacritics 2`, as the index uses it. One thread at a time."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE folding USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
        )
        self._db.execute("CREATE VIRTUAL TABLE folded USING fts5vocab (folding, instance)")
        self.tokens = lru_cache(maxsize=8192)(self._tokens)

    def close(self) -> None:
        """Give back the memory; safe to call twice."""
        self._db.close()

    def _tokens(self, text: str) -> tuple[str, ...]:
        """The tokens of the text in order."""
        if text.isascii():
            return tuple(_ASCII_WORD.findall(text.lower()))
        self._db.execute("INSERT INTO folding (rowid, text) VALUES (1, ?)", (text,))
        rows = self._db.execute("SELECT term FROM folded ORDER BY offset").fetchall()
        self._db.execute("INSERT INTO folding (folding) VALUES ('delete-all')")
        return tuple(row[0] for row in rows)


def readable(text: str) -> str:
    """The text in composed form, with a blank for NUL and a replacement for what UTF-8 cannot hold."""
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", text)


def question_words(text: str, tokenizer: Tokenizer) -> Words:
    """The words of a `readable` text."""
    found: dict[str, Word] = {}
    for word in _words(text, tokenizer):
        known = found.get(word.term)
        if known is None or known.share < word.share:
            found[word.term] = word
    words = _ends(list(found.values()))
    german = german_question(word.term for word in words)
    words = [_weighed(word, german) for word in words]
    small_talk = all(word.share == 0 or word.term in GO_ON for word in words) and any(
        word.term in GO_ON or word.term in POLITE for word in words
    )
    return Words(tuple(words), sum(word.share for word in words), small_talk)


def _ends(values: list[_T]) -> list[_T]:
    """At most 512 of the values: from a long text the beginning, and the end, where people put the question."""
    tail = MOST_WORDS // 4
    return values if len(values) <= MOST_WORDS else values[: MOST_WORDS - tail] + values[-tail:]


def _weighed(word: Word, german: bool) -> Word:
    if word.share and (is_stop_word(word.term, german) or (len(word.term) == 1 and word.term.isascii())):
        return Word(word.term, word.shown, 0, word.prefix, stop=True)
    return word


def _words(text: str, tokenizer: Tokenizer) -> Iterator[Word]:
    spaced, runs, marked = spaced_apart(text)
    for name in _ends(list(dict.fromkeys(names(spaced)))):
        yield from _name_words(name, tokenizer)
    for run in _ends(list(dict.fromkeys(runs))):
        yield from _run_words(run)
    for word in _ends(list(dict.fromkeys(marked))):
        yield Word(without_marks(word), word, 1)


def _name_words(name: str, tokenizer: Tokenizer) -> Iterator[Word]:
    """A plain word as it is; a name by its parts, which count, and whole, which only helps to rank."""
    name = name[:_MOST_LETTERS]
    tokens = tokenizer.tokens(name)
    if name.isalnum() and (name.islower() or name.istitle()):
        yield from (Word(token, token, 1) for token in tokens)
        return
    *hidden, whole = name_terms(name) or [""]
    parts = [token for part in hidden for token in tokenizer.tokens(part)]
    # RetryBudget is one token; its parts count in its place.
    undivided = {"".join(parts)} if len(tokens) == 1 else set()
    yield from (Word(token, token, 0 if token in undivided else 1) for token in tokens)
    yield from (Word(token, token, 1) for token in parts)
    if whole:
        yield Word(JOINT.join(token for part in whole.split(JOINT) for token in tokenizer.tokens(part)), name, 0)


def _run_words(run: str) -> Iterator[Word]:
    letters = pairs(run[:_MOST_LETTERS])
    if len(letters) == 1:
        yield Word(letters[0], letters[0], 1, prefix=True)
    for pair in letters[:-1]:
        yield Word(pair, pair, PAIR_SHARE)
