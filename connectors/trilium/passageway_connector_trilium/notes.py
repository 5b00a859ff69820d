"""What ETAPI says about a note, without its content.

The fields are those of the schema `Note` in Trilium's `etapi.openapi.yaml`. `attributes` holds inherited attributes
too; an attribute is the note's own when its `noteId` is the note's.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from passageway_sdk import SourceError

ROOT_ID = "root"
_NO_PARENT = "none"
"""What the root has for a parent."""
_NOTE_ID = re.compile(r"[A-Za-z0-9_]{1,128}")


@dataclass(frozen=True, slots=True)
class Note:
    """A note's metadata. `labels` and `archived` count what is inherited, `own_labels` and `relations` do not."""

    id: str
    title: str
    type: str
    mime: str
    is_protected: bool
    is_archived: bool
    content_version: str
    """Changes with the content: the id of the content's blob, or the time of the last change before Trilium 0.61."""
    updated: str | None
    """ISO 8601, in UTC."""
    parents: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    own_labels: tuple[tuple[str, str], ...]
    relations: tuple[tuple[str, str], ...]


def is_note_id(text: str) -> bool:
    """Whether Trilium could have a note of this id; what is no id is not put into a search or an address."""
    return bool(_NOTE_ID.fullmatch(text))


def parse_note(message: Any) -> Note:
    """The note in one entry of an answer. Raises SourceError naming what is missing or of another type."""
    note_id = _text(message, "noteId", "a note")
    if not is_note_id(note_id):
        raise SourceError(f"Trilium lists a note with the id {note_id[:140]!r}, expected letters, digits and _")
    owner = f"note {note_id}"
    attributes = [_attribute(entry, note_id) for entry in _list(message, "attributes", owner)]
    labels = tuple((name, value) for kind, name, value, _ in attributes if kind == "label")
    modified = _text(message, "utcDateModified", owner, default="") or _text(message, "dateModified", owner, default="")
    return Note(
        id=note_id,
        title=" ".join(_text(message, "title", owner, default="").split()) or note_id,
        type=_text(message, "type", owner),
        mime=_text(message, "mime", owner, default=""),
        is_protected=message.get("isProtected") is True,
        is_archived=any(name == "archived" for name, _ in labels),
        content_version=_text(message, "blobId", owner, default="") or modified,
        updated=utc_time(modified),
        parents=tuple(sorted(_ids(message, "parentNoteIds", owner) - {_NO_PARENT, note_id})),
        labels=labels,
        own_labels=tuple((name, value) for kind, name, value, own in attributes if kind == "label" and own),
        relations=tuple((name, value) for kind, name, value, own in attributes if kind == "relation" and own),
    )


def utc_time(text: str) -> str | None:
    """The instant as `2026-01-31T22:30:00Z`, from either of Trilium's forms, or None when there is none to read."""
    try:
        instant = datetime.fromisoformat(text.strip())
        instant = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def trilium_time(instant: datetime) -> str:
    """The instant as Trilium keeps `utcDateModified`: `2026-01-31 22:30:00.000Z`, which sorts as text."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds") + "Z"


def _attribute(entry: Any, note_id: str) -> tuple[str, str, str, bool]:
    """(kind, name, value, whether the note owns it)"""
    owner = f"an attribute of note {note_id}"
    kind, name = _text(entry, "type", owner), _text(entry, "name", owner)
    value = _text(entry, "value", owner, default="").strip()
    return kind, name, value, entry.get("noteId") == note_id


def _text(message: Any, key: str, owner: str, default: str | None = None) -> str:
    value = _field(message, key, owner)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise _unexpected(f"no text in {key!r} of {owner}")
    return value


def _list(message: Any, key: str, owner: str) -> list[Any]:
    value = _field(message, key, owner)
    if not isinstance(value, list | None):
        raise _unexpected(f"no list in {key!r} of {owner}")
    return value or []


def _ids(message: Any, key: str, owner: str) -> set[str]:
    return {entry for entry in _list(message, key, owner) if isinstance(entry, str)}


def _field(message: Any, key: str, owner: str) -> Any:
    if not isinstance(message, dict):
        raise _unexpected(f"no object for {owner}")
    return message.get(key)


def _unexpected(seen: str) -> SourceError:
    return SourceError(f"Trilium's answer has {seen}: is URL the address of a Trilium server?")
