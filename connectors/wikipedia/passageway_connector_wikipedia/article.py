"""The text of an article into the sections of its item."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from passageway_connector_wikipedia.formulas import with_plain_formulas
from passageway_sdk.markdown import TRAIL
from passageway_sdk.web import cut_sections, page_of, parse_html

if TYPE_CHECKING:
    from lxml.etree import _Element

LEVELS = (2, 3, 4, 5, 6)
"""An article's own title is its only heading of level 1."""

Sections = list[dict[str, str | None]]

_HEADING = re.compile(r"(={2,6})(?!=)\s*(\S.*?)\s*\1\s*")
# Parts of a rendered page that are not the article's text (en.wikipedia.org/wiki/Template:Navbox and its like).
_FURNITURE = frozenset(
    (
        *("mw-editsection", "reference", "references", "reflist", "navbox", "noprint", "toc", "metadata", "sidebar"),
        *("mw-empty-elt", "mw-cite-backlink", "hatnote", "catlinks", "error", "noexcerpt", "sistersitebox"),
    )
)
_FORMULA = "mwe-math-element"


def sections_of_extract(extract: str, skipped: Collection[str]) -> Sections:
    """The sections of a plain text extract, whose headings are of the form `== History ==`."""
    sections: Sections = []
    trail: list[tuple[int, str]] = []
    body: list[str] = []

    def end_section() -> None:
        if text := with_plain_formulas("\n".join(body)).strip():
            sections.append({"heading": TRAIL.join(title for _, title in trail) or None, "text": text})
        body.clear()

    for line in extract.replace("\r\n", "\n").split("\n"):
        heading = _HEADING.fullmatch(line)
        if not heading:
            body.append(line)
            continue
        end_section()
        level = len(heading[1])
        while trail and trail[-1][0] >= level:
            trail.pop()
        trail.append((level, heading[2]))
    end_section()
    return cut_sections(_kept(sections, skipped))


def sections_of_html(html: str, skipped: Collection[str]) -> Sections:
    """The sections of a rendered page."""
    root = parse_html(html)
    for element in root.iter("span", "div"):
        if _FORMULA in _classes(element):
            _write_formula(element)
    return _kept(page_of(root, LEVELS, skip=_is_furniture).sections, skipped)


def _kept(sections: Sections, skipped: Collection[str]) -> Sections:
    """The sections whose heading, and every heading above it, is not to be skipped."""
    return [
        section
        for section in sections
        if not any(title.strip().casefold() in skipped for title in (section["heading"] or "").split(TRAIL))
    ]


def _classes(element: "_Element") -> Collection[str]:
    return (element.get("class") or "").split()


def _is_furniture(element: "_Element") -> bool:
    return not _FURNITURE.isdisjoint(_classes(element))


def _write_formula(element: "_Element") -> None:
    """Put the TeX source, which is the text of the formula's picture, in the place of the formula."""
    source = next((image.get("alt") or "" for image in element.iter("img")), "")
    for child in list(element):
        element.remove(child)
    element.text = f" {with_plain_formulas(source)} "
