"""Words that SQLite's tokenizer would miss: names in code by their parts and whole, scripts without spaces.

FTS5's `unicode61` splits at everything that is no letter or digit. So `parse_http_reply` is found by its parts but
not told from a text with those three words; `RetryBudget` is one word, not found by `retry budget`; a Chinese
sentence is one word. What is missing is written into a column of its own, `extra`; a question gets the same
treatment, so the two meet.
"""

import re
import unicodedata
from collections.abc import Iterator

JOINT = "\ue000"
"""Between the parts of a whole name: private use, which `unicode61` counts as a letter and nobody types."""

_MAX_NAME_CHARS = 100
_MAX_PARTS = 10
"""Longer runs are data (Base64, hashes, paths), not names that anybody asks for."""

# CJK ideographs, kana, Hangul, then Thai, Lao, Tibetan, Myanmar and Khmer with their vowel signs.
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u31f0-\u31ff\uff66-\uff9f\U00020000-\U0003ffff"
    "\uac00-\ud7af\u1100-\u11ff\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"[^\W_]+(?:[_.\-][^\W_]+)*")
# Most text holds no such name. These look for one at the speed of a search for a single letter (1 µs for 200 letters).
_DIVIDED = re.compile(r"[_.\-](?=[^\W_])(?<=[^\W_][_.\-])")
_CAPITAL_INSIDE = re.compile(r"[A-ZÀ-ÖØ-Þ](?:(?<=[a-zß-öø-ÿ0-9].)|(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]))")
# Scripts whose vowel signs `unicode61` takes for gaps, so that their words fall to pieces: Devanagari to Sinhala.
_MARKED = re.compile("[\u0900-\u0dff]+")
_SEPARATORS = re.compile(r"[_.\-]")
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-ZÀ-ÖØ-Þ])(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")


def extra_terms(text: str) -> str:
    """The words to index besides the text itself, with spaces between; empty for most prose."""
    found: list[str] = []
    if _CAPITAL_INSIDE.search(text) or _DIVIDED.search(text):
        for match in _NAME.finditer(text):
            found += name_terms(match.group())
    if not text.isascii():
        if _RUN.search(text):
            for match in _RUN.finditer(text):
                found += pairs(match.group())
            found += _spaced_neighbours(text)
        for match in _MARKED.finditer(text):
            word = without_marks(match.group())
            if word != match.group():
                found.append(word)
    return " ".join(found)


def name_terms(name: str) -> list[str]:
    """The parts that only capitals divide, then the whole name with its parts joined; empty for a plain word."""
    if len(name) > _MAX_NAME_CHARS:
        return []
    parts: list[str] = []
    hidden: list[str] = []
    for piece in _SEPARATORS.split(name):
        camel = [part for part in _CAMEL.split(piece) if part]
        parts += camel
        if len(camel) > 1:
            hidden += camel
    if not 2 <= len(parts) <= _MAX_PARTS:
        return []
    return [*hidden, JOINT.join(parts)]


def pairs(run: str) -> list[str]:
    """Neighbouring letters two by two, and the last one alone, so that each letter starts a term."""
    letters = without_marks(run)
    return [letters[start : start + 2] for start in range(len(letters))]


def without_marks(word: str) -> str:
    """The letters and digits of the word without vowel signs and accents that stand as characters of their own."""
    return "".join(letter for letter in word if not unicodedata.category(letter).startswith("M"))


def spaced_apart(text: str) -> tuple[str, list[str], list[str]]:
    """The text without unspaced and marked scripts, then the runs of the former and the words of the latter."""
    runs, words = _RUN.findall(text), _MARKED.findall(text)
    return (_MARKED.sub(" ", _RUN.sub(" ", text)) if runs or words else text), runs, words


def names(text: str) -> Iterator[str]:
    """Words and names of the text, a name such as `parse_http_reply` or `4.12` in one piece."""
    return (match.group() for match in _NAME.finditer(text))


def _spaced_neighbours(text: str) -> Iterator[str]:
    """Words of other scripts that touch an unspaced one, and so are part of its token: Docker in 使用Docker部署."""
    for match in _WORD.finditer(text):
        if not match.group().isascii() and _RUN.search(match.group()):
            yield from (piece for piece in _RUN.split(match.group()) if piece)
