"""A tree of HTML elements into the sections of an item: headings with their trail, and text a model can read."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from passageway_sdk.markdown import TRAIL
from passageway_sdk.web.cut import MAX_SECTION_TOKENS, cut_sections
from passageway_sdk.web.parse import name_of
from passageway_sdk.web.table import Cell, table_text

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "main", "nav"),
        *("optgroup", "p", "section", "summary", "tbody", "tfoot", "thead"),
    )
)
_BOXES = frozenset(("pre", "code", "ul", "ol", "menu", "li", "table", "tr", "td", "th", *_HEADINGS))
_UNSEEN = frozenset(
    (
        *("audio", "button", "canvas", "embed", "frame", "frameset", "head", "iframe", "link", "map", "math", "meta"),
        *("noscript", "object", "option", "script", "select", "style", "svg", "template", "textarea", "title", "video"),
    )
)
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang)-([\w+#.-]+)")
_MAX_SPAN = 100


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says: sections as the item record wants them, and its links' addresses, each once, in order."""

    sections: list[dict[str, str | None]]
    links: tuple[str, ...]


@dataclass(slots=True)
class _Box:
    """An element under way that gives its text a form: the page itself, a list, an item, a cell, a piece of code."""

    name: str
    element: "_Element"
    inline: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    """Of a row."""
    rows: list[list[Cell]] = field(default_factory=list)
    """Of a table."""
    number: int = 0
    """Of an ordered list: the last item's."""


def page_of(
    root: "_Element",
    levels: Collection[int] = (1, 2, 3, 4, 5, 6),
    *,
    skip: Callable[["_Element"], bool] = lambda element: False,
    max_tokens: int = MAX_SECTION_TOKENS,
) -> Page:
    """The sections and links below `root`, without the elements that `skip` says yes to.

    A heading of one of the `levels` starts a section unless it is in a list or a table; another heading is a line of
    text. Lists keep their markers, tables are rows between bars, code is fenced, and sections are cut at `max_tokens`.
    """
    writer = _Writer(root, frozenset(levels))
    for kind, element, text in _events(root, skip):
        if kind == "open":
            writer.open(element)
        elif kind == "close":
            writer.close(element)
        else:
            writer.text(text)
    return Page(cut_sections(writer.sections(), max_tokens), tuple(writer.links))


def _events(root: "_Element", skip: Callable[["_Element"], bool]) -> Iterator[tuple[str, "_Element", str]]:
    """What a reader meets, in order. A stack, not recursion: documents nest deeper than Python likes to."""
    stack: list[tuple[str, _Element]] = [("open", root)]
    while stack:
        kind, element = stack.pop()
        if kind == "open":
            if element is root or _is_seen(element, skip):
                yield "open", element, ""
                if element.text:
                    yield "text", element, element.text
                stack.append(("close", element))
                stack += [("open", child) for child in reversed(element)]
                continue
        else:
            yield "close", element, ""
        if element is not root and element.tail:
            yield "text", element, element.tail


def _is_seen(element: "_Element", skip: Callable[["_Element"], bool]) -> bool:
    name = name_of(element)
    style = (element.get("style") or "").replace(" ", "").lower()
    hidden = element.get("hidden") is not None or "display:none" in style
    return bool(name) and name not in _UNSEEN and not hidden and not skip(element)


