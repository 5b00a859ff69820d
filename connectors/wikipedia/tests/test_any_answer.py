"""Whatever a server sends, the connector ends with an error of its own or with records the core takes."""

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.records import parse_item, parse_listing
from passageway_connector_wikipedia import Wikipedia
from passageway_sdk import SettingsError, SourceError
from passageway_sdk.records import item_line, listing_line
from passageway_sdk.web.testing import Answer, Request, spoilt

# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [
    *(..., None, True, False, -1, 0, 2, 10**30, 0.5, 1e300, float("nan"), "", " ", "x", "\0", "1", "a\ud800", "\u202e"),
    *([], {}, [None], [[]], [{}], {"": None}, [7, "x"], {"x": {"x": []}}, "x" * 300),
]
LETTERS = st.characters(codec="utf-8")
DAMAGE = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(ODD) | LETTERS), max_size=3)
EXTRACTS = st.lists(
    st.sampled_from(
        ["== A ==\n", "=== ===\n", "{\\displaystyle x}", "\n", "word ", "==", "  ", "\ud800", "\x00", "<p>"]
    )
    | LETTERS,
    max_size=9,
).map("".join)


@pytest.fixture(scope="module")
def site(mediawiki: ModuleType) -> Iterator[Any]:
    """A wiki whose every answer a test may change."""
    made = mediawiki.Wiki(members_a_reply=2)
    with mediawiki.serve(made)[0]:
        yield made


@settings(deadline=None)
@given(
    extract=EXTRACTS,
    damage=DAMAGE,
    at=st.integers(0, 4),
    raw=st.none() | st.none() | st.none() | st.binary(max_size=40),
    fetch=st.booleans(),
)
def test_any_answer_gives_records_or_an_error_of_the_connectors_own(
    site: Any, mediawiki: ModuleType, extract: str, damage: list[Any], at: int, raw: bytes | None, fetch: bool
) -> None:
    boats, already = ("Category:B",), len(site.requests)
    site.pages = {
        1: mediawiki.Page(1, "A", extract, categories=boats),
        2: mediawiki.Page(2, "Category:C", categories=boats),
        3: mediawiki.Page(3, "D", "", html=extract, categories=("Category:C",)),
    }

    def answer(request: Request) -> Answer:
        try:
            usual = site.answer(request)
        except (LookupError, ValueError):
            # What the connector passes on, as a continuation, is spoilt too.
            usual = mediawiki.reply(mediawiki.error("badvalue", "Unrecognized value."))
        if len(site.requests) - already - 1 != at % (3 if fetch else 5):
            return Answer(usual.body)
        return Answer(json.dumps(spoilt(json.loads(usual.body), damage)) if raw is None else raw)

    site.server.answer = answer
    env = {"API_URL": f"{site.server.url}/w/api.php", "PAUSE_SECONDS": "0", "TITLES": "a|fr:A", "CATEGORIES": "B"}
    connector = Wikipedia(env, sleep=lambda seconds: None)
    try:
        if fetch:
            for item in connector.fetch(["1", "3"]):
                parse_item(json.loads(item_line(item)))
        else:
            for item_id, version in connector.versions().items():
                parse_listing(json.loads(listing_line(item_id, version)))
    except (SourceError, SettingsError) as error:
        assert str(error)
