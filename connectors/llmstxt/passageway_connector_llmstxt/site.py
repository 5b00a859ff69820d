"""The files of a source: read by address, or found through an index."""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from passageway_connector_llmstxt.links import links_of
from passageway_connector_llmstxt.settings import FULL_FILE, INDEX_FILE, Settings, Source, is_index
from passageway_sdk.web import Client, RedirectRefusedError, Reply, StatusError, TooLargeError, WebError, host_of

_ACCEPT = {"Accept": "text/markdown, text/plain;q=0.9, */*;q=0.5"}
_NO_TEXT = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/gzip")


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read. `address` is the one it is known by, whatever redirects said."""

    address: str
    text: str


class Site:
    """Reads the files of the configured sources, each file once."""

    def __init__(self, client: Client, settings: Settings, warn: Callable[[str], object]) -> None:
        self._client = client
        self._settings = settings
        self._warn = warn
        self._known: set[str] = set()
        """Addresses that a link or a setting named."""
        self._reached: set[str] = set()
        """Addresses that were read, after redirects."""
        self.repeated = 0
        """Files that were named again after they had been read."""

    def files(self, source: Source, wanted: Collection[str] | None = None) -> Iterator[File]:
        """The files of a source, of which only the `wanted` addresses are asked for when they are given.

        Raises SourceError for whatever cannot be read: a listing without it would take its pages out of the index.
        """
        if source.is_index:
            yield from self._followed(source.address, wanted)
        elif source.address in self._known:
            self.repeated += 1
        elif wanted is None or source.address in wanted:
            self._known.add(source.address)
            yield from self._file(source.address, self._configured(source.address))

    def _followed(self, index: str, wanted: Collection[str] | None) -> Iterator[File]:
        pages, hosts = self._linked(index, quiet=wanted is not None)
        if not pages and not self.repeated:
            raise WebError(f"{self._client.shown(index)}: links to no pages of its own host")
        for page in pages:
            if wanted is None or page in wanted:
                yield from self._page(page, hosts)

    def _page(self, address: str, hosts: Collection[str]) -> list[File]:
        try:
            reply = self._get(address, hosts)
        except RedirectRefusedError as error:
            self._warn(f"{error}; the page is left out")
            return []
        if problem := _problem(reply):
            self._warn(f"{problem}; the page is left out")
            return []
        return self._file(address, reply)

    def _file(self, address: str, reply: Reply) -> list[File]:
        """The file as a list of one, or an empty list when another address led to it already.

        A list, because a generator would keep the reply's bytes alive beside their text.
        """
        return [File(address, reply.text)] if self._is_new(reply) else []

    def _linked(self, index: str, *, quiet: bool) -> tuple[list[str], Collection[str]]:
        """The pages that an index and the indexes it links to name, and the hosts that count as its own."""
        reply = self._configured(index)
        hosts = {host_of(index), host_of(reply.url)}
        self._known |= {index, reply.url}
        self._reached.add(reply.url)
        pages: list[str] = []
        skipped = 0
        waiting = deque([reply])
        while waiting:
            reply = waiting.popleft()
            for link in links_of(reply.text, reply.url):
                if host_of(link) not in hosts:
                    continue
                if link in self._known:
                    self.repeated += not is_index(link)
                    continue
                self._known.add(link)
                if len(pages) >= self._settings.max_pages:
                    skipped += 1
                elif is_index(link):
                    waiting.extend(self._sub_index(link, hosts))
                else:
                    pages.append(link)
        if skipped and not quiet:
            self._warn(
                f"{self._client.shown(index)}: {skipped} of its pages are left out, since MAX_PAGES is "
                f"{self._settings.max_pages}"
            )
        return pages, hosts

    def _sub_index(self, address: str, hosts: Collection[str]) -> list[Reply]:
        """The index as a list of one; an empty list when it is a page for people, or was read already."""
        try:
            reply = self._get(address, hosts)
        except RedirectRefusedError as error:
            self._warn(f"{error}; the index is left out")
            return []
        if problem := _problem(reply):
            self._warn(f"{problem}; the index is left out")
            return []
        return [reply] if self._is_new(reply) else []

    def _configured(self, address: str) -> Reply:
        """The text behind an address of the settings, which may redirect anywhere."""
        try:
            reply = self._get(address, None)
        except StatusError as error:
            if error.status == 404 and address.endswith(f"/{FULL_FILE}"):
                index = address.removesuffix(FULL_FILE) + INDEX_FILE
                raise WebError(f"{error}; the site may have an index instead, {self._client.shown(index)}") from None
            raise
        if problem := _problem(reply):
            raise WebError(problem)
        return reply

    def _get(self, address: str, hosts: Collection[str] | None) -> Reply:
        try:
            return self._client.get(address, headers=_ACCEPT, hosts=hosts, max_bytes=self._settings.max_bytes)
        except TooLargeError as error:
            raise WebError(f"{error}; MAX_BYTES is the limit") from None

    def _is_new(self, reply: Reply) -> bool:
        """Whether no other address has led to the same file."""
        is_new = reply.url not in self._reached
        self._reached.add(reply.url)
        self.repeated += not is_new
        return is_new


def _problem(reply: Reply) -> str | None:
    """Why a reply is no text to index; None when it is."""
    # Markdown is served as text/html often enough, so that the type alone says nothing.
    if reply.is_html and reply.body.lstrip()[:1] == b"<":
        return reply.page_problem("markdown or plain text")
    if reply.content_type.startswith(_NO_TEXT) or (
        b"\0" in reply.body and not reply.body.startswith((b"\xff", b"\xfe"))
    ):
        return f"{reply.shown_url} is no text ({reply.content_type or 'no type given'})"
    if not reply.body.strip():
        return f"{reply.shown_url} is empty"
    return None
