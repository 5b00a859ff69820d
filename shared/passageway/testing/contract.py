"""`check_connector`: what every connector must do, tried on a real one.

    from passageway.protocol import Connector
    from passageway.testing.contract import check_connector

    def test_my_connector():
        check_connector(Connector("mine", ["python", "my_connector.py"], env={"FOLDER": "samples"}))

The rules carry the numbers of docs/reference/connector-protocol.md. Those that the core enforces by itself, such as one
JSON object a line, fail the check too, with the core's own message.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NoReturn, TypeVar

from passageway.errors import ConnectorError, ProtocolVersionError
from passageway.protocol import FETCH_IDS, Connector
from passageway.records import Item

NOBODYS_ID = "passageway-contract-check/no-such-item"

RULES = {
    "P2": "A call that succeeded ends with exit status 0.",
    "P11": "`check` prints one line, and says in it how many items there are.",
    "P12": "A connector that names another protocol version than 1 in `check` is refused.",
    "P13": "`list` prints every item that exists, each id once.",
    "P14": "Ids are stable, and a version changes when the content changes and only then.",
    "P15": "`fetch` prints the record of every requested item that still exists, and skips ids that do not.",
    "P16": "`fetch` prints no item that was not asked for, and none twice.",
    "P17": "An item carries the same version in `list` and in its record.",
    "P18": "`changed` prints records of items that `list` knows, or nothing.",
}

_Result = TypeVar("_Result")


def check_connector(connector: Connector) -> None:
    """Nothing when the connector keeps the rules that a check can try; AssertionError with the rule and what was seen.

    The source must hold still meanwhile and have at least one item. Of a big one, 50 items at most are fetched, spread
    over the listing.
    """
    _try("P11", connector.check)
    listed = _check_listing(connector)
    sample = _spread(list(listed), FETCH_IDS)
    items = _check_fetch(connector, listed, sample)
    _check_part_of_a_fetch(connector, sample, items)
    _check_unknown_ids(connector, sample[0])
    _check_changed(connector, listed)


def _check_listing(connector: Connector) -> dict[str, str]:
    listed = _try("P13", connector.list)
    if not listed:
        _broken("P13", "the listing is empty; let the check run on a source that has at least one item")
    again = _try("P13", connector.list)
    if listed.keys() != again.keys():
        _broken("P14", f"two listings in a row differ in the ids {_names(listed.keys() ^ again.keys())}")
    moved = [item_id for item_id in listed if listed[item_id] != again[item_id]]
    if moved:
        _broken("P14", f"two listings in a row give other versions to {_names(moved)}")
    return listed


def _check_fetch(connector: Connector, listed: dict[str, str], sample: Sequence[str]) -> dict[str, Item]:
    items = {item.id: item for item in _try("P16", lambda: connector.fetch(sample))}
    missing = [item_id for item_id in sample if item_id not in items]
    if missing:
        _broken("P15", f"listed and asked for, but not fetched: {_names(missing)}")
    _same_versions(listed, items.values())
    return items


def _check_part_of_a_fetch(connector: Connector, sample: Sequence[str], before: dict[str, Item]) -> None:
    """A part of the same ids, so that a connector which always prints everything is found out."""
    part = sample[: max(1, len(sample) // 2)]
    items = {item.id: item for item in _try("P16", lambda: connector.fetch(part))}
    missing = [item_id for item_id in part if item_id not in items]
    if missing:
        _broken("P15", f"fetched with others, but not when asked for again: {_names(missing)}")
    other = [item_id for item_id in part if items[item_id] != before[item_id]]
    if other:
        _broken("P14", f"fetched twice, with another content although the source is unchanged: {_names(other)}")


def _check_unknown_ids(connector: Connector, known: str) -> None:
    if _try("P15", lambda: connector.fetch([NOBODYS_ID])):
        _broken("P15", f"there is an item for the id {NOBODYS_ID!r}, which does not exist")
    found = [item.id for item in _try("P15", lambda: connector.fetch([NOBODYS_ID, known]))]
    if found != [known]:
        _broken("P15", f"asked for {known!r} and an id that does not exist, it fetched {found}")


def _check_changed(connector: Connector, listed: dict[str, str]) -> None:
    now = datetime.now(UTC)
    # A big source is not asked for everything it ever changed: the core only ever asks for the last days.
    long_ago = datetime(1970, 1, 1, tzinfo=UTC) if len(listed) <= FETCH_IDS else now - timedelta(days=7)
    for since in (now + timedelta(days=1), now, long_ago):
        items = _try("P18", partial(connector.changed, since))
        strangers = [item.id for item in items if item.id not in listed]
        if strangers:
            _broken("P18", f"`changed` prints what `list` does not: {_names(strangers)}")
        _same_versions(listed, items)


def _same_versions(listed: dict[str, str], items: Collection[Item]) -> None:
    for item in items:
        if item.version != listed[item.id]:
            _broken("P17", f"{item.id!r} has version {listed[item.id]!r} in `list` and {item.version!r} in its record")


def _try(rule: str, call: Callable[[], _Result]) -> _Result:
    try:
        return call()
    except ProtocolVersionError as error:
        _broken("P12", str(error))
    except ConnectorError as error:
        _broken(rule, str(error))


def _broken(rule: str, seen: str) -> NoReturn:
    raise AssertionError(f"rule {rule}: {RULES[rule]} Seen: {seen}") from None


def _spread(ids: Sequence[str], count: int) -> list[str]:
    """At most `count` ids from the first to the last."""
    step = max(1, -(-len(ids) // count))
    return list(ids[::step])


def _names(ids: Collection[str]) -> str:
    shown = [repr(item_id) for item_id in sorted(ids)[:3]]
    return ", ".join(shown) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
