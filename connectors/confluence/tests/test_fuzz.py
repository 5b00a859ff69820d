import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.records import parse_item, parse_listing
from passageway_connector_confluence.connector import ConfluenceConnector
from passageway_connector_confluence.testing import FakeConfluence, FakePage
from passageway_sdk.web.testing import Answer, Request, spoilt

# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [
    *(..., None, True, False, -1, 0, 2, 10**30, 0.5, 1e300, float("nan"), "", " ", "x", "\0", "1", "a\ud800", "\u202e"),
    *([], {}, [None], [[]], [{}], {"": None}, [7, "x"], {"x": {"x": []}}, "x" * 300),
]
LETTERS = st.characters(codec="utf-8")
PAGE_ODD = [
    *(
        "2026-03-10T17:20:00.000-04:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "٣",
        "my",
        "page",
        "OPS",
    ),
    *("/rest/api/content?start=50", "?x", "//[", "../..", "http://[::1", "https://other.test/a"),
    *(
        {"next": "/rest/api/content?start=1"},
        {"next": "//["},
        {"next": 7, "context": "/c"},
        {"next": "https://o.test/"},
    ),
]
DAMAGE = st.lists(st.tuples(st.integers(0, 199), st.sampled_from(ODD + PAGE_ODD) | LETTERS), max_size=3)
MARKUP = [
    *("<h1>", "</h1>", "<h3>", "<p>", "</p>", "<ul><li>", "</ul>", "<table><tr><td colspan='99999'>", "</table>"),
    *(
        '<ac:structured-macro ac:name="code">',
        "</ac:structured-macro>",
        "<ac:plain-text-body>",
        "</ac:plain-text-body>",
    ),
    *("<![CDATA[", "]]>", '<ac:parameter ac:name="title">', "</ac:parameter>", "<ac:rich-text-body>", "<ac:task-list>"),
    *(
        "<ac:task><ac:task-body>",
        "<ac:link>",
        '<ri:page ri:content-title="&quot;B\\"/>',
        "</ac:link>",
        "<x:y z:w='1'/>",
    ),
    *("<a href='/display/OPS/%FF'>", "<a href='//[x/spaces/A/pages/1'>", "&nbsp;", "&#0;", "&nosuch;", "<!--", "<?x"),
]
BODIES = st.lists(st.sampled_from(MARKUP) | LETTERS, max_size=14).map("".join)


@pytest.fixture(scope="module")
def site() -> Iterator[FakeConfluence]:
    with FakeConfluence() as confluence:
        yield confluence


@settings(deadline=None)
@given(
    damage=DAMAGE,
    raw=st.none() | st.none() | st.none() | st.binary(max_size=40),
    body=BODIES,
    at=st.integers(0, 1),
    mode=st.sampled_from(["list", "fetch", "fetch", "changed"]),
)
def test_whatever_the_site_sends_comes_out_as_a_valid_record_or_one_message(
    site: FakeConfluence, damage: list[Any], raw: bytes | None, body: str, at: int, mode: str
) -> None:
    already = len(site.server.requests)
    above = FakePage("1", "Keel", body, labels=("boat", "my:own"))
    site.add(above, replace(above, id="2", title="Lead", parent="1", modified=datetime.now(UTC)))

    def answer(request: Request) -> Answer:
        usual = site.answer(request)
        if len(site.server.requests) - already - 1 != at:
            return usual
        return Answer(json.dumps(spoilt(json.loads(usual.body), damage)) if raw is None else raw)

    site.server.answer = answer
    argv = [mode, "--since", "2026-01-01T00:00:00Z"] if mode == "changed" else [mode]
    out, err = io.StringIO(), io.StringIO()
    code = ConfluenceConnector.run(argv, site.env, ['{"id": "2"}\n'], out, err)
    messages: list[Any] = [json.loads(line) for line in out.getvalue().splitlines()]
    if code:
        assert (code, messages) == (1, [])
        assert "confluence connector: " in err.getvalue()
    else:
        parse = parse_listing if mode == "list" else parse_item
        for message in messages:
            parse(message)
