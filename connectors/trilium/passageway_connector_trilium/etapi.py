"""Trilium's external API, with GET requests alone: searches for metadata, and the content of a note.

The search language is Trilium's own (`note.noteId = 'x' or …`); ids in it are compared without regard to case, so an
answer may hold a stranger, which is dropped here. `fastSearch` and `limit` are not used: nothing in these searches
looks into contents, and an answer is complete without them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from passageway_connector_trilium.notes import Note, parse_note, trilium_time
from passageway_connector_trilium.settings import Settings
from passageway_sdk import SourceError
from passageway_sdk.web import Client, Reply, SignInError

USER_AGENT = "passageway-connector-trilium/0.1.0"
IDS_A_SEARCH = 50
"""Keeps the address of a search below 4,000 characters; proxies refuse from 8,000 on."""
MAX_TREE_BYTES = 256 * 1024 * 1024
"""The metadata of about 100,000 notes."""

# Without a condition Trilium finds nothing, and this one holds for all notes that are not hidden.
_EVERY_NOTE = "note.noteId != '_hidden'"
_PROTECTED = "NOTE_IS_PROTECTED"


class Etapi:
    """One server. Use it in a `with` block of its client."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._url = f"{settings.url}/etapi"
        self._max_note_bytes = settings.max_note_bytes

    def every_note(self) -> dict[str, Note]:
        """The metadata of all notes, also archived and protected ones, without the subtree that Trilium hides."""
        return {note.id: note for note in self._search(_EVERY_NOTE)}

    def notes(self, ids: Iterable[str]) -> dict[str, Note]:
        """The metadata of those of the notes that exist."""
        wanted = set(ids)
        return self._any_of("note.noteId", wanted, lambda note: note.id in wanted)

    def notes_changed(self, since: datetime) -> dict[str, Note]:
        """The notes whose title or content changed since then; Trilium keeps no such time for attributes and moves."""
        since = max(since, datetime(1970, 1, 1, tzinfo=UTC))
        return {note.id: note for note in self._search(f"note.utcDateModified >= '{trilium_time(since)}'")}

    def notes_with(self, relation: str, targets: Iterable[str]) -> dict[str, Note]:
        """The notes that own a relation of this name to one of the targets."""
        wanted = set(targets)
        return self._any_of(
            f"~{relation}.noteId",
            wanted,
            lambda note: any(name == relation and target in wanted for name, target in note.relations),
        )

    def content(self, note: Note) -> str | None:
        """The note's content, HTML for a text note, or None when it is gone or has become protected.

        Raises TooLargeError for content over the limit, SignInError for a page that is not Trilium's.
        """
        url = f"{self._url}/notes/{note.id}/content"
        reply = self._client.get(url, accepted=(400, 404), max_bytes=self._max_note_bytes)
        if reply.status == 404 and reply.is_html:
            raise SignInError(reply.page_problem("the content of a note"))
        if reply.status == 404 or (reply.status == 400 and _error_code(reply) == _PROTECTED):
            return None
        if reply.status == 400:
            raise SourceError(f"{reply.shown_url}: HTTP 400, Trilium refuses the content ({_error_code(reply)})")
        if _is_strange_page(reply, url):
            raise SignInError(reply.page_problem("the content of a note"))
        return reply.text

    def _any_of(self, field: str, values: set[str], belongs: Callable[[Note], bool]) -> dict[str, Note]:
        found: dict[str, Note] = {}
        for part in _parts(sorted(values)):
            query = " or ".join(f"{field} = '{value}'" for value in part)
            found |= {note.id: note for note in self._search(query) if belongs(note)}
        return found

    def _search(self, query: str) -> Iterator[Note]:
        parameters = {"search": query, "includeArchivedNotes": "true"}
        answer: Any = self._client.json(f"{self._url}/notes", parameters, max_bytes=MAX_TREE_BYTES)
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise SourceError(f"{self._url}/notes: no list of results came; is URL the address of a Trilium server?")
        return map(parse_note, results)


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), IDS_A_SEARCH):
        yield values[start : start + IDS_A_SEARCH]


def _error_code(reply: Reply) -> str:
    """ETAPI's constant for the error, such as NOTE_IS_PROTECTED."""
    answer = reply.json()
    code = answer.get("code") if isinstance(answer, dict) else None
    return code if isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum() else "no code given"


def _is_strange_page(reply: Reply, asked: str) -> bool:
    """Whether the reply is a page of something in front of Trilium, which for contents are HTML too.

    Trilium sends contents with a Content-Disposition and never redirects to them.
    """
    if not reply.is_html or "content-disposition" in reply.headers:
        return False
    whole_page = reply.body.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))
    return reply.url != asked or whole_page or reply.is_sign_in
