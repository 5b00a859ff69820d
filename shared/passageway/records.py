"""The messages of connector protocol v1 as frozen values, and the rules that a message must keep.

`docs/reference/connector-protocol.schema.json` states the same rules for other languages; a table of good and bad
records in the tests keeps the two in step.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from passageway.errors import ProtocolVersionError, RecordError

PROTOCOL_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of an item's text. `heading` is the trail (`Setup › Linux`) or None for text before any heading."""

    heading: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """One page, note or file of a source. `weight` multiplies the ranking score; `links` are ids of related items."""

    id: str
    title: str
    url: str
    version: str
    sections: tuple[Section, ...]
    weight: float = 1.0
    path: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    updated: str | None = None


@dataclass(frozen=True, slots=True)
class CheckReply:
    """The answer to `check`: how many items the connector sees."""

    count: int


def _object(message: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(message, dict):
        raise RecordError(f"{what}: expected a JSON object, got {_kind(message)}")
    return message


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _text(message: Mapping[str, Any], key: str, what: str, *, empty: bool = False) -> str:
    if key not in message:
        raise RecordError(f"{what}: {key!r} is missing")
    value = message[key]
    if not isinstance(value, str):
        raise RecordError(f"{what}: {key!r} must be a string, got {_kind(value)}")
    if not empty and not value.strip():
        raise RecordError(f"{what}: {key!r} is empty")
    return _encodable(value, key, what)


def _encodable(value: str, key: str, what: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RecordError(f"{what}: {key!r} holds a lone surrogate, which UTF-8 cannot hold") from error
    return value


def _texts(message: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
    value = message.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RecordError(f"{what}: {key!r} must be a list of strings, got {_kind(value)}")
    for entry in value:
        if not isinstance(entry, str):
            raise RecordError(f"{what}: {key!r} must hold nothing but strings, got {_kind(entry)} in it")
    return tuple(_encodable(entry, key, what) for entry in value)


def _weight(message: Mapping[str, Any], what: str) -> float:
    value = message.get("weight")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{what}: 'weight' must be a number, got {_kind(value)}")
    if not 0 <= value <= sys.float_info.max:
        raise RecordError(f"{what}: 'weight' must be a finite number of 0 or more, got {value!r}")
    return float(value)


def _sections(message: Mapping[str, Any], what: str) -> tuple[Section, ...]:
    if "sections" not in message:
        raise RecordError(f"{what}: 'sections' is missing (it may be an empty list)")
    value = message["sections"]
    if not isinstance(value, list):
        raise RecordError(f"{what}: 'sections' must be a list, got {_kind(value)}")
    sections = []
    for number, entry in enumerate(value, 1):
        where = f"{what}: section {number}"
        section = _object(entry, where)
        heading = section.get("heading")
        if heading is not None:
            heading = _text(section, "heading", where, empty=True).strip()
        sections.append(Section(heading or None, _text(section, "text", where, empty=True)))
    return tuple(sections)


def parse_item(message: Any) -> Item:
    """The item in a record of `fetch` or `changed`; unknown keys are ignored. Raises RecordError."""
    record = _object(message, "item")
    item_id = _text(record, "id", "item")
    what = f"item {item_id!r}"
    updated = None if record.get("updated") is None else _text(record, "updated", what, empty=True)
    return Item(
        id=item_id,
        title=_text(record, "title", what),
        url=_text(record, "url", what, empty=True),
        version=_text(record, "version", what),
        sections=_sections(record, what),
        weight=_weight(record, what),
        path=_texts(record, "path", what),
        links=_texts(record, "links", what),
        labels=_texts(record, "labels", what),
        updated=updated or None,
    )


def parse_listing(message: Any) -> tuple[str, str]:
    """The (id, version) of a line of `list`. Raises RecordError."""
    record = _object(message, "listing")
    item_id = _text(record, "id", "listing")
    return item_id, _text(record, "version", f"listing of {item_id!r}")


def parse_check(message: Any) -> CheckReply:
    """The reply to `check`. Raises RecordError, or ProtocolVersionError for another protocol version."""
    record = _object(message, "check")
    version = record.get("protocol", PROTOCOL_VERSION)
    if version != PROTOCOL_VERSION:
        raise ProtocolVersionError(
            f"the connector speaks protocol {version!r}, this passageway speaks {PROTOCOL_VERSION!r}; "
            "update whichever of the two is older"
        )
    if record.get("ok") is not True:
        raise RecordError(f"check: 'ok' must be true, got {record.get('ok')!r}")
    count = record.get("count")
    if isinstance(count, bool) or not isinstance(count, int | float) or count < 0 or count != count // 1:
        raise RecordError(f"check: 'count' must be a whole number of 0 or more, got {count!r}")
    # Languages with one kind of number print 42.0.
    return CheckReply(int(count))
