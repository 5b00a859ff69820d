"""What the core asks for: the pages with their revisions, and the text of some of them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from passageway_connector_wikipedia.api import Api, JsonObject
from passageway_connector_wikipedia.scope import Scope
from passageway_connector_wikipedia.settings import read_settings
from passageway_sdk import Connector, SourceError
from passageway_sdk.web import Client

if TYPE_CHECKING:
    from passageway_connector_wikipedia.article import Sections

PACKAGE, RELEASE = "passageway-connector-wikipedia", "0.1.0"
PAGES_A_REQUEST = 50
RETRIED = frozenset({429, 502, 503, 504})
"""What a wiki answers when it is busy. Its 500 is a fault that the next attempt meets again."""


class Wikipedia(Connector):
    """A part of a wiki: categories, titles, a place."""

    name = "wikipedia"

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = read_settings(env)
        self._client = Client(
            user_agent(self._settings.contact),
            pause_s=self._settings.pause_s,
            retry_statuses=RETRIED,
            sleep=sleep,
            now=now,
            say=self.warn,
        )
        self._api = Api(self._client, self._settings.api_url)

    def versions(self) -> Mapping[str, str]:
        """The revision id of every page in scope, by page id."""
        with self._client:
            revisions = Scope(self._api, self._settings, self.warn).revisions()
        return {str(page_id): str(revision) for page_id, revision in revisions.items()}

    def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
        """The item of each page that still exists and is no redirect by now."""
        page_ids = [item_id for item_id in ids if item_id.isascii() and item_id.isdigit() and len(item_id) < 12]
        with self._client:
            for start in range(0, len(page_ids), PAGES_A_REQUEST):
                yield from self._items(page_ids[start : start + PAGES_A_REQUEST])

    def _items(self, page_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        params: dict[str, str | int] = {
            "pageids": "|".join(page_ids),
            "prop": "extracts|info|revisions",
            "explaintext": 1,
            "exsectionformat": "wiki",
            # Of whole texts the wiki gives one an answer, and a warning to those who ask for more.
            "exlimit": 1,
            "inprop": "url",
            "rvprop": "timestamp",
        }
        for page in self._api.pages(params):
            if not page.get("missing") and not page.get("redirect") and str(page.get("pageid")) in page_ids:
                yield self._item(page)

    def _item(self, page: JsonObject) -> dict[str, Any]:
        page_id, title, revision = page.get("pageid"), page.get("title"), page.get("lastrevid")
        if not (isinstance(page_id, int) and isinstance(revision, int) and isinstance(title, str) and title.strip()):
            raise SourceError(f"{self._settings.api_url}: page {page_id!r} has no title or no revision in the answer")
        item: dict[str, Any] = {
            "id": str(page_id),
            "title": title,
            "url": self._url(page, title),
            "version": str(revision),
            "sections": self._sections(page, page_id),
        }
        if timestamp := _timestamp(page):
            item["updated"] = timestamp
        return item

    def _sections(self, page: JsonObject, page_id: int) -> "Sections":
        """The sections of the extract; of the rendered page where the wiki has no extracts, or an empty one."""
        # Loaded here, because most calls list revisions and read no article.
        from passageway_connector_wikipedia.article import sections_of_extract, sections_of_html

        extract = page.get("extract")
        if isinstance(extract, str) and extract.strip():
            return sections_of_extract(extract, self._settings.skipped)
        return sections_of_html(self._api.html(page_id), self._settings.skipped)

    def _url(self, page: JsonObject, title: str) -> str:
        base = self._settings.page_url
        if base is None:
            return str(page.get("fullurl") or "")
        # The letters that MediaWiki itself leaves as they are (wfUrlencode).
        name = quote(title.replace(" ", "_"), safe="/:@$!*(),;~")
        return base.replace("$1", name) if "$1" in base else f"{base.rstrip('/')}/{name}"


def user_agent(contact: str) -> str:
    """Who asks, as Wikimedia's policy wants it: the program, its version, and a way to reach who runs it."""
    purpose = "search index of one passageway"
    return f"{PACKAGE}/{RELEASE} ({f'{purpose}; {contact}' if contact else purpose})"


def _timestamp(page: JsonObject) -> str:
    revisions = page.get("revisions")
    latest = revisions[0] if isinstance(revisions, list) and revisions else {}
    timestamp = latest.get("timestamp") if isinstance(latest, dict) else None
    return timestamp if isinstance(timestamp, str) else ""
