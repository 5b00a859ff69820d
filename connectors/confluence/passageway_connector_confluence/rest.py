"""Confluence's REST API, with GET requests alone: lists of pages part by part, searches in CQL, single pages.

Data Center and Cloud answer in the same form. On Data Center pages are listed and read by `/rest/api/content`. Cloud
has taken that away in favour of another API (developer.atlassian.com/cloud/confluence/changelog, CHANGE-864) and keeps
`/rest/api/content/search`, which here does both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from passageway_connector_confluence.pages import EXPAND, EXPAND_BODY, Page, parse_page, site_address
from passageway_connector_confluence.settings import Settings
from passageway_sdk import SourceError
from passageway_sdk.web import Client

USER_AGENT = "passageway-connector-confluence/0.1.0"
PART_SIZE = 100
"""Pages asked for in one part; the site may send fewer."""
ZONES = timedelta(hours=14)
"""CQL reads a time in the server's zone, or in the user's; the furthest east is UTC+14."""
PART_WITH_BODIES = 25
"""Pages with their text; 25 of the largest still fit into one answer."""
IDS_A_SEARCH = 50
TITLES_A_SEARCH_BYTES = 3000
"""Of titles in one address, encoded; proxies refuse addresses from about 8,000 on."""
_MAX_EMPTY_PARTS = 100
"""In a row: pages the token may not see leave gaps, but a list that never fills up never ends either."""


class Rest:
    """One site. Use it in a `with` block of its client."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._url = settings.url
        self._content = f"{settings.url}/rest/api/content"

    def pages_of(self, space: str) -> Iterator[Page]:
        """The current pages of a space, without their bodies."""
        if self._settings.is_cloud:
            yield from self.search(f"space = {quoted(space)} and type = page order by created asc")
            return
        parameters: dict[str, str | int] = {"type": "page", "status": "current", "spaceKey": space}
        parameters |= {"expand": EXPAND, "limit": PART_SIZE}
        yield from self._parts(self._content, parameters, missing=f", space {space!r} is not there for this token")

    def changed_since(self, since: datetime) -> Iterator[Page]:
        """The pages of the spaces modified since then, in whatever zone the site reads the time, without bodies."""
        early = max(since, datetime(1970, 1, 2, tzinfo=UTC)).astimezone(UTC) - ZONES
        spaces = ", ".join(quoted(space) for space in self._settings.spaces)
        yield from self.search(f'space in ({spaces}) and type = page and lastmodified >= "{early:%Y-%m-%d %H:%M}"')

    def pages_titled(self, space: str, titles: Iterable[str]) -> Iterator[Page]:
        """The pages of a space that have one of the titles, without bodies."""
        for part in _fitting(sorted(map(quoted, titles))):
            names = ", ".join(part)
            yield from self.search(f"space = {quoted(space)} and type = page and title in ({names})")

    def pages(self, ids: Sequence[str]) -> Iterator[Page]:
        """Those of the pages that exist for this token, with their bodies."""
        if self._settings.is_cloud:
            for start in range(0, len(ids), IDS_A_SEARCH):
                cql = f"id in ({', '.join(ids[start : start + IDS_A_SEARCH])}) and type = page"
                yield from self.search(cql, EXPAND_BODY, PART_WITH_BODIES)
            return
        for page_id in ids:
            reply = self._client.get(
                f"{self._content}/{page_id}",
                {"expand": EXPAND_BODY},
                headers={"Accept": "application/json"},
                accepted=(404,),
            )
            if reply.status == 404 and reply.is_html:
                # Of the server around Confluence, while that is starting; its own answer is JSON.
                raise SourceError(reply.page_problem("a page of the wiki"))
            if reply.status != 404:
                yield parse_page(reply.json(), self._url)

    def search(self, cql: str, expand: str = EXPAND, limit: int = PART_SIZE) -> Iterator[Page]:
        """What a search finds, part by part."""
        yield from self._parts(f"{self._content}/search", {"cql": cql, "expand": expand, "limit": limit})

    def _parts(self, url: str, parameters: Mapping[str, str | int], missing: str = "") -> Iterator[Page]:
        """The pages of all parts: there is another one as long as the answer names its address, whatever its size."""
        address = f"{url}?{urlencode(parameters)}"
        seen: set[str] = set()
        empty_parts = 0
        while address:
            if address in seen or empty_parts > _MAX_EMPTY_PARTS:
                raise SourceError(f"{self._client.shown(address)}: the parts of this list lead round in a circle")
            seen.add(address)
            reply = self._client.get(address, headers={"Accept": "application/json"}, accepted=(404,))
            if reply.status == 404:
                raise SourceError(f"{reply.shown_url}: HTTP 404{missing}; check URL and SPACES")
            answer = reply.json()
            pages = self._pages_in(answer, reply.shown_url)
            yield from pages
            empty_parts = 0 if pages else empty_parts + 1
            address = self._next(answer, reply.shown_url)

    def _pages_in(self, answer: Any, shown_url: str) -> list[Page]:
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise SourceError(f"{shown_url}: no list of pages came; is URL the address of the Confluence site?")
        site_url = site_address(_entry(answer.get("_links")).get("base"), self._url)
        return [parse_page(entry, site_url) for entry in results]

    def _next(self, answer: dict[str, Any], shown_url: str) -> str:
        """The address of the next part, or an empty string.

        Confluence writes it from the context path on or with it, and perhaps with the name that readers know the site
        by. Path and query are put behind the configured address, so the token goes nowhere else.
        """
        links = _entry(answer.get("_links"))
        following = links.get("next")
        if not isinstance(following, str) or not following:
            return ""
        try:
            target = urlsplit(urljoin(f"{self._url}/", following))
        except ValueError:
            raise SourceError(f"{shown_url}: the next part of the list has no readable address") from None
        query = f"?{target.query}" if target.query else ""
        context = links.get("context")
        for prefix in (urlsplit(self._url).path, context if isinstance(context, str) else ""):
            start = f"/{prefix.strip('/')}/"
            if start != "//" and target.path.startswith(start):
                return f"{self._url}/{target.path[len(start) :]}{query}"
        return f"{self._url}{target.path}{query}"


def _entry(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def quoted(text: str) -> str:
    """The text as a CQL string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _fitting(values: Iterable[str]) -> Iterator[list[str]]:
    """The values in parts whose encoded length an address has room for."""
    part: list[str] = []
    size_bytes = 0
    for value in values:
        cost_bytes = len(quote(value)) + 6
        if part and size_bytes + cost_bytes > TITLES_A_SEARCH_BYTES:
            yield part
            part, size_bytes = [], 0
        part.append(value)
        size_bytes += cost_bytes
    if part:
        yield part