class _Writer:
    """Turns the events of a page into sections."""

    def __init__(self, root: "_Element", levels: frozenset[int]) -> None:
        self.links: dict[str, None] = {}
        self._levels = levels
        self._boxes = [_Box("page", root)]
        self._sections: list[dict[str, str | None]] = []
        self._trail: list[tuple[int, str]] = []

    def sections(self) -> list[dict[str, str | None]]:
        """Those met so far, the last one ended."""
        self._end_section()
        return self._sections

    def open(self, element: "_Element") -> None:
        """The element starts."""
        name = name_of(element)
        if name == "a" and (href := (element.get("href") or "").strip()):
            self.links[href] = None
        if name == "br":
            self._box.inline.append("\n")
        elif name == "input" and (element.get("type") or "").lower() == "checkbox":
            self._box.inline.append("[x] " if element.get("checked") is not None else "[ ] ")
        elif self._is_box(name):
            self._open_box(name, element)
        elif name in _BLOCKS:
            _flush(self._box)

    def close(self, element: "_Element") -> None:
        """The element ends."""
        box = self._box
        if box.element is element and box.name != "page":
            self._boxes.pop()
            self._take(box)
        elif name_of(element) in _BLOCKS:
            _flush(box)

    def text(self, text: str) -> None:
        """Text between two tags."""
        visible = _INVISIBLE.sub("", text)
        self._box.inline.append(visible if self._in_code() else _SPACE.sub(" ", visible))

    @property
    def _box(self) -> _Box:
        return self._boxes[-1]

    def _in_code(self) -> bool:
        return self._box.name == "pre"

    def _is_box(self, name: str) -> bool:
        return name in _BOXES and not self._in_code()

    def _open_box(self, name: str, element: "_Element") -> None:
        if name != "code":
            _flush(self._box)
        box = _Box(name, element)
        if name == "ol" and (element.get("start") or "").isdecimal():
            box.number = int(element.get("start", "1")[:9]) - 1
        self._boxes.append(box)

    def _take(self, box: _Box) -> None:
        """Put what the closed box holds into the one around it."""
        if box.name == "code":
            self._take_code(box)
        elif box.name in _HEADINGS:
            self._take_heading(box)
        elif box.name in ("td", "th"):
            self._take_cell(box)
        elif box.name == "tr":
            self._take_row(box)
        else:
            self._take_block(box)

    def _take_heading(self, box: _Box) -> None:
        _flush(box)
        title = " ".join(" ".join(box.blocks).split())
        level = _HEADINGS[box.name]
        if level not in self._levels or len(self._boxes) > 1:
            self._box.blocks += [title] if title else []
            return
        self._end_section()
        while self._trail and self._trail[-1][0] >= level:
            self._trail.pop()
        self._trail.append((level, title))

    def _take_code(self, box: _Box) -> None:
        """Code within a line, unless a page has put blocks into it."""
        _flush(box)
        if len(box.blocks) == 1 and "\n" not in box.blocks[0]:
            self._box.inline.append(f"`{box.blocks[0]}`")
        elif box.blocks:
            _flush(self._box)
            self._box.blocks += box.blocks

    def _take_cell(self, box: _Box) -> None:
        _flush(box)
        if self._box.name == "tr":
            cell = Cell(tuple(box.blocks), _span(box.element, "colspan"), _span(box.element, "rowspan"))
            self._box.cells.append(cell)
        else:
            self._box.blocks += box.blocks

    def _take_row(self, box: _Box) -> None:
        _flush(box)
        if self._box.name == "table":
            self._box.rows.append(box.cells)
        else:
            self._box.blocks += [block for cell in box.cells for block in cell.blocks]
        self._box.blocks += box.blocks

    def _take_block(self, box: _Box) -> None:
        """Code, a list, an item of it, or a table, as one block."""
        outer = self._box
        if box.name == "pre":
            outer.blocks += _code_blocks(box)
            return
        _flush(box)
        if box.name == "li":
            outer.blocks += _item_blocks(box, outer)
        elif box.name == "table":
            # What is in no cell is the caption. One cell alone is a frame around something, not a table.
            cells = [cell for row in box.rows for cell in row]
            outer.blocks += box.blocks
            outer.blocks += cells[0].blocks if len(cells) == 1 else filter(None, [table_text(box.rows)])
        else:
            outer.blocks += ["\n".join(box.blocks)] if box.blocks else []

    def _end_section(self) -> None:
        box = self._boxes[0]
        _flush(box)
        if box.blocks:
            heading = TRAIL.join(title for _, title in self._trail if title)
            self._sections.append({"heading": heading or None, "text": "\n\n".join(box.blocks)})
        box.blocks.clear()


def _flush(box: _Box) -> None:
    """End the paragraph under way."""
    if paragraph := _line("".join(box.inline)):
        box.blocks.append(paragraph)
    box.inline.clear()


def _line(text: str) -> str:
    """The text with single blanks, and line breaks only where the page has them."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(lines).strip()


def _code_blocks(box: _Box) -> list[str]:
    """The code between fences that are longer than any run of backticks in it."""
    code = "".join(box.inline).replace("\r\n", "\n").replace("\u00a0", " ").strip("\n").rstrip()
    if not code.strip():
        return []
    classes = [box.element.get("class") or "", *(child.get("class") or "" for child in box.element)]
    language = next((match[1] for match in map(_LANGUAGE.search, classes) if match), "")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", code)), 0)
    return [f"{fence}{language}\n{code}\n{fence}"]


def _item_blocks(box: _Box, outer: _Box) -> list[str]:
    if outer.name == "ol":
        outer.number += 1
    if not box.blocks:
        return []
    marker = f"{outer.number}. " if outer.name == "ol" else "- "
    first, *more = "\n".join(box.blocks).split("\n")
    indent = " " * len(marker)
    return ["\n".join([marker + first, *(f"{indent}{line}" if line else "" for line in more)])]


def _span(element: "_Element", name: str) -> int:
    text = (element.get(name) or "").strip()
    return min(max(int(text), 1), _MAX_SPAN) if text.isascii() and text.isdigit() and len(text) < 7 else 1
