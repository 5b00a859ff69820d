import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import parse_item
from passageway_connector_trilium.connector import TriliumConnector
from passageway_connector_trilium.testing import FakeTrilium
from passageway_sdk.web.testing import Answer, Request

EXAMPLES = 2000
# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [None, True, -1, 7, 10**30, 0.5, 1e300, "", " ", "x", "\0", "1", [], {}, [None], [[]], [{}], {"": None}, [7, "x"]]
LETTERS = st.characters(codec="utf-8")
WORDS = st.sampled_from(["", " ", "Keel", "a › b", "\n", "\ufeff", "\u202e", "Ärger", "<b>&amp;", "x" * 300]) | LETTERS
JUNK = st.sampled_from(ODD) | WORDS
IDS = st.sampled_from(["k1", "p1", "root", "none", "_hidden", "a/b", ""])
TIMES = st.sampled_from(
    ["2026-01-31 22:30:00.000Z", "0001-01-01 00:00:00.000+1400", "9999-12-31 23:59:59.999-1200", "?"]
)
NAMES = st.sampled_from(["llmWikiPart", "calendarRoot", "archived", "wikiType", "wikiSource", "internalLink", "x"])
ATTRIBUTES = st.fixed_dictionaries(
    {"noteId": IDS | JUNK, "type": st.sampled_from(["label", "relation"]) | JUNK, "name": NAMES | JUNK},
    optional={"value": st.sampled_from(["wiki", "views", "k1", "p1", " "]) | JUNK},
)
NOTES = st.fixed_dictionaries(
    {"noteId": st.just("k1") | IDS | JUNK, "type": st.sampled_from(["text", "code"]) | JUNK},
    optional={
        "title": WORDS | JUNK,
        "mime": WORDS | JUNK,
        "isProtected": st.booleans() | JUNK,
        "blobId": WORDS | JUNK,
        "utcDateModified": TIMES | JUNK,
        "dateModified": TIMES | JUNK,
        "parentNoteIds": st.lists(IDS | JUNK, max_size=3) | JUNK,
        "attributes": st.lists(ATTRIBUTES | JUNK, max_size=3) | JUNK,
    },
)
ANSWERS = st.fixed_dictionaries({"results": st.lists(NOTES, max_size=3) | JUNK}) | JUNK
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
        yield trilium


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    search=ANSWERS.map(json.dumps).map(str.encode) | st.binary(max_size=40),
    content=CONTENTS | st.binary(max_size=60),
    mode=st.sampled_from(["list", "fetch", "fetch", "changed"]),
)
def test_whatever_the_server_sends_comes_out_as_a_valid_record_or_one_message(
    server: FakeTrilium, search: bytes, content: bytes, mode: str
) -> None:
    def answer(request: Request) -> Answer:
        return Answer(search) if request.path.endswith("/notes") else Answer(content, content_type="text/html")

    server.instead = answer
    argv = [mode, "--since", "2026-01-01T00:00:00Z"] if mode == "changed" else [mode]
    out, err = io.StringIO(), io.StringIO()
    code = TriliumConnector.run(argv, server.env, ['{"id": "k1"}\n'], out, err)
    messages: list[Any] = [json.loads(line) for line in out.getvalue().splitlines()]
    if code:
        assert (code, messages) == (1, [])
        assert err.getvalue().startswith("trilium connector: ")
    elif mode != "list":
        for message in messages:
            parse_item(message)
