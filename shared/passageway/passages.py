"""Items into passages: what is embedded, what is searched, and where a long section is cut."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from passageway.records import Item

MAX_PASSAGE_TOKENS = 350
"""Estimated tokens of a passage's own text. The default model reads 512, title and path included."""

TRAIL = " › "
_CONTEXT_TOKENS = 120
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a section that fits a model. `embedded` is `title › path › heading: text`, `hash` its identity."""

    heading: str | None
    text: str
    embedded: str
    hash: bytes


def estimated_tokens(text: str) -> int:
    """Tokens of a multilingual SentencePiece vocabulary, roughly: 3.5 letters a token, one for a CJK character."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) * 2 // 7)


def split_item(item: Item) -> list[Passage]:
    """The item's passages in order. An item without text gives one passage of its title, so it is found by name."""
    passages = [
        _passage(item, section.heading, piece) for section in item.sections for piece in split_text(section.text)
    ]
    return passages or [_passage(item, None, "")]


def trail(parts: Iterable[str | None]) -> str:
    """A place as people read it, outermost first, from the parts that are not empty: `Setup › Linux`."""
    return TRAIL.join(part for part in parts if part)


def embedded_text(title: str, path: Sequence[str], heading: str | None, text: str) -> str:
    """What the model reads for a passage: where it stands, then its text. The place is cut at 120 tokens."""
    context = trail((title, *path, heading))
    return f"{_head(context, _CONTEXT_TOKENS)}: {text}" if text else context


def _passage(item: Item, heading: str | None, text: str) -> Passage:
    embedded = embedded_text(item.title, item.path, heading, text)
    return Passage(heading, text, embedded, hashlib.sha256(embedded.encode("utf-8")).digest())


def split_text(text: str, max_tokens: int = MAX_PASSAGE_TOKENS) -> list[str]:
    """Pieces of at most `max_tokens`: cut between paragraphs, else sentences, else hard. Nothing but space is lost.

    A fenced code block is one paragraph, so it stays whole where it fits.
    """
    text = text.strip()
    if estimated_tokens(text) <= max_tokens:
        return [text] if text else []
    return list(_packed(_fitting(list(_paragraphs(text)), max_tokens), max_tokens))


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            stripped = line.strip()
            if mark and stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark.group(1)
        if line.strip() or fence:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _fitting(paragraphs: list[str], max_tokens: int) -> Iterator[tuple[str, str]]:
    """(separator before it, piece), each piece within the limit."""
    for paragraph in paragraphs:
        if estimated_tokens(paragraph) <= max_tokens:
            yield "\n\n", paragraph
            continue
        separator = "\n\n"
        pattern, glue = (r"\n", "\n") if "\n" in paragraph else (_SENTENCE_END, " ")
        for sentence in re.split(pattern, paragraph):
            for part in _finer(sentence, max_tokens):
                yield separator, part
                separator = glue


def _finer(text: str, max_tokens: int) -> Iterator[str]:
    """A line or sentence that may itself be too long: by sentences, then words, then characters."""
    if estimated_tokens(text) <= max_tokens:
        if text.strip():
            yield text
        return
    pieces = [piece for piece in _SENTENCE_END.split(text) if piece and piece.strip()]
    if len(pieces) > 1:
        for piece in pieces:
            yield from _finer(piece, max_tokens)
        return
    while text.strip():
        head = _head(text, max_tokens)
        if len(head) < len(text) and (space := head.rfind(" ", len(head) // 2)) > 0:
            head = head[:space]
        yield head.strip()
        text = text[len(head) :].lstrip()


def _head(text: str, max_tokens: int) -> str:
    """The longest start of the text within the limit, never less than one character."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimated_tokens(text[:middle]) <= max_tokens else (low, middle - 1)
    return text[:low]


def _packed(pieces: Iterator[tuple[str, str]], max_tokens: int) -> Iterator[str]:
    current = ""
    for separator, piece in pieces:
        joined = f"{current}{separator}{piece}" if current else piece
        if current and estimated_tokens(joined) > max_tokens:
            yield current.strip("\n")
            joined = piece
        current = joined
    if current.strip():
        yield current.strip("\n")
