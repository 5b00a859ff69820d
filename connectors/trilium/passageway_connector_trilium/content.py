"""A note's content as sections and links."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from passageway_connector_trilium.notes import is_note_id
from passageway_sdk.web import cut_text, page_of, parse_html

_LEVELS = (2, 3)
# CKEditor names a code block's language after its media type: language-text-x-python, language-application-json.
_MIME_LANGUAGE = re.compile(r"\blanguage-(?:text|application|message)-(?:x-)?([\w+#.]+)[\w+#.-]*")
_NO_LANGUAGE = frozenset(("trilium", "plain"))
_TAB_OF_A_SPLIT = re.compile(r"-.*")


@dataclass(frozen=True, slots=True)
class Content:
    """`sections` as the item record wants them, and the ids of the notes that the text links to."""

    sections: list[dict[str, str | None]]
    links: tuple[str, ...]


def code_content(text: str) -> Content:
    """A code note: cut at blank lines."""
    text = text.replace("\r\n", "\n").replace("\x00", "")
    return Content([{"heading": None, "text": piece} for piece in cut_text(text)], ())


def text_content(html: str, web_url: str) -> Content:
    """A text note. An address below `web_url` is a link to a note too, as one that starts with `#` is."""
    root = parse_html(html)
    included: list[str] = []
    for element in root.iter("code", "pre"):
        if classes := element.get("class"):
            element.set("class", _MIME_LANGUAGE.sub(_plain_language, classes))
    for element in root.iter("section"):
        if "include-note" in (element.get("class") or ""):
            included.append(element.get("data-note-id") or "")
    page = page_of(root, levels=_LEVELS)
    links = [*(linked_note(link, web_url) for link in page.links), *included]
    return Content(page.sections, tuple(dict.fromkeys(link for link in links if is_note_id(link))))


def linked_note(href: str, web_url: str) -> str:
    """The id of the note a link leads to, or an empty string.

    A link inside Trilium is `#root/parent/note`, perhaps with `?viewMode=…` or the `-…` of a tab behind it.
    """
    address, mark, fragment = href.partition("#")
    if not mark or (address and address.rstrip("/") != web_url):
        return ""
    path = unquote(fragment).partition("?")[0].strip("/")
    return _TAB_OF_A_SPLIT.sub("", path.rpartition("/")[2])


def _plain_language(match: re.Match[str]) -> str:
    language = match.group(1)
    return "" if language in _NO_LANGUAGE else f"language-{language}"
