"""HTML, and XHTML as wikis store it, into a tree of lxml elements; lxml is loaded when the first text is parsed."""

import re
from html import escape, unescape
from html.entities import html5
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_ENTITY = re.compile(r"&(?:#(?P<decimal>[0-9]{1,7});|#[xX](?P<hex>[0-9a-fA-F]{1,6});|(?P<name>[A-Za-z][A-Za-z0-9]*);)?")
_TAG_PREFIX = re.compile(r"</?([A-Za-z_][\w.-]*):")
_ATTRIBUTE_PREFIX = re.compile(r"\s([A-Za-z_][\w.-]*):[\w.-]+\s*=")
_CLOSED_TAG = re.compile(r"<([A-Za-z_][\w.-]*:[\w.-]+)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)/>")
_TAG = re.compile(r"<[^<>]*>")


def parse_html(text: str) -> "_Element":
    """The root of an HTML page or fragment, read as forgivingly as a browser would, without comments.

    A page nested deeper than the parser goes (255 levels) comes back as one element holding its text alone, since the
    parser would drop what follows.
    """
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    cleaned = _CONTROL.sub("", text)
    try:
        # The body tag keeps leading text from getting a paragraph of its own, and an empty text from having no root.
        root = etree.fromstring(f"<html><body>{cleaned}".encode(), parser)
        too_deep = any("depth" in entry.message.lower() for entry in parser.error_log)
    except etree.XMLSyntaxError:
        root, too_deep = None, True
    return _text_alone(cleaned) if root is None or too_deep else root


def parse_xhtml(text: str) -> "_Element":
    """The root over a fragment of XHTML with any prefixes (`<ac:link>`), HTML entities, CDATA and several top elements.

    What is not well-formed is read as HTML. `name_of` and `attribute` read both results alike.
    """
    from lxml import etree

    cleaned = _CONTROL.sub("", text)
    prefixes = {*_TAG_PREFIX.findall(cleaned), *_ATTRIBUTE_PREFIX.findall(cleaned)} - {"xml", "xmlns"}
    declared = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in sorted(prefixes))
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(f"<body{declared}>{_outside_cdata(cleaned)}</body>", parser)
    except (etree.XMLSyntaxError, ValueError):
        return parse_html(_html_spelling(cleaned))


def name_of(element: "_Element") -> str:
    """`p`, or `ac:link` with its prefix; an empty string for what is no element, such as an entity."""
    tag: object = element.tag
    return _with_prefix(tag).lower() if isinstance(tag, str) else ""


def attribute(element: "_Element", name: str) -> str:
    """The attribute's value, named with its prefix (`ri:content-title`), or an empty string."""
    prefix, _, local = name.rpartition(":")
    value = element.get(name)
    if value is None and prefix:
        value = element.get(f"{{{prefix}}}{local}")
    return value or ""


def _with_prefix(tag: str) -> str:
    return tag[1:].replace("}", ":", 1) if tag.startswith("{") else tag


def _text_alone(text: str) -> "_Element":
    from lxml import etree

    root = etree.Element("body")
    root.text = _CONTROL.sub("", unescape(_TAG.sub(" ", text)))
    return root


def _outside_cdata(text: str) -> str:
    """The text with every entity as XML knows it; CDATA sections stay as they are."""
    parts = _CDATA.split(text)
    # split() with one group alternates: text, the inside of a section, text, …
    return "".join(
        f"<![CDATA[{part}]]>" if number % 2 else _ENTITY.sub(_xml_entity, part) for number, part in enumerate(parts)
    )


def _xml_entity(match: re.Match[str]) -> str:
    if match["decimal"] or match["hex"]:
        code = int(match["decimal"] or match["hex"], 10 if match["decimal"] else 16)
        letter = chr(code) if code < 0x110000 else ""
        return "" if not letter or _CONTROL.match(letter) else f"&#{code};"
    name = match["name"]
    if name in ("amp", "lt", "gt", "quot", "apos"):
        return match[0]
    if letters := html5.get(f"{name};"):
        return escape(letters)
    return "&amp;" + match[0][1:]


def _html_spelling(text: str) -> str:
    """CDATA as escaped text, and elements closed in their own tag with an end tag: HTML knows neither."""
    parts = _CDATA.split(text)
    return "".join(
        escape(part) if number % 2 else _CLOSED_TAG.sub(r"<\1\2></\1>", part) for number, part in enumerate(parts)
    )
