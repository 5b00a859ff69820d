"""The core's rules for what a connector prints, checked before it is printed.

The core keeps the same rules in its own words, and the JSON Schema in a third form; one table of good and bad records
in the project's tests holds all three together.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from passageway_sdk.errors import RecordError

PROTOCOL_VERSION = "1"

_Rule = Callable[[Any], str | None]


def line(message: Mapping[str, Any]) -> str:
    """The message as one line of ASCII JSON, newline included. Raises RecordError for what JSON cannot hold."""
    try:
        return json.dumps(message, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{_owner(message)} cannot be written as JSON: {error}") from error


def check_line(count: Any) -> str:
    """The answer to `check`. Raises RecordError unless the count is a whole number of 0 or more."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise RecordError(f"check: the count must be a whole number of 0 or more, got {count!r}")
    return line({"ok": True, "count": count, "protocol": PROTOCOL_VERSION})


def listing_line(item_id: Any, version: Any) -> str:
    """One line of `list`. Raises RecordError."""
    message = {"id": item_id, "version": version}
    _keep(message, {"id": _name, "version": _name}, {}, "list")
    return line(message)


def item_line(item: Any) -> str:
    """One line of `fetch` or `changed`. Raises RecordError saying which rule the item breaks."""
    if not isinstance(item, dict):
        raise RecordError(f"an item must be a dict, got {_kind(item)}")
    _keep(item, _REQUIRED, _OPTIONAL, _owner(item))
    return line(item)


def _keep(message: Mapping[str, Any], required: dict[str, _Rule], optional: dict[str, _Rule], owner: str) -> None:
    for key, rule in required.items():
        if key not in message:
            raise RecordError(f"{owner}: {key!r} is missing")
        _raise_for(rule(message[key]), owner, key)
    for key, rule in optional.items():
        if message.get(key) is not None:
            _raise_for(rule(message[key]), owner, key)


def _raise_for(problem: str | None, owner: str, key: str) -> None:
    if problem is not None:
        raise RecordError(f"{owner}: {key!r} {problem}")


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"must be a string, got {_kind(value)}"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which UTF-8 has no bytes for"
    return None


def _name(value: Any) -> str | None:
    """The rule for ids, titles and versions: a string with something in it."""
    return _string(value) or (None if value.strip() else "must not be empty")


def _strings(value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return f"must be a list of strings, got {_kind(value)}"
    for number, entry in enumerate(value, 1):
        if problem := _string(entry):
            return f"entry {number} {problem}"
    return None


def _weight(value: Any) -> str | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= sys.float_info.max:
        return f"must be a finite number of 0 or more, got {_kind(value) if not number else value!r}"
    return None


def _sections(value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return f"must be a list, got {_kind(value)}"
    for number, section in enumerate(value, 1):
        if not isinstance(section, dict):
            return f"entry {number} must be a dict, got {_kind(section)}"
        if "text" not in section:
            return f"entry {number} has no 'text'"
        if problem := _string(section["text"]):
            return f"entry {number}: 'text' {problem}"
        heading = section.get("heading")
        if heading is not None and (problem := _string(heading)):
            return f"entry {number}: 'heading' {problem}"
    return None


_REQUIRED: dict[str, _Rule] = {"id": _name, "title": _name, "url": _string, "version": _name, "sections": _sections}
_OPTIONAL: dict[str, _Rule] = {
    "weight": _weight,
    "path": _strings,
    "links": _strings,
    "labels": _strings,
    "updated": _string,
}


def _owner(message: Mapping[str, Any]) -> str:
    return f"item {message['id']!r}" if isinstance(message.get("id"), str) else "an item"


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
