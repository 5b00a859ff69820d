"""Sections, title and code of a markdown document, for connectors whose source is markdown or converts to it.

Headings are those of the `#` form, read as CommonMark (spec.commonmark.org/0.31.2) reads them: not in a code fence, not
in an HTML comment or a `<pre>`, not with four spaces before them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TRAIL = " › "

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+[\"'][^\"']*[\"'])?\)")
_BACKTICKS = re.compile(r"`+")
# Blocks of raw HTML that may hold blank lines: where one starts, and what its last line contains.
_RAW = (
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (
        re.compile(r" {0,3}<(?:pre|script|style|textarea)(?=[ \t>]|$)", re.I),
        re.compile(r"</(?:pre|script|style|textarea)>", re.I),
    ),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document: its text, and what it is."""

    text: str
    level: int = 0
    """1 to 6 for a heading, else 0."""
    title: str = ""
    fenced: bool = False


def split_markdown(text: str, skip_first_h1: bool = False) -> list[dict[str, str | None]]:
    """The sections as the item record wants them: `{"heading": "Setup › Linux", "text": "…"}`, in order.

    A heading is the trail of its parents; text before the first one has None. Sections without text are left out.
    With `skip_first_h1` the first level-1 heading is taken as the document's title and is in no trail.
    """
    sections: list[dict[str, str | None]] = []
    trail: list[tuple[int, str]] = []
    body: list[str] = []

    def close_section() -> None:
        if content := _without_blank_edges(body):
            heading = TRAIL.join(title for _, title in trail if title)
            sections.append({"heading": heading or None, "text": content})
        body.clear()

    for line in scan(text):
        if not line.level:
            body.append(line.text)
            continue
        close_section()
        while trail and trail[-1][0] >= line.level:
            trail.pop()
        is_title = skip_first_h1 and line.level == 1 and line.title != ""
        skip_first_h1 = skip_first_h1 and not is_title
        trail.append((line.level, "" if is_title else line.title))
    close_section()
    return sections


def first_h1(text: str) -> str | None:
    """The text of the first level-1 heading that has any, or None."""
    return next((line.title for line in scan(text) if line.level == 1 and line.title), None)


def strip_code(text: str) -> str:
    """The text without its fenced code blocks and inline code: what is left can be searched for links."""
    kept = [line.text for line in scan(text) if not line.fenced]
    # Inline code may run over a line's end, never over a blank line.
    return "".join(_without_inline_code(block) for block in re.split(r"(\n[ \t]*\n)", "\n".join(kept)))


def scan(text: str) -> Iterator[Line]:
    """Every line of the document with what it is. The byte order mark and carriage returns are gone."""
    fence = ""
    raw_end: re.Pattern[str] | None = None
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if fence:
            yield Line(line, fenced=True)
            fence = "" if _closes(line, fence) else fence
        elif raw_end is not None or (raw_end := _raw_block(line)) is not None:
            yield Line(line)
            raw_end = None if raw_end.search(line) else raw_end
        elif opened := _FENCE.match(line):
            yield Line(line, fenced=True)
            fence = opened.group(1)
        elif heading := _HEADING.match(line):
            yield Line(line, len(heading.group(1)), _heading_text(line[heading.end() :]))
        else:
            yield Line(line)


def _closes(line: str, fence: str) -> bool:
    """A fence ends at the same character, at least as often, with nothing after it."""
    mark = line.strip(" \t")
    indent = len(line) - len(line.lstrip(" "))
    return indent <= 3 and len(mark) >= len(fence) and not mark.strip(fence[0])


def _raw_block(line: str) -> re.Pattern[str] | None:
    return next((end for start, end in _RAW if start.match(line)), None)


def _heading_text(rest: str) -> str:
    """`Closed` of ` Closed ##`, `C#` of ` C#`; a link is its text."""
    title = rest.strip(" \t")
    bare = title.rstrip("#")
    if not bare or bare[-1] in " \t":
        title = bare.rstrip(" \t")
    # Site generators end a heading with a link to itself whose text is a zero-width space.
    return _LINK.sub(r"\1", title).strip(" \t\u200b")


def _without_blank_edges(lines: list[str]) -> str:
    """The lines joined; the first line of text keeps its indentation, which may make it code."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip()


def _without_inline_code(block: str) -> str:
    """A run of backticks opens code when a run of the same length follows; an escaped backtick opens none."""
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(block)]
    last_of_length = {end - start: number for number, (start, end) in enumerate(runs)}
    kept: list[str] = []
    position = number = 0
    while number < len(runs):
        start, end = runs[number]
        start += _is_escaped(block, start)
        closing = _closing_run(runs, number, end - start, last_of_length)
        if closing is None:
            number += 1
            continue
        kept.append(block[position:start])
        position = runs[closing][1]
        number = closing + 1
    kept.append(block[position:])
    return "".join(kept)


def _is_escaped(block: str, position: int) -> bool:
    backslashes = 0
    while backslashes < position and block[position - backslashes - 1] == "\\":
        backslashes += 1
    return backslashes % 2 == 1


def _closing_run(runs: list[tuple[int, int]], opening: int, length: int, last_of_length: dict[int, int]) -> int | None:
    if not length or last_of_length.get(length, -1) <= opening:
        return None
    return next(n for n in range(opening + 1, len(runs)) if runs[n][1] - runs[n][0] == length)
