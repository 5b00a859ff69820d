import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway.records import parse_item, parse_listing
from passageway_connector_trilium.connector import TriliumConnector
from passageway_connector_trilium.testing import FakeNote, FakeTrilium
from passageway_sdk.web.testing import Answer, Request, spoilt

# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [
    *(..., None, True, False, -1, 0, 2, 10**30, 0.5, 1e300, float("nan"), "", " ", "x", "\0", "1", "a\ud800", "\u202e"),
    *([], {}, [None], [[]], [{}], {"": None}, [7, "x"], {"x": {"x": []}}, "x" * 300),
]
LETTERS = st.characters(codec="utf-8")
NOTE_ODD = [
    *("2026-01-31 22:30:00.000Z", "0001-01-01 00:00:00.000+1400", "9999-12-31 23:59:59.999-1200", "k1", "p1", "root"),
    *("llmWikiPart", "calendarRoot", "archived", "wikiType", "wikiSource", "internalLink", "label", "views", "code"),
]
DAMAGE = st.lists(st.tuples(st.integers(0, 199), st.sampled_from(ODD + NOTE_ODD) | LETTERS), max_size=3)
TAGS = [
    "<h2>",
    "</h2>",
    "<h3>",
    "<p>",
    "</p>",
    "<ul><li>",
    "<table><tr><td rowspan=9999999>",
    "</table>",
    "<pre><code class='language-text-x-'>",
]
TAGS += [
    "<a href='#root/x/k9'>",
    "<a href='http://[::1'>",
    "<!--",
    "<![CDATA[",
    "&nbsp;",
    "&#0;",
    "&#xD800;",
    "<section class='include-note'>",
]
CONTENTS = (
    st.lists(st.sampled_from(TAGS) | LETTERS, max_size=12)
    .map("".join)
    .map(lambda text: text.encode("utf-8", "replace"))
)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeTrilium]:
    with FakeTrilium() as trilium:
        trilium.add(
            FakeNote("p1", "Wiki", labels=(("llmWikiPart", "wiki"),)),
            FakeNote("k1", "Keel", "", ("p1",), (("wikiType", "part"),), (("internalLink", "p1"),)),
        )
        yield trilium


@settings(deadline=None)
@given(
    damage=DAMAGE,
    raw=st.none() | st.none() | st.none() | st.binary(max_size=40),
    content=CONTENTS | st.binary(max_size=60),
    at=st.integers(0, 3),
    mode=st.sampled_from(["list", "fetch", "fetch", "changed"]),
)
def test_whatever_the_server_sends_comes_out_as_a_valid_record_or_one_message(
    server: FakeTrilium, damage: list[Any], raw: bytes | None, content: bytes, at: int, mode: str
) -> None:
    already = len(server.server.requests)

    def answer(request: Request) -> Answer:
        if not request.path.endswith("/notes"):
            return Answer(content, content_type="text/html")
        usual = server.answer(request)
        if len(server.server.requests) - already - 1 != at % (1 if mode == "list" else 4):
            return usual
        return Answer(json.dumps(spoilt(json.loads(usual.body), damage)) if raw is None else raw)

    server.server.answer = answer
    argv = [mode, "--since", "2026-01-01T00:00:00Z"] if mode == "changed" else [mode]
    out, err = io.StringIO(), io.StringIO()
    code = TriliumConnector.run(argv, server.env, ['{"id": "k1"}\n'], out, err)
    messages: list[Any] = [json.loads(line) for line in out.getvalue().splitlines()]
    if code:
        assert (code, messages) == (1, [])
        assert err.getvalue().startswith("trilium connector: ")
    else:
        parse = parse_listing if mode == "list" else parse_item
        for message in messages:
            parse(message)
