"""The connector: which calls to Trilium answer which call of the core."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from passageway_connector_trilium.content import Content, code_content, text_content
from passageway_connector_trilium.etapi import USER_AGENT, Etapi
from passageway_connector_trilium.items import CITES, indexed_notes, parents_missing, record, version
from passageway_connector_trilium.notes import Note, is_note_id
from passageway_connector_trilium.settings import read_settings
from passageway_sdk import Connector
from passageway_sdk.web import Client, TooLargeError

OVERLAP = timedelta(minutes=2)
"""How much further back `changed` looks, for clocks that differ; what it finds twice costs nothing."""


class TriliumConnector(Connector):
    """The text and code notes of one Trilium server. `clock` goes to the client: `sleep`, `now`, `say`."""

    name = "trilium connector"

    def __init__(self, env: Mapping[str, str], **clock: Any) -> None:
        self._settings = read_settings(env)
        self._clock = clock

    def versions(self) -> dict[str, str]:
        """Every note that becomes an item."""
        with self._client() as client:
            notes = Etapi(client, self._settings).every_note()
        protected = sum(note.is_protected for note in notes.values())
        if protected:
            self.warn(f"protected notes left out: {protected}")
        return {item.note.id: version(item, self._url(item.note)) for item in indexed_notes(notes).values()}

    def fetch(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The records of those of the notes that still become items."""
        with self._client() as client:
            etapi = Etapi(client, self._settings)
            yield from self._records(etapi, etapi.notes(filter(is_note_id, ids)))

    def changed(self, since: datetime) -> Iterator[dict[str, Any]]:
        """The records of the notes whose title or content changed."""
        with self._client() as client:
            etapi = Etapi(client, self._settings)
            yield from self._records(etapi, etapi.notes_changed(_earlier(since)))

    def _records(self, etapi: Etapi, notes: Mapping[str, Note]) -> Iterator[dict[str, Any]]:
        around = _with_surroundings(etapi, notes)
        items = indexed_notes(around)
        for note_id in notes:
            item = items.get(note_id)
            content = self._content(etapi, item.note) if item else None
            if item and content:
                yield record(item, content, self._url(item.note))

    def _content(self, etapi: Etapi, note: Note) -> Content | None:
        try:
            text = etapi.content(note)
        except TooLargeError:
            self.warn(
                f"note {note.id} has more than the {self._settings.max_note_bytes} bytes of MAX_NOTE_BYTES, "
                "so it is skipped"
            )
            return None
        if text is None:
            return None
        return code_content(text) if note.type == "code" else text_content(text, self._settings.web_url)

    def _url(self, note: Note) -> str:
        return f"{self._settings.web_url}/#root/{note.id}"

    def _client(self) -> Client:
        settings = self._settings
        return Client(
            USER_AGENT,
            # The bare token is what every version since 0.50 takes; `Bearer` came with 0.93.
            headers={"Authorization": settings.token},
            secrets=[settings.token],
            timeout_s=settings.timeout_s,
            **self._clock,
        )


def _earlier(since: datetime) -> datetime:
    try:
        return since - OVERLAP
    except OverflowError:
        return since


def _with_surroundings(etapi: Etapi, notes: Mapping[str, Note]) -> dict[str, Note]:
    """The notes, the summaries that cite them, and every note above either: what their records depend on.

    A few small searches, one for each level of the tree, in place of the metadata of all notes.
    """
    around = {**etapi.notes_with(CITES, notes), **notes}
    asked: set[str] = set()
    while missing := parents_missing(around, asked):
        asked |= missing
        around |= etapi.notes(filter(is_note_id, missing))
    return around
