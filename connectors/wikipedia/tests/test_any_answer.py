"""Whatever a server sends, the connector ends with an error of its own or with records the core takes."""

import json
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import parse_item, parse_listing
from passageway_connector_wikipedia import Wikipedia
from passageway_sdk import SettingsError, SourceError
from passageway_sdk.records import item_line, listing_line
from passageway_sdk.web.testing import Answer

# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [
    *(None, True, False, -5, 0, 2, 10**12, 0.5, 1e300, float("nan"), float("inf"), "", " ", "x", "\0", "a\ud800", "1"),
    *([], {}, [None], [[]], [{}], {"": None}, {"title": []}, [2, "x"], {"x": {"x": []}}),
]
LETTERS = st.characters()
VALUES = st.sampled_from(ODD) | LETTERS


def sometimes(likely: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what a wiki would say, else anything."""
    return st.one_of(likely, likely, likely, VALUES)


EXTRACTS = st.lists(
    st.sampled_from(["== A ==\n", "=== ===\n", "{\\displaystyle x}", "\n", "word ", "==", "  ", "\ud800", "\x00"])
    | LETTERS
).map("".join)
PAGES = st.fixed_dictionaries(
    {},
    optional={
        "pageid": sometimes(st.integers(1, 3)),
        "ns": sometimes(st.sampled_from([0, 14])),
        "title": sometimes(LETTERS),
        "lastrevid": sometimes(st.integers(1, 9)),
        "extract": sometimes(EXTRACTS),
        "missing": VALUES,
        "redirect": VALUES,
        "fullurl": VALUES,
        "revisions": sometimes(st.just([{"timestamp": "2026-01-01T00:00:00Z"}])),
    },
)
ENTRIES = st.fixed_dictionaries({}, optional={"from": VALUES, "to": VALUES, "title": VALUES})
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "pages": sometimes(st.lists(sometimes(PAGES), max_size=4)),
        "normalized": sometimes(st.lists(sometimes(ENTRIES), max_size=2)),
        "interwiki": sometimes(st.lists(sometimes(ENTRIES), max_size=2)),
    },
)
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "query": sometimes(QUERIES),
        "continue": sometimes(st.just({"gcmcontinue": "page|1", "continue": "-||"})),
        "error": sometimes(st.just({"code": "readapidenied", "info": "no"})),
        "parse": sometimes(st.fixed_dictionaries({"text": sometimes(EXTRACTS)})),
    },
)
BODIES = st.one_of(
    ANSWERS.map(lambda answer: json.dumps(answer).encode()),
    ANSWERS.map(lambda answer: json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=40),
)


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(BODIES, min_size=1, max_size=3), fetch=st.booleans())
def test_any_answer_gives_records_or_an_error_of_the_connectors_own(
    wiki: Any, mediawiki: ModuleType, bodies: list[bytes], fetch: bool
) -> None:
    # What was drawn first, then a wiki that ends whatever is still being continued.
    wiki.faults.clear()
    wiki.faults.extend([Answer(body) for body in bodies] + [mediawiki.reply({"batchcomplete": True})] * 20)
    env = {"API_URL": f"{wiki.server.url}/w/api.php", "PAUSE_SECONDS": "0", "TITLES": "A", "CATEGORIES": "B"}
    connector = Wikipedia(env, sleep=lambda seconds: None)
    try:
        if fetch:
            for item in connector.fetch(["1", "2", "3"]):
                parse_item(json.loads(item_line(item)))
        else:
            for item_id, version in connector.versions().items():
                parse_listing(json.loads(listing_line(item_id, version)))
    except (SourceError, SettingsError) as error:
        assert str(error)
