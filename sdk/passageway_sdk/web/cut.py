"""Long sections into shorter ones that a model reads whole, with a table's head before each piece of the table."""

import re
from collections.abc import Iterable, Iterator, Mapping

MAX_SECTION_TOKENS = 350
"""What the core takes as one passage; a model of 512 tokens has room for title and path beside it."""

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_RULE = re.compile(r"\|(?: ?:?-+:? ?\|)+")


def estimated_tokens(text: str) -> int:
    """About how many tokens a multilingual model reads: 3.5 letters each, Chinese, Japanese and Korean one a letter."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) * 2 // 7)


def cut_sections(
    sections: Iterable[Mapping[str, str | None]], max_tokens: int = MAX_SECTION_TOKENS
) -> list[dict[str, str | None]]:
    """The sections in their order, each of at most `max_tokens`; the pieces of a long one share its heading."""
    return [
        {"heading": section.get("heading"), "text": piece}
        for section in sections
        for piece in cut_text(section["text"] or "", max_tokens)
    ]


def cut_text(text: str, max_tokens: int = MAX_SECTION_TOKENS) -> list[str]:
    """Pieces of at most `max_tokens`: cut between paragraphs, else lines, else sentences, else words, else letters."""
    text = text.strip("\n").rstrip()
    if estimated_tokens(text) <= max_tokens:
        return [text] if text.strip() else []
    pieces: list[str] = []
    room = 0
    for block in _blocks(text):
        cost = estimated_tokens(block) + 1
        if pieces and cost <= room:
            pieces[-1] += f"\n\n{block}"
            room -= cost
            continue
        parts = [block] if cost <= max_tokens else list(_cut_block(block, max_tokens))
        pieces += parts
        room = max_tokens - estimated_tokens(pieces[-1]) - 1
    return pieces


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs; a fenced code block is one, with the blank lines in it."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line.strip() == fence else fence
        elif mark := re.match(r"(`{3,}|~{3,})", line.strip()):
            fence = mark.group(1)
        if line.strip() or fence:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _cut_block(block: str, max_tokens: int) -> Iterator[str]:
    """A block that is too long: a table repeats its head, code its fence, other text is cut where it can be."""
    lines = block.split("\n")
    head, tail = "", ""
    if len(lines) > 2 and _RULE.fullmatch(lines[1].strip()):
        head = "\n".join(lines[:2]) + "\n"
        lines = lines[2:]
    elif len(lines) > 2 and (mark := re.match(r"(`{3,}|~{3,})", lines[0])) and lines[-1].strip() == mark.group(1):
        head, tail = f"{lines[0]}\n", f"\n{lines[-1]}"
        lines = lines[1:-1]
    around = estimated_tokens(head + tail) + 2
    if around * 2 > max_tokens:
        # A head as long as that would crowd out what it stands over.
        head, tail, lines, around = "", "", block.split("\n"), 0
    for piece in _packed(_short(lines, max_tokens - around), max_tokens - around):
        yield f"{head}{piece}{tail}"


def _short(lines: Iterable[str], max_tokens: int) -> Iterator[tuple[str, str]]:
    """(what joins it to the piece before, text), each text within the limit."""
    for line in lines:
        glue = "\n"
        for sentence in [line] if estimated_tokens(line) <= max_tokens else _SENTENCE.split(line):
            for part in _words(sentence, max_tokens):
                yield glue, part
                glue = " "


def _words(text: str, max_tokens: int) -> Iterator[str]:
    while estimated_tokens(text) > max_tokens:
        # No letter is more than one token, so this many letters always fit; most texts have room for more.
        end = max_tokens
        while end < len(text) and estimated_tokens(text[: end + max_tokens // 4 + 1]) <= max_tokens:
            end += max_tokens // 4 + 1
        space = text.rfind(" ", end // 2, end)
        end = space if space > 0 else end
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    if text:
        yield text


def _packed(parts: Iterable[tuple[str, str]], max_tokens: int) -> Iterator[str]:
    current = ""
    size = 0
    for glue, part in parts:
        cost = estimated_tokens(part) + 1
        if current and size + cost > max_tokens:
            yield current
            current, size = "", 0
        current = f"{current}{glue}{part}" if current else part
        size += cost
    if current.strip():
        yield current
