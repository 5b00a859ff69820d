"""A markdown document as a title, sections and the targets of its links."""

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass

from markdown_it.token import Token

from passageway_connector_markdown.hidden import (
    may_hide,
    without_embedded_files,
    without_hidden,
    without_html_comments,
    without_percent_comment,
)
from passageway_connector_markdown.links import Target, candidates, wiki_target
from passageway_connector_markdown.parser import Environment, parse_blocks, parse_inline, plain_text
from passageway_sdk.markdown import TRAIL

MAX_HEADING_CHARACTERS = 200
"""A longer heading is cut in the trail and repeated in full in its section: it is a paragraph above a rule (`---`)."""

MAX_INLINE_CHARACTERS = 50_000
"""A longer block is not searched for links exactly: nested brackets cost the parser quadratic time, 0.2 s here."""

_ANCHOR = re.compile(r"\s*\{:?\s*[#.][\w:.-]+(?:\s+[^{}]*)?\}$")
_DRAWING = re.compile(r"^#{1,6} Drawing[ \t]*$", re.MULTILINE)
_DRAWING_FORM = re.compile(r"^(?:==⚠.*==.*|%%|#{1,6} (?:Excalidraw Data|Text Elements))[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """The source text under one heading. `heading` is the trail of its parents, None without any."""

    heading: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """`first_heading` is the first of level 1. It stands in no trail when it is the title."""

    first_heading: str | None
    sections: tuple[Section, ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title: str
    start: int
    end: int
    """Its lines are `start` to before `end`; two for the underlined form."""
    is_long: bool


def read_document(
    text: str, allowed: Set[Target], *, title: str | None = None, is_mdx: bool = False, is_drawing: bool = False
) -> Document:
    """The document in `text`, which holds no front matter; of its links the targets that are `allowed`.

    The first heading of level 1 is left out of the trails when it is the title: when `title` is None or says the same.
    """
    if is_drawing:
        text = _words_of_drawing(text)
    tokens, environment = parse_blocks(text)
    lines: list[str | None] = list(text.split("\n"))
    if is_mdx or may_hide(text):
        _remove_hidden(tokens, lines, is_mdx)
    headings = list(_headings(tokens, environment, is_mdx))
    first = next((heading for heading in headings if heading.level == 1 and heading.title), None)
    is_title = first is not None and (title is None or _same(title, first.title))
    return Document(
        first_heading=first.title if first else None,
        sections=tuple(_sections(lines, headings, first if is_title else None)),
        targets=tuple(target for target in _targets(tokens, environment, is_mdx) if target in allowed),
    )


def _words_of_drawing(text: str) -> str:
    """What an Excalidraw file holds for people: the text before its compressed data, without the plugin's own lines."""
    drawing = _DRAWING.search(text)
    return _DRAWING_FORM.sub("", text[: drawing.start()] if drawing else text)


def _headings(tokens: list[Token], environment: Environment, is_mdx: bool) -> Iterator[_Heading]:
    """Those that are not inside a list or a quotation, in order."""
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open" and token.level == 0 and token.map:
            content = without_hidden(inline.content, is_mdx=is_mdx)
            # Ten times the length leaves room for addresses, and keeps a paragraph of a megabyte away from the parser.
            source = content[: 10 * MAX_HEADING_CHARACTERS]
            title = _ANCHOR.sub("", plain_text(parse_inline(source, environment)))
            is_long = len(title) > MAX_HEADING_CHARACTERS or source != content
            if is_long:
                title = title[:MAX_HEADING_CHARACTERS].rstrip() + "…"
            yield _Heading(int(token.tag[1]), title, token.map[0], token.map[1], is_long)


def _same(title: str, heading: str) -> bool:
    """Whether the two read the same: case, spaces and markup aside."""
    words = [re.sub(r"[\s`*_]+", "", unicodedata.normalize("NFC", text)).casefold() for text in (title, heading)]
    return words[0] == words[1]


def _sections(lines: list[str | None], headings: list[_Heading], title: _Heading | None) -> Iterator[Section]:
    """One for the text before the first heading and one a heading.

    A heading with nothing below it, not even a deeper one, has its own words as its text, so that it can be found.
    """
    starts = [heading.start for heading in headings] + [len(lines)]
    if intro := _joined(lines[: starts[0]]):
        yield Section(None, intro)
    trail: list[_Heading] = []
    for number, (heading, end) in enumerate(zip(headings, starts[1:], strict=True)):
        while trail and trail[-1].level >= heading.level:
            trail.pop()
        trail.append(heading)
        text = _joined(lines[heading.start if heading.is_long else heading.end : end])
        is_parent = number + 1 < len(headings) and headings[number + 1].level > heading.level
        if not text and heading is not title and not is_parent:
            text = heading.title
        if text:
            yield Section(TRAIL.join(part.title for part in trail if part is not title and part.title) or None, text)


def _joined(lines: list[str | None]) -> str:
    """The lines that are still there, without blank ones at either end; indentation may be code, so it stays."""
    kept = [line for line in lines if line is not None]
    first = next((number for number, line in enumerate(kept) if line.strip()), len(kept))
    return "\n".join(kept[first:]).rstrip()


def _remove_hidden(tokens: list[Token], lines: list[str | None], is_mdx: bool) -> None:
    """Take comments, embedded files and, in MDX, imports and exports out of the lines. Code stays as it is."""
    code: set[int] = set()
    for token in tokens:
        if token.map is None:
            continue
        start, end = token.map
        if token.type in {"fence", "code_block"}:
            code.update(range(start, end))
            continue
        before = "\n".join(line for line in lines[start:end] if line is not None)
        if token.type == "percent_comment":
            after = without_percent_comment(before)
        elif token.type == "html_block":
            after = without_html_comments(before)
        elif token.type == "inline":
            is_module = is_mdx and token.level == 1 and before.startswith(("import ", "export "))
            after = "" if is_module else without_hidden(before, is_mdx=is_mdx)
        else:
            continue
        if after != before:
            lines[start:end] = [after if after.strip() else None] + [None] * (end - start - 1)
    # Definitions (`[image1]: <data:…>`, as word processors export pictures) have no token.
    for number, line in enumerate(lines):
        if line is not None and number not in code:
            lines[number] = without_embedded_files(line)


def _targets(tokens: list[Token], environment: Environment, is_mdx: bool) -> Iterator[Target]:
    """What the document's links name, in order. Code, comments and images hold none; an embedded note counts."""
    for token in tokens:
        if token.type != "inline" or "[" not in token.content:
            continue
        content = without_hidden(token.content, is_mdx=is_mdx)
        if len(content) > MAX_INLINE_CHARACTERS:
            yield from sorted(candidates(content))
            continue
        for inline in parse_inline(content, environment):
            if inline.type == "wiki_link":
                yield wiki_target(inline.content)
            elif inline.type == "link_open":
                yield Target(False, str(inline.attrs.get("href", "")))
