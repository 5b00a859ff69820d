"""From a note to the item record of the connector protocol."""

import json
import posixpath
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from passageway_connector_markdown.document import Section, read_document
from passageway_connector_markdown.front_matter import read_front_matter
from passageway_connector_markdown.links import Names, candidates
from passageway_connector_markdown.notes import Note, version

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The longest line the core accepts by default (connector protocol v1)."""

MAX_CALL_BYTES = 60 * 1024 * 1024
"""What one call prints at most. The core accepts 64 MiB by default and refuses the whole call beyond it."""

Record = dict[str, Any]
Warn = Callable[[str], None]


def make_record(note: Note, names: Names, folder: Path, warn: Warn) -> Record:
    """The item of a note. Keys of its front matter that cannot be used are reported by `warn`."""
    front = read_front_matter(note.text)
    name = unicodedata.normalize("NFC", note.file.name)
    for problem in front.problems:
        warn(f"{note.file.name!r}: {problem}")
    targets = candidates(note.text)
    document = read_document(
        note.text[front.end :],
        targets,
        title=front.title,
        is_mdx=name.endswith(".mdx"),
        is_drawing=front.is_drawing,
    )
    return {
        "id": note.id,
        "title": front.title or document.first_heading or posixpath.splitext(posixpath.basename(name))[0],
        "url": front.url or Path(note.file.path).as_uri(),
        "version": version(folder, note.file, note.digest, names.linked_ids(targets, note.file.name)),
        "sections": [_section(section) for section in document.sections],
        "weight": front.weight,
        "path": name.split("/")[:-1],
        "links": names.linked_ids(document.targets, note.file.name),
        "labels": list(front.labels),
        "updated": front.updated or _time(note.file.modified_s),
    }


def _section(section: Section) -> dict[str, str | None]:
    return {"heading": section.heading, "text": section.text}


def _time(seconds: float) -> str | None:
    """The time in UTC, or None for one outside the years 1 to 9999, which some file systems hand out."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def within_limits(records: Iterable[Record], warn: Warn) -> Iterator[Record]:
    """The records as far as the core accepts them in one call; `warn` says which are left out, and why."""
    total_bytes = 0
    for record in records:
        size_bytes = len(json.dumps(record)) + 1
        if size_bytes > MAX_LINE_BYTES:
            warn(f"{record['id']!r} left out: its record has {size_bytes} bytes, a line at most {MAX_LINE_BYTES}")
            continue
        total_bytes += size_bytes
        if total_bytes > MAX_CALL_BYTES:
            warn(f"{record['id']!r} and the items after it left out: a call holds {MAX_CALL_BYTES} bytes at most")
            return
        yield record
