"""The notes of a folder: every file read once, each with its id and its version."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from passageway_connector_markdown.folder import File, list_files
from passageway_connector_markdown.front_matter import declared_id
from passageway_connector_markdown.settings import Settings
from passageway_connector_markdown.text import Unusable, decode, read_bytes
from passageway_sdk import SourceError

RECORD_FORMAT = 1
"""Part of every version: raised when the same file makes another record, so that an update reaches the index."""


@dataclass(frozen=True, slots=True)
class Note:
    """A file that can be indexed. `digest` is the SHA-256 of its bytes."""

    file: File
    id: str
    has_own_id: bool
    digest: bytes
    text: str


@dataclass(slots=True)
class Report:
    """What a pass over the folder could not use, filled while the pass goes on."""

    warnings: list[str] = field(default_factory=list)
    """One message a file or folder, with its name and the reason."""
    unread_files: list[File] = field(default_factory=list)
    """Files that exist and cannot be read just now."""
    unread_folders: list[str] = field(default_factory=list)
    """Messages about folders whose files are not known just now."""


def read_notes(settings: Settings, report: Report) -> Iterator[Note]:
    """Every note of the folder in order of the names, one in memory at a time.

    Raises SourceError when the folder cannot be read or two notes have the same id.
    """
    listing = list_files(settings)
    report.warnings += listing.skipped + listing.unreadable
    report.unread_folders += listing.unreadable
    names: dict[str, str] = {}
    for file in listing.files:
        note = _read_note(file, settings.max_file_bytes, report)
        if note is None:
            continue
        other = names.setdefault(note.id, file.name)
        if other != file.name:
            raise SourceError(f"{other!r} and {file.name!r} have the same id {note.id!r}; change the id of one of them")
        yield note


def _read_note(file: File, max_bytes: int, report: Report) -> Note | None:
    try:
        data = read_bytes(file, max_bytes)
        text = decode(data)
    except Unusable as reason:
        report.warnings.append(f"{file.name!r} skipped: {reason}")
        return None
    except FileNotFoundError:
        return None  # deleted since the folder was listed
    except OSError as error:
        report.warnings.append(f"{file.name!r} cannot be read: {error.strerror}")
        report.unread_files.append(file)
        return None
    own_id = declared_id(text)
    return Note(file, own_id or file.name, own_id is not None, hashlib.sha256(data).digest(), text)


def version(folder: Path, file: File, digest: bytes, linked_ids: Iterable[str]) -> str:
    """A hash of all that the note's record comes from: its content, its place, and the notes it links to."""
    parts = [str(RECORD_FORMAT), str(folder), file.name, digest.hex(), *sorted(linked_ids)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
