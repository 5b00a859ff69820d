"""What the REST API says about a page, its body aside.

The fields are those of `Content` in the REST documentation, expanded by `EXPAND`
(docs.atlassian.com/ConfluenceServer/rest, developer.atlassian.com/cloud/confluence/rest/v1).
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from passageway_sdk import SourceError

EXPAND = "space,version,ancestors,metadata.labels"
EXPAND_BODY = f"body.storage,{EXPAND}"
MAX_PATH = 4
"""Ancestors that a record's path has, the nearest ones."""
_RECORD_FORM = 1
"""Part of each version. Raise it when records of unchanged pages come out differently."""
_OWN_PREFIX = "my"
"""Of labels that only their owner sees, such as favourites."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as one answer has it. `labels` are sorted; `ancestors` are the titles from the top down."""

    id: str
    title: str
    is_current: bool
    """Whether it is a page, and neither in the trash nor a draft."""
    space: str
    number: int
    modified: datetime | None
    labels: tuple[str, ...]
    ancestors: tuple[str, ...]
    site_url: str
    """What the site calls itself; links lead there."""
    web_path: str
    body: str
    """In storage format; empty when it was not asked for."""

    @property
    def url(self) -> str:
        """Where a reader finds it."""
        return self.site_url + self.web_path

    @property
    def path(self) -> tuple[str, ...]:
        """The nearest ancestors, nearest last."""
        return self.ancestors[-MAX_PATH:]

    @property
    def all_labels(self) -> list[str]:
        """The space and the page's own labels."""
        return [f"space:{self.space}", *self.labels]

    @property
    def version(self) -> str:
        """Changes with each version of the page, and with what else its record has in it."""
        parts = [_RECORD_FORM, self.title, self.url, self.path, self.all_labels, _utc(self.modified)]
        return f"{self.number}-{hashlib.sha256(json.dumps(parts).encode('utf-8')).hexdigest()[:12]}"


def record(page: Page, sections: list[dict[str, str | None]], links: list[str]) -> dict[str, Any]:
    """The item as the protocol wants it. Every page weighs the same."""
    message: dict[str, Any] = {
        "id": page.id,
        "title": page.title,
        "url": page.url,
        "version": page.version,
        "sections": sections,
        "weight": 1.0,
        "path": list(page.path),
        "links": links,
        "labels": page.all_labels,
    }
    return message if page.modified is None else message | {"updated": _utc(page.modified)}


def parse_page(message: Any, base_url: str) -> Page:
    """The page in an answer; `base_url` stands in front of its link when it names no other address.

    Raises SourceError naming what is missing.
    """
    page_id = _id(message)
    owner = f"page {page_id}"
    space = _text(_object(message, "space", owner).get("key"), "space.key", owner)
    version = _object(message, "version", owner)
    number = version.get("number")
    if not isinstance(number, int) or isinstance(number, bool):
        raise _unexpected("version.number", owner)
    links = _optional(message, "_links")
    return Page(
        id=page_id,
        title=" ".join(_text(message.get("title"), "title", owner, empty=True).split()) or page_id,
        is_current=message.get("type") == "page" and message.get("status", "current") == "current",
        space=space,
        number=number,
        modified=_time(version.get("when")),
        labels=_labels(message),
        ancestors=_ancestors(message, owner),
        site_url=site_address(links.get("base"), base_url),
        web_path=_string(links.get("webui"), f"/pages/viewpage.action?pageId={page_id}"),
        body=_string(_optional(_optional(message, "body"), "storage").get("value"), ""),
    )


def _id(message: Any) -> str:
    page_id = message.get("id") if isinstance(message, dict) else None
    page_id = str(page_id) if isinstance(page_id, int) and not isinstance(page_id, bool) else page_id
    if not isinstance(page_id, str) or not is_page_id(page_id):
        raise _unexpected("id", "a page")
    return page_id


def is_page_id(text: str) -> bool:
    """Whether Confluence could have a page of this id: a number."""
    return text.isascii() and text.isdigit() and len(text) < 20


def _labels(message: Any) -> tuple[str, ...]:
    results = _optional(_optional(message, "metadata"), "labels").get("results")
    found = {
        label["name"]
        for label in (results if isinstance(results, list) else [])
        if isinstance(label, dict) and isinstance(label.get("name"), str) and label.get("prefix") != _OWN_PREFIX
    }
    return tuple(sorted(found - {""}))


def _ancestors(message: Any, owner: str) -> tuple[str, ...]:
    ancestors = message.get("ancestors")
    if not isinstance(ancestors, list | None):
        raise _unexpected("ancestors", owner)
    titles = (" ".join(_string(_entry(ancestor).get("title"), "").split()) for ancestor in ancestors or [])
    return tuple(title for title in titles if title)


def site_address(base: Any, otherwise: str) -> str:
    """The address that an answer gives as the site's own, without `/` at its end; `otherwise` where it gives none."""
    try:
        is_web_address = isinstance(base, str) and urlsplit(base).scheme in ("https", "http")
    except ValueError:
        is_web_address = False
    return (base if is_web_address else otherwise).rstrip("/")


def _time(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _utc(instant: datetime | None) -> str | None:
    return None if instant is None else instant.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _entry(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _optional(message: Any, key: str) -> dict[str, Any]:
    return _entry(_entry(message).get(key))


def _string(value: Any, default: str) -> str:
    return value if isinstance(value, str) else default


def _object(message: dict[str, Any], key: str, owner: str) -> dict[str, Any]:
    value = message.get(key)
    if not isinstance(value, dict):
        raise _unexpected(key, owner)
    return value


def _text(value: Any, key: str, owner: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise _unexpected(key, owner)
    return value


def _unexpected(key: str, owner: str) -> SourceError:
    return SourceError(f"Confluence's answer has no usable {key!r} of {owner}: is URL the address of the site?")
