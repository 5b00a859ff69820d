"""Which pages the settings mean, and which revision each of them is at."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote_plus

from passageway_connector_wikipedia.api import Api, JsonObject, pages_of
from passageway_connector_wikipedia.settings import Place, Settings
from passageway_sdk import SettingsError, SourceError

ARTICLES, CATEGORIES = 0, 14
"""Namespaces (mediawiki.org/wiki/Manual:Namespace)."""

TITLES_A_REQUEST = 50
"""What the API takes from those without an account (API:Query)."""
TITLE_BYTES_A_REQUEST = 4000
"""Encoded; web servers commonly refuse addresses over 8 kB."""
PLACES_A_REQUEST = 500
"""The most that geosearch lists; it cannot be continued."""


class Scope:
    """Collects the pages that CATEGORIES, TITLES and GEO name, each once."""

    def __init__(self, api: Api, settings: Settings, warn: Callable[[str], object]) -> None:
        self._api = api
        self._settings = settings
        self._warn = warn
        self._revisions: dict[int, int] = {}

    def revisions(self) -> dict[int, int]:
        """The revision of every page, by page id.

        Raises SettingsError when there are more than MAX_PAGES, SourceError when there is none at all: an empty listing
        would take every page out of the index.
        """
        self._add_titles(self._settings.titles)
        self._add_categories(self._settings.categories)
        if self._settings.place:
            self._add_place(self._settings.place)
        if not self._revisions:
            raise SourceError("no page found: check the names in CATEGORIES and TITLES, the point in GEO, and LANGUAGE")
        return dict(sorted(self._revisions.items()))

    def _add(self, page: JsonObject, namespaces: Sequence[int] | None = None) -> bool:
        """Whether the page is one to index; it is counted then."""
        page_id, revision, namespace = (_whole(page.get(key)) for key in ("pageid", "lastrevid", "ns"))
        if page.get("missing") or page.get("redirect") or not page_id or not revision:
            return False
        if namespaces is not None and namespace not in namespaces:
            return False
        self._revisions[page_id] = revision
        if len(self._revisions) > self._settings.max_pages:
            raise SettingsError(
                f"the scope has more than {self._settings.max_pages} pages; lower CATEGORY_DEPTH or name fewer "
                "categories, or raise MAX_PAGES"
            )
        return True

    def _add_titles(self, titles: Sequence[str]) -> None:
        for batch in _batches(titles):
            for query in self._api.query({"titles": "|".join(batch), "prop": "info", "redirects": 1}):
                for entry in _entries(query, "interwiki"):
                    self._warn(f"TITLES: {str(entry.get('title'))!r} is on another wiki, left out")
                for page in pages_of(query):
                    if not self._add(page):
                        self._warn(f"TITLES: {str(page.get('title'))!r} {_why_not(page)}")

    def _add_categories(self, names: Sequence[str]) -> None:
        roots = self._category_titles(names)
        waiting = deque((title, 0) for title in roots)
        seen = set(roots)
        while waiting:
            title, depth = waiting.popleft()
            deeper = depth < self._settings.category_depth
            members = 0
            for page in self._members(title, with_subcategories=deeper):
                members += 1
                name = str(page.get("title"))
                if page.get("ns") != CATEGORIES:
                    self._add(page, namespaces=[ARTICLES])
                elif name not in seen:
                    seen.add(name)
                    waiting.append((name, depth + 1))
            if members == 0 and title in roots:
                self._warn(f"CATEGORIES: {title!r} lists no pages; is its name right?")

    def _category_titles(self, names: Sequence[str]) -> list[str]:
        """The categories' titles as the wiki writes them. A name with a colon need not start with a namespace."""
        names = [name.lstrip(":").lstrip() for name in names]
        titles = self._in_namespace([name for name in names if ":" in name])
        prefixed = {name: f"Category:{name}" for name in names if name not in titles}
        titles |= self._in_namespace(list(prefixed.values()))
        for name, title in prefixed.items():
            if title not in titles:
                self._warn(f"CATEGORIES: {name!r} cannot be the name of a category, left out")
        return list(dict.fromkeys(titles.values()))

    def _in_namespace(self, names: Sequence[str]) -> dict[str, str]:
        """Those of the names that are titles of categories, and how the wiki writes each."""
        found: dict[str, str] = {}
        for batch in _batches(names):
            for query in self._api.query({"titles": "|".join(batch), "prop": "info"}):
                written = {str(entry.get("from")): str(entry.get("to")) for entry in _entries(query, "normalized")}
                titles = {str(page.get("title")) for page in pages_of(query) if page.get("ns") == CATEGORIES}
                found |= {name: written.get(name, name) for name in batch if written.get(name, name) in titles}
        return found

    def _members(self, category: str, *, with_subcategories: bool) -> Iterator[JsonObject]:
        kinds = "page|subcat" if with_subcategories else "page"
        params = {"generator": "categorymembers", "gcmtitle": category, "gcmtype": kinds, "gcmlimit": "max"}
        for query in self._api.query({**params, "prop": "info"}):
            yield from pages_of(query)

    def _add_place(self, place: Place) -> None:
        pages = self._api.pages(
            {
                "generator": "geosearch",
                "ggscoord": f"{place.latitude}|{place.longitude}",
                "ggsradius": place.radius_m,
                "ggsnamespace": ARTICLES,
                "ggslimit": PLACES_A_REQUEST,
                "prop": "info",
            }
        )
        if len(pages) >= PLACES_A_REQUEST:
            raise SettingsError(
                f"GEO: MediaWiki lists at most {PLACES_A_REQUEST} pages around a point and there may be more here; "
                "make the radius smaller"
            )
        if not pages:
            self._warn("GEO: no page is about a place there")
        for page in pages:
            self._add(page, namespaces=[ARTICLES])


def _entries(query: JsonObject, key: str) -> list[JsonObject]:
    """The objects listed under a key beside `pages`."""
    entries = query.get(key, [])
    if not isinstance(entries, list):
        raise SourceError(f"MediaWiki's API: {key} is of type {type(entries).__name__}, expected a list")
    return [entry for entry in entries if isinstance(entry, dict)]


def _why_not(page: JsonObject) -> str:
    if page.get("missing"):
        return "does not exist, left out"
    if page.get("invalid"):
        return "cannot be a title, left out"
    return "is not a page with text of its own, left out"


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _batches(titles: Sequence[str]) -> Iterator[list[str]]:
    """The titles in groups that fit one request."""
    batch: list[str] = []
    size_bytes = 0
    for title in titles:
        cost_bytes = len(quote_plus(title)) + 3
        if batch and (len(batch) == TITLES_A_REQUEST or size_bytes + cost_bytes > TITLE_BYTES_A_REQUEST):
            yield batch
            batch, size_bytes = [], 0
        batch.append(title)
        size_bytes += cost_bytes
    if batch:
        yield batch
