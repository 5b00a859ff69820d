"""A MediaWiki's `api.php` for tests, in the wire format of formatversion 2.

Written from mediawiki.org: API:Query, API:Continue, API:Info, API:Categorymembers, API:Revisions, API:Parsing wikitext,
API:Errors and warnings, Manual:Maxlag parameter, Extension:TextExtracts and Extension:GeoData.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from passageway_sdk.web.testing import Answer, LocalServer, Request

NAMESPACES = {"Talk": 1, "File": 6, "Category": 14, "Kategorie": 14}
INTERWIKI = ("fr", "commons")
INVALID = frozenset("[]{}<>")


@dataclass(frozen=True)
class Page:
    """A page of the wiki. One of namespace 14 is a category's own page."""

    id: int
    title: str
    extract: str = "Some text."
    revision: int = 1
    categories: tuple[str, ...] = ()
    redirect_to: str = ""
    place: tuple[float, float] | None = None
    timestamp: str = "2026-03-01T10:00:00Z"
    html: str = ""

    @property
    def namespace(self) -> int:
        return NAMESPACES.get(self.title.partition(":")[0], 0) if ":" in self.title else 0


@dataclass
class Wiki:
    """Answers requests from its pages; `faults` are answered first, one a request."""

    pages: dict[int, Page] = field(default_factory=dict)
    members_a_reply: int = 500
    has_extracts: bool = True
    faults: deque[Answer | None] = field(default_factory=deque)
    server: LocalServer | None = None

    def add(self, *pages: Page) -> None:
        self.pages |= {page.id: page for page in pages}

    def edit(self, page_id: int, **changes: Any) -> None:
        page = self.pages[page_id]
        self.pages[page_id] = replace(page, revision=page.revision + 1, **changes)

    @property
    def requests(self) -> list[Request]:
        assert self.server is not None
        return self.server.requests

    def answer(self, request: Request) -> Answer:
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            return fault
        if request.path != "/w/api.php" or request.query.get("format") != "json":
            return Answer("<!DOCTYPE html><html><body>Main page</body></html>", content_type="text/html; charset=UTF-8")
        query = request.query
        result = self._parse(query) if query.get("action") == "parse" else self._query(dict(query))
        return reply(result)

    def _parse(self, query: Any) -> dict[str, Any]:
        page = self.pages.get(int(query["pageid"]))
        if page is None:
            return error("nosuchpageid", f"There is no page with ID {query['pageid']}.")
        return {"parse": {"title": page.title, "pageid": page.id, "text": page.html}}

    def _query(self, query: dict[str, str]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        following: dict[str, Any] = {}
        done = set(query.get("continue", "").partition("||")[2].split("|")) if "continue" in query else set()
        try:
            pages, found = self._page_set(query, following)
        except _ApiError as problem:
            return error(*problem.args)
        result |= found
        entries = [self._entry(page, query, done) for page in pages]
        if "extracts" in query.get("prop", "") and self.has_extracts:
            self._extracts(pages, entries, query, following)
        elif "extracts" in query.get("prop", ""):
            result_warning = {"main": {"warnings": 'Unrecognized value for parameter "prop": extracts.'}}
            return self._envelope(result, entries, following) | {"warnings": result_warning}
        return self._envelope(result, entries, following)

    def _envelope(self, result: dict[str, Any], entries: list[Any], following: dict[str, Any]) -> dict[str, Any]:
        if entries:
            result["pages"] = entries
        envelope: dict[str, Any] = {"continue": following} if following else {"batchcomplete": True}
        return envelope | ({"query": result} if result else {})

    def _page_set(
        self, query: dict[str, str], following: dict[str, Any]
    ) -> tuple[list[Page | dict[str, Any]], dict[str, Any]]:
        if "pageids" in query:
            ids = [int(number) for number in query["pageids"].split("|")]
            return [self.pages.get(number) or {"pageid": number, "missing": True} for number in ids], {}
        if "titles" in query:
            return self._titled(query["titles"].split("|"), follow="redirects" in query)
        if query.get("generator") == "categorymembers":
            return self._members(query, following), {}
        if query.get("generator") == "geosearch":
            return self._near(query), {}
        raise _ApiError("badvalue", "Unrecognized value for parameter generator.")

    def _titled(
        self, titles: Iterable[str], follow: bool
    ) -> tuple[list[Page | dict[str, Any]], dict[str, list[dict[str, Any]]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        pages: dict[str, Page | dict[str, Any]] = {}
        by_title = {page.title: page for page in self.pages.values()}
        for asked in titles:
            if asked.partition(":")[0] in INTERWIKI:
                found.setdefault("interwiki", []).append({"title": asked, "iw": asked.partition(":")[0]})
                continue
            if not INVALID.isdisjoint(asked):
                pages[asked] = {"title": asked, "invalidreason": "The title has bad letters.", "invalid": True}
                continue
            title = normal(asked)
            if title != asked:
                found.setdefault("normalized", []).append({"fromencoded": False, "from": asked, "to": title})
            page = by_title.get(title)
            if page and page.redirect_to and follow:
                found.setdefault("redirects", []).append({"from": title, "to": page.redirect_to})
                title, page = page.redirect_to, by_title.get(page.redirect_to)
            pages[title] = page or {"ns": Page(0, title).namespace, "title": title, "missing": True}
        return list(pages.values()), found

    def _members(self, query: dict[str, str], following: dict[str, Any]) -> list[Page | dict[str, Any]]:
        category = query["gcmtitle"]
        if NAMESPACES.get(category.partition(":")[0]) != 14:
            raise _ApiError("invalidcategory", "The category name you entered is not valid.")
        kinds = query["gcmtype"].split("|")
        members = [page for page in self.pages.values() if category in page.categories and _kind(page) in kinds]
        start = int(query.get("gcmcontinue", "page|0").partition("|")[2])
        end = start + min(self.members_a_reply, 500)
        if end < len(members):
            following |= {"gcmcontinue": f"page|{end}", "continue": "gcmcontinue||"}
        return list(members[start:end])

    def _near(self, query: dict[str, str]) -> list[Page | dict[str, Any]]:
        latitude, longitude = map(float, query["ggscoord"].split("|"))
        radius = float(query["ggsradius"])
        if not 10 <= radius <= 10_000:
            raise _ApiError("badinteger", "The value for ggsradius must be between 10 and 10,000.")
        near = [p for p in self.pages.values() if p.place and _distance_m(p.place, (latitude, longitude)) <= radius]
        return list(near[: int(query["ggslimit"])])

    def _entry(self, page: Page | dict[str, Any], query: dict[str, str], done: set[str]) -> dict[str, Any]:
        if isinstance(page, dict):
            return dict(page)
        entry: dict[str, Any] = {"pageid": page.id, "ns": page.namespace, "title": page.title}
        if "info" in query.get("prop", "") and "info" not in done:
            entry |= {"lastrevid": page.revision, "length": len(page.extract), "pagelanguage": "en"}
            entry |= {"redirect": True} if page.redirect_to else {}
            if "url" in query.get("inprop", ""):
                entry["fullurl"] = f"https://wiki.example.org/w/{page.title.replace(' ', '_')}"
        if "revisions" in query.get("prop", "") and "revisions" not in done:
            entry["revisions"] = [{"timestamp": page.timestamp}]
        return entry

    def _extracts(
        self,
        pages: list[Page | dict[str, Any]],
        entries: list[dict[str, Any]],
        query: dict[str, str],
        following: dict[str, Any],
    ) -> None:
        """One whole text a reply, as TextExtracts limits it."""
        existing = [number for number, page in enumerate(pages) if isinstance(page, Page)]
        start = int(query.get("excontinue", 0))
        for number in existing[start : start + 1]:
            page = pages[number]
            assert isinstance(page, Page)
            entries[number]["extract"] = page.extract
        if start + 1 < len(existing):
            following |= {"excontinue": start + 1, "continue": "||info|revisions"}


class _ApiError(Exception):
    pass


def reply(result: Any, **headers: str) -> Answer:
    return Answer(json.dumps(result), headers=headers, content_type="application/json; charset=utf-8")


def error(code: str, info: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "info": info, **more}, "servedby": "mw1"}


def lagging(retry_after: str = "2") -> Answer:
    """What a wiki says with status 200 when its databases lag (Manual:Maxlag parameter)."""
    body = error("maxlag", "Waiting for db9: 6.1 seconds lagged.", host="db9", lag=6.1, type="db")
    return reply(body, **{"Retry-After": retry_after, "MediaWiki-API-Error": "maxlag"})


def normal(title: str) -> str:
    """The title as a wiki writes it."""
    title = title.replace("_", " ").strip()
    prefix, colon, name = title.partition(":")
    if colon and prefix.capitalize() in NAMESPACES:
        return f"{prefix.capitalize()}:{name[:1].upper()}{name[1:]}"
    return title[:1].upper() + title[1:]


def serve(wiki: Wiki) -> tuple[LocalServer, Callable[[], str]]:
    """A server for the wiki, and the address of its `api.php` once it runs."""
    server = LocalServer(wiki.answer)
    wiki.server = server
    return server, lambda: f"{server.url}/w/api.php"


def _kind(page: Page) -> str:
    return {14: "subcat", 6: "file"}.get(page.namespace, "page")


def _distance_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The great-circle distance (the haversine formula) on a sphere of 6,371 km."""
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, point)) for point in (one, other))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6_371_000 * math.asin(math.sqrt(half))
