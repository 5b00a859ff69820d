"""What the core asks for: every page of the configured files with a version, and the records of some of them."""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from passageway_connector_llmstxt.document import Page, pages_of
from passageway_connector_llmstxt.settings import Settings, Source, read_settings
from passageway_connector_llmstxt.site import File, Site
from passageway_sdk import Connector, SourceError, split_markdown
from passageway_sdk.web import Client, cut_sections, host_of

USER_AGENT = "passageway-connector-llmstxt"
MAX_ITEM_BYTES = 1024 * 1024
"""Of a page's text. The core takes 4 MiB a line, and a letter may need six bytes in it."""


class LlmsTxt(Connector):
    """Files that sites publish for language models: llms-full.txt, llms.txt and what it links to, single files."""

    name = "llmstxt"

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = read_settings(env)
        self._client = Client(USER_AGENT, sleep=sleep, now=now, say=self.warn)

    def versions(self) -> Mapping[str, str]:
        """A hash of every page, by the address of its file and the page's key in it."""
        found: dict[str, str] = {}
        with self._client:
            site = Site(self._client, self._settings, self.warn)
            for source in self._settings.sources:
                repeated = site.repeated
                pages = {item["id"]: item["version"] for file in site.files(source) for item in self._items(file)}
                if not pages and site.repeated == repeated:
                    raise SourceError(f"{self._client.shown(source.address)}: holds nothing to index")
                found |= pages
        return found

    def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
        """The record of each page that is still in its file. Only the files the ids name are read."""
        wanted_ids = set(ids)
        files = {urldefrag(item_id).url for item_id in ids}
        with self._client:
            site = Site(self._client, self._settings, lambda message: None)
            for source in self._sources_of(files):
                for file in site.files(source, wanted=files):
                    yield from self._items(file, wanted_ids)

    def _sources_of(self, files: set[str]) -> Iterator[Source]:
        """The configured files among these, and the indexes when some are not configured themselves."""
        configured = {source.address for source in self._settings.sources}
        for source in self._settings.sources:
            if source.address in files or (source.is_index and files - configured):
                yield source

    def _items(self, file: File, wanted: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        pages = pages_of(file.text, file.address)
        for page in pages:
            item_id = f"{file.address}#{page.key}" if page.key else file.address
            if wanted is None or item_id in wanted:
                yield self._item(item_id, page, page.address or (file.address if len(pages) == 1 else item_id))

    def _item(self, item_id: str, page: Page, url: str) -> dict[str, Any]:
        parts = urlsplit(url)
        item: dict[str, Any] = {
            "id": item_id,
            "title": page.title,
            "url": url,
            "sections": self._limited(cut_sections(split_markdown(page.text, skip_first_h1=True)), item_id),
            "path": [host_of(url), *(unquote(part) for part in parts.path.split("/")[:-1] if part)],
        }
        weight = _weight(self._settings, parts.path.lstrip("/") + (f"#{parts.fragment}" if parts.fragment else ""))
        if weight != 1.0:
            item["weight"] = weight
        return {**item, "version": _version(item)}

    def _limited(self, sections: list[dict[str, str | None]], item_id: str) -> list[dict[str, str | None]]:
        """The sections up to the limit of an item."""
        size_bytes = 0
        for number, section in enumerate(sections):
            size_bytes += len((section["text"] or "").encode("utf-8", "replace"))
            if size_bytes > MAX_ITEM_BYTES:
                self.warn(f"{item_id}: the page has over {MAX_ITEM_BYTES} bytes; what follows them is left out")
                return sections[:number]
        return sections


def _weight(settings: Settings, path: str) -> float:
    return next((weight for prefix, weight in settings.weights if path.startswith(prefix)), 1.0)


def _version(item: Mapping[str, Any]) -> str:
    """A hash of the record, so that a weight that was set anew counts as a change too."""
    return hashlib.sha256(json.dumps(item, sort_keys=True).encode("ascii")).hexdigest()[:16]
