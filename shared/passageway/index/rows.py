"""An item as the values of its row, and the folded forms that filters compare with."""

from collections.abc import Sequence
from datetime import UTC, datetime
from json import JSONEncoder

from passageway.passages import trail
from passageway.records import Item

_COLUMNS = "item_id, title, url, version, weight, path, links, labels, updated, trail, path_key, labels_key, updated_s"
_MARKS = ", ".join("?" * (_COLUMNS.count(",") + 1))

INSERT_ITEM = f"INSERT INTO items ({_COLUMNS}) VALUES ({_MARKS})"
UPDATE_ITEM = f"UPDATE items SET ({_COLUMNS}) = ({_MARKS}) WHERE id = ?"

_json = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def item_columns(item: Item) -> tuple[object, ...]:
    """Values in the order of `INSERT_ITEM`."""
    return (
        item.id,
        clean(item.title),
        item.url,
        item.version,
        item.weight,
        _json(item.path),
        _json(item.links),
        _json(item.labels),
        item.updated,
        joined(item.path),
        entries_key(item.path),
        entries_key(item.labels),
        seconds_since_1970(item.updated),
    )


def clean(text: str) -> str:
    """The text without NUL, at which SQLite's text functions would stop."""
    return text.replace("\x00", " ")


def joined(parts: Sequence[str | None]) -> str:
    """The parts that are not empty as one trail."""
    return clean(trail(parts))


def folded(text: str) -> str:
    """The text as filters compare it: without case, every run of space as one blank."""
    return " ".join(text.casefold().split())


def entries_key(entries: Sequence[str]) -> str:
    """The folded entries, each between line breaks, so that a whole one is found with `instr`."""
    return "".join(f"\n{folded(entry)}" for entry in entries) + "\n"


def seconds_since_1970(text: str | None) -> float | None:
    """The instant an ISO 8601 date or time names; one without a zone counts as UTC. None when it names none."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
