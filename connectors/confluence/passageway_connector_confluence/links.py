"""References in a text into ids of pages."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, unquote_plus, urlsplit

from passageway_connector_confluence.pages import Page, is_page_id
from passageway_connector_confluence.storage import Reference

# /spaces/OPS/pages/123/Title, in Cloud and newer Data Centers
_BY_ID = re.compile(r"/spaces/[^/]+/pages/(\d+)(?:/|$)")
# /display/OPS/Some+Title
_BY_TITLE = re.compile(r"/display/([^/]+)/([^/]+)$")


@dataclass(frozen=True, slots=True)
class Title:
    """A page named by its title, which is unique in its space whatever the case of its letters."""

    space: str
    title: str

    @property
    def key(self) -> tuple[str, str]:
        """The same for each spelling of the same page."""
        return self.space.casefold(), self.title.casefold()


Target = Title | str
"""A title to be looked up, or an id."""


def targets(page: Page, references: Iterable[Reference], site_urls: Iterable[str]) -> list[Target]:
    """What the references of a page lead to, other sites left out. `site_urls` are the addresses of this one."""
    sites = {(site.netloc, site.path.rstrip("/")) for site in map(urlsplit, site_urls)}
    found = (_target(page, reference, sites) for reference in references)
    return [target for target in found if target]


def _target(page: Page, reference: Reference, sites: set[tuple[str, str]]) -> Target | None:
    if reference.title:
        return Title(reference.space or page.space, reference.title)
    try:
        address = urlsplit(reference.address)
    except ValueError:
        return None
    for netloc, context in sites:
        if address.scheme not in ("", "http", "https") or (address.netloc and address.netloc != netloc):
            continue
        path = address.path.removeprefix(context) if address.path.startswith(f"{context}/") else address.path
        if path.startswith("/") and (target := _in_site(path, address.query)):
            return target
    return None


def _in_site(path: str, query: str) -> Target | None:
    if path.endswith("/viewpage.action"):
        page_id = parse_qs(query).get("pageId", [""])[0]
        return page_id if is_page_id(page_id) else None
    if by_id := _BY_ID.search(path):
        return by_id[1] if is_page_id(by_id[1]) else None
    if by_title := _BY_TITLE.search(path):
        return Title(unquote(by_title[1]), unquote_plus(by_title[2]))
    return None


def titles_to_find(
    wanted: Iterable[Target], known: Iterable[tuple[str, str]], spaces: Iterable[str]
) -> Iterator[tuple[str, set[str]]]:
    """(space, titles) that are not known yet; only indexed spaces are asked, since no other page is an item."""
    asked: dict[tuple[str, str], Title] = {target.key: target for target in wanted if isinstance(target, Title)}
    for key in known:
        asked.pop(key, None)
    for space in spaces:
        titles = {title.title for title in asked.values() if title.space.casefold() == space.casefold()}
        if titles:
            yield space, titles


def resolved(page: Page, wanted: Iterable[Target], known: dict[tuple[str, str], str]) -> list[str]:
    """The ids of the targets that are known, each once and never the page's own."""
    ids = (known.get(target.key) if isinstance(target, Title) else target for target in wanted)
    return [found for found in dict.fromkeys(ids) if found and found != page.id]
