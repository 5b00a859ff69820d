"""The MediaWiki action API: requests that carry on where the answer stops, and errors that come with status 200.

Written from mediawiki.org: API:Etiquette, API:Continue, Manual:Maxlag parameter, API:Errors and warnings.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from passageway_sdk import SourceError
from passageway_sdk.web import Client, Reply, WebError

MAX_LAG_S = 5
"""The answer waits while the databases lag more than this; 5 is what Wikimedia asks of programs nobody waits for."""

_COMMON = {"format": "json", "formatversion": "2", "maxlag": str(MAX_LAG_S)}
_BUSY = frozenset({"maxlag", "ratelimited"})

JsonObject = dict[str, Any]


class Api:
    """One wiki's `api.php`."""

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._url = url

    def query(self, params: Mapping[str, str | int]) -> Iterator[JsonObject]:
        """The `query` part of each answer, until nothing is left to continue. Raises SourceError."""
        carried: JsonObject = {}
        while True:
            answer = self._ask({"action": "query", **params, **carried})
            yield _object(answer.get("query", {}), "query")
            if not answer.get("continue"):
                return
            # The whole object goes back as it came (API:Continue); its keys depend on what is left.
            following = {key: str(value) for key, value in _object(answer["continue"], "continue").items()}
            if following == carried:
                raise SourceError(f"{self._shown()}: the answer continues where it already was")
            carried = following

    def pages(self, params: Mapping[str, str | int]) -> list[JsonObject]:
        """The pages of a query, each with all that its answers say about it."""
        pages: dict[str, JsonObject] = {}
        for query in self.query(params):
            for page in pages_of(query):
                pages.setdefault(str(page.get("pageid") or page.get("title")), {}).update(page)
        return list(pages.values())

    def html(self, page_id: int) -> str:
        """The rendered text of a page."""
        answer = self._ask(
            {"action": "parse", "pageid": page_id, "prop": "text", "disableeditsection": 1, "disabletoc": 1}
        )
        text = _object(answer.get("parse", {}), "parse").get("text")
        if not isinstance(text, str):
            raise SourceError(f"{self._shown()}: the rendered text of page {page_id} is missing from the answer")
        return text

    def _ask(self, params: Mapping[str, str | int]) -> JsonObject:
        answer = _object(self._client.json(self._url, {**params, **_COMMON}, busy=_busy), "the answer")
        if error := answer.get("error"):
            details = _object(error, "error")
            raise SourceError(
                f"{self._shown()}: MediaWiki answers with the error {str(details.get('code'))[:80]!r}: "
                f"{str(details.get('info'))[:300]}"
            )
        return answer

    def _shown(self) -> str:
        return self._client.shown(self._url)


def pages_of(query: Mapping[str, Any]) -> list[JsonObject]:
    """The pages in one answer. Raises SourceError when they are not of the form of formatversion 2."""
    pages = query.get("pages", [])
    if not isinstance(pages, list):
        raise SourceError("MediaWiki answers with pages that are not a list; is the site older than MediaWiki 1.25?")
    return [_object(page, "a page") for page in pages]


def _busy(reply: Reply) -> str | None:
    """Why an answer with status 200 means "ask again later"; None when it does not."""
    if "mediawiki-api-error" not in reply.headers and b'"error"' not in reply.body[:200]:
        return None
    try:
        error = reply.json()["error"]
        code = error["code"]
    except (WebError, KeyError, TypeError):
        return None
    if code not in _BUSY:
        return None
    lag = error.get("lag")
    return f"{code}, {lag:g} s behind" if isinstance(lag, int | float) else str(code)


def _object(value: Any, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise SourceError(f"MediaWiki's API: {what} is of type {type(value).__name__}, expected an object")
    return value
