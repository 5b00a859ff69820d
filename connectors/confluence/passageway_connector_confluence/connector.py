"""The connector: which calls to Confluence answer which call of the core."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from passageway_connector_confluence.links import Target, Title, resolved, targets, titles_to_find
from passageway_connector_confluence.pages import Page, is_page_id, record
from passageway_connector_confluence.rest import USER_AGENT, Rest
from passageway_connector_confluence.settings import Settings, read_settings
from passageway_connector_confluence.storage import read_storage
from passageway_sdk import Connector, SourceError
from passageway_sdk.web import Client

LATE = timedelta(minutes=15)
"""How long an edit may take to be found by Confluence's search, and clocks may differ."""


class ConfluenceConnector(Connector):
    """The pages of chosen spaces of one site. `clock` goes to the client: `sleep`, `now`, `say`."""

    name = "confluence connector"

    def __init__(self, env: Mapping[str, str], **clock: Any) -> None:
        self._settings = read_settings(env)
        self._clock = clock

    def versions(self) -> dict[str, str]:
        """Every page in scope. Raises SourceError when the spaces have more pages than MAX_PAGES."""
        found: dict[str, str] = {}
        pages_seen = 0
        with self._client() as client:
            rest = Rest(client, self._settings)
            for space in self._settings.spaces:
                before = pages_seen
                for page in rest.pages_of(space):
                    pages_seen += 1
                    if pages_seen > self._settings.max_pages:
                        raise SourceError(
                            f"the spaces have more than the {self._settings.max_pages} pages of MAX_PAGES: "
                            "raise it, or name fewer SPACES"
                        )
                    if self._in_scope(page):
                        found[page.id] = page.version
                if pages_seen == before:
                    self.warn(f"space {space!r} lists no pages: check its key and what the token may read")
        return found

    def fetch(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The records of those of the pages that are still in scope."""
        with self._client() as client:
            yield from self._records(Rest(client, self._settings), [page_id for page_id in ids if is_page_id(page_id)])

    def changed(self, since: datetime) -> Iterator[dict[str, Any]]:
        """The records of the pages modified since then.

        The search reaches back fourteen hours for the sake of zones; what the pages themselves say of their last change
        leaves out those that the last poll has seen.
        """
        with self._client() as client:
            rest = Rest(client, self._settings)
            # The search may list a page twice while it changes.
            ids = {page.id: None for page in rest.changed_since(since) if self._in_scope(page) and _is_new(page, since)}
            yield from self._records(rest, list(ids))

    def _records(self, rest: Rest, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        pages = [page for page in rest.pages(ids) if self._in_scope(page)]
        contents = [read_storage(page.body) for page in pages]
        site_urls = {self._settings.url, *(page.site_url for page in pages)}
        wanted = [targets(page, content.references, site_urls) for page, content in zip(pages, contents, strict=True)]
        known = self._known_titles(rest, pages, (target for page_targets in wanted for target in page_targets))
        for page, content, page_targets in zip(pages, contents, wanted, strict=True):
            yield record(page, content.sections, resolved(page, page_targets, known))

    def _known_titles(self, rest: Rest, pages: Iterable[Page], wanted: Iterable[Target]) -> dict[tuple[str, str], str]:
        """The ids of linked pages by space and title; pages at hand need no search."""
        known = {Title(page.space, page.title).key: page.id for page in pages}
        for space, titles in list(titles_to_find(wanted, known, self._settings.spaces)):
            for page in rest.pages_titled(space, titles):
                known.setdefault(Title(page.space, page.title).key, page.id)
        return known

    def _in_scope(self, page: Page) -> bool:
        settings = self._settings
        labels = {label.lower() for label in page.labels}
        return (
            page.is_current
            and page.space.casefold() in {space.casefold() for space in settings.spaces}
            and (not settings.include_labels or bool(labels & settings.include_labels))
            and not labels & settings.exclude_labels
        )

    def _client(self) -> Client:
        settings: Settings = self._settings
        return Client(
            USER_AGENT,
            headers={"Authorization": settings.authorization},
            secrets=settings.secrets,
            timeout_s=settings.timeout_s,
            pause_s=settings.pause_s,
            verify_tls=settings.verify_tls,
            **self._clock,
        )


def _is_new(page: Page, since: datetime) -> bool:
    return page.modified is None or page.modified >= max(since, datetime(1970, 1, 2, tzinfo=UTC)) - LATE
