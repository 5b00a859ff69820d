"""Notes into items: which become one, how they hang together, and their records."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from passageway_connector_trilium.content import Content
from passageway_connector_trilium.notes import ROOT_ID, Note
from passageway_connector_trilium.tree import Place, places

INDEXED_TYPES = ("text", "code")
CITES = "wikiSource"
"""The relation by which a summary names its source; the source gets the link back."""
LINK_RELATIONS = ("internalLink", "relatesTo", CITES)
_WIKI_LABELS = {"wikiType": "type", "wikiTopic": "topic", "wikiStatus": "status"}
_RECORD_FORM = 1
"""Part of each version. Raise it when records of unchanged notes come out differently."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A note that becomes an item. `cited_by` has the ids of the summaries that name it as their source."""

    note: Note
    place: Place
    cited_by: tuple[str, ...]


def indexed_notes(notes: Mapping[str, Note]) -> dict[str, Indexed]:
    """Those of the notes that become items.

    `notes` must hold the notes above each of them, and the notes that cite them, with the notes above those.
    """
    place_of = places(notes)
    kept = {note.id: note for note in notes.values() if _is_indexed(note, place_of[note.id])}
    cited_by: dict[str, list[str]] = defaultdict(list)
    for note in kept.values():
        for name, target in note.relations:
            if name == CITES:
                cited_by[target].append(note.id)
    return {
        note.id: Indexed(note, place_of[note.id], tuple(sorted(set(cited_by[note.id]) - {note.id})))
        for note in kept.values()
    }


def _is_indexed(note: Note, place: Place) -> bool:
    shown = not note.is_protected and not note.is_archived and note.id != ROOT_ID
    return shown and note.type in INDEXED_TYPES and not place.is_plumbing


def labels(item: Indexed) -> list[str]:
    """`area:wiki`, and `type:`, `topic:` and `status:` from the labels that an LLM wiki gives its notes."""
    area = [f"area:{item.place.area}"] if item.place.area else []
    # In an order of our own: Trilium promises none, and a record must not differ from one fetch to the next.
    values = {
        name: sorted({value for key, value in item.note.labels if key == name and value}) for name in _WIKI_LABELS
    }
    return area + [f"{_WIKI_LABELS[name]}:{value}" for name in values for value in values[name]]


def version(item: Indexed, url: str) -> str:
    """Changes with whatever the record has in it; the content counts by what Trilium says of it."""
    note = item.note
    parts = [
        _RECORD_FORM,
        *(note.content_version, note.updated, note.title, note.type, url),
        *(item.place.weight, item.place.path, labels(item), _relation_links(note), item.cited_by),
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()[:20]


def record(item: Indexed, content: Content, url: str) -> dict[str, Any]:
    """The item as the protocol wants it."""
    links = dict.fromkeys([*_relation_links(item.note), *content.links, *item.cited_by])
    links.pop(item.note.id, None)
    message: dict[str, Any] = {
        "id": item.note.id,
        "title": item.note.title,
        "url": url,
        "version": version(item, url),
        "sections": content.sections,
        "weight": item.place.weight,
        "path": list(item.place.path),
        "links": list(links),
        "labels": labels(item),
    }
    return message if item.note.updated is None else message | {"updated": item.note.updated}


def _relation_links(note: Note) -> list[str]:
    """Sorted within each kind, in the order of LINK_RELATIONS."""
    return [
        target
        for relation in LINK_RELATIONS
        for target in sorted({value for name, value in note.relations if name == relation})
        if target not in ("", note.id)
    ]


def parents_missing(notes: Mapping[str, Note], asked: Iterable[str]) -> set[str]:
    """The parents that are neither among the notes nor among those asked for already."""
    return {parent for note in notes.values() for parent in note.parents} - notes.keys() - set(asked)
