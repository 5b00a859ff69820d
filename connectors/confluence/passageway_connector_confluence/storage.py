"""Pages in storage format, Confluence's own XHTML, as sections and the pages they refer to.

The elements are those of confluence.atlassian.com/doc/confluence-storage-format-790796544.html. The tree is changed
into plain HTML in place: macros, layouts and tasks become what a reader sees of them, and what only Confluence
understands is passed over.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from passageway_sdk.web import attribute, name_of, page_of, parse_html, parse_xhtml

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEVELS = (1, 2, 3)
_UNSEEN = frozenset(
    (
        *("ac:adf-attribute", "ac:emoticon", "ac:image", "ac:parameter", "ac:placeholder"),
        *("ac:task-id", "ac:task-status", "ac:task-uuid"),
    )
)
_PLAIN = {
    "ac:adf-content": "div",
    "ac:adf-fallback": "div",
    "ac:layout-cell": "div",
    "ac:layout-section": "div",
    "ac:link-body": "span",
    "ac:plain-text-link-body": "span",
    "ac:rich-text-body": "div",
    "ac:task-list": "ul",
}
"""Elements that only hold others, and what HTML has for them."""
_STYLE_MACROS = frozenset(("css", "javascript", "style"))
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A page that the text refers to: by title, in the same space when `space` is empty, or by an address."""

    title: str = ""
    space: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Storage:
    """`sections` as the item record wants them; `references` each once, in the order of the text."""

    sections: list[dict[str, str | None]]
    references: tuple[Reference, ...]


def read_storage(text: str) -> Storage:
    """What the page says. Text that is no XHTML is read as HTML."""
    root = parse_xhtml(text)
    references = tuple(dict.fromkeys(_references(root)))
    # A list, since the elements change under the iteration.
    for element in list(root.iter()):
        name = name_of(element)
        if change := _CHANGES.get(name):
            change(element)
        elif name in _PLAIN:
            element.tag = _PLAIN[name]
    return Storage(page_of(root, levels=_LEVELS, skip=_is_unseen).sections, references)


def _is_unseen(element: "_Element") -> bool:
    name = name_of(element)
    return name in _UNSEEN or name.startswith("ri:")


def _references(root: "_Element") -> Iterator[Reference]:
    for element in root.iter():
        name = name_of(element)
        if name == "ri:page" and (title := attribute(element, "ri:content-title")):
            yield Reference(title=title, space=attribute(element, "ri:space-key"))
        elif name == "a" and (href := attribute(element, "href").strip()):
            yield Reference(address=href)


def _macro(element: "_Element") -> None:
    """Keep what the macro holds and its title; without a body only a status has something to say."""
    parameters = {attribute(child, "ac:name").lower(): child for child in element if name_of(child) == "ac:parameter"}
    kind = attribute(element, "ac:name").lower()
    title = parameters.get("title")
    bodies = [child for child in element if name_of(child) in ("ac:rich-text-body", "ac:plain-text-body")]
    if kind in _STYLE_MACROS:
        element.tag = "style"
    elif not bodies:
        element.tag = "span"
        if kind == "status" and title is not None:
            title.tag = "span"
    else:
        element.tag = "div"
        if title is not None:
            title.tag = "p"
        for body in bodies:
            if name_of(body) == "ac:plain-text-body":
                _plain_text_body(body, kind, parameters.get("language"))


def _plain_text_body(body: "_Element", kind: str, language: "_Element | None") -> None:
    text = _text_in(body)
    if kind == "html":
        body.tag, body.text = "div", None
        body.append(parse_html(text))
        return
    body.tag = "pre"
    named = _text_in(language).strip().lower() if language is not None else ""
    if _LANGUAGE.fullmatch(named) and named not in ("none", "text"):
        body.set("class", f"language-{named}")


def _link(element: "_Element") -> None:
    """The text of a link, else the title of the page or the name of the file it leads to; a person stays unnamed."""
    element.tag = "span"
    bodies = [child for child in element if name_of(child) in ("ac:link-body", "ac:plain-text-link-body")]
    if any(_text_in(body).strip() for body in bodies):
        return
    for child in element:
        if title := attribute(child, "ri:content-title") or attribute(child, "ri:filename"):
            element.text = title
            return


def _task(element: "_Element") -> None:
    """A list item with a check box, which stands right before the task's first words."""
    element.tag = "li"
    status = next((child for child in element if name_of(child) == "ac:task-status"), None)
    is_done = status is not None and _text_in(status).strip() == "complete"
    for body in element:
        if name_of(body) == "ac:task-body":
            body.tag = "span"
            first = body
            while len(first) and not (first.text or "").strip() and name_of(first[0]) in ("p", "div"):
                first = first[0]
            first.text = ("[x] " if is_done else "[ ] ") + (first.text or "").lstrip()


def _extension(element: "_Element") -> None:
    """What the new editor writes twice: for itself, and as storage format for everybody else."""
    element.tag = "div"
    if any(name_of(child) == "ac:adf-fallback" for child in element):
        for child in element:
            if name_of(child) == "ac:adf-node":
                child.tag = "template"


def _text_in(element: "_Element") -> str:
    return "".join(str(text) for text in element.itertext())


def _time(element: "_Element") -> None:
    """A date is an element without text."""
    if not _text_in(element).strip():
        element.text = attribute(element, "datetime")


_CHANGES: dict[str, Callable[["_Element"], None]] = {
    "ac:adf-extension": _extension,
    "ac:link": _link,
    "ac:macro": _macro,
    "ac:structured-macro": _macro,
    "ac:task": _task,
    "time": _time,
}
