import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import parse_item
from passageway_connector_confluence.connector import ConfluenceConnector
from passageway_connector_confluence.testing import FakeConfluence
from passageway_sdk.web.testing import Answer, Request

EXAMPLES = 2000
# One draw each: whatever is drawn value by value takes most of an example's time.
ODD = [None, True, -1, 7, 10**30, 0.5, 1e300, "", " ", "x", "\0", "1", [], {}, [None], [[]], [{}], {"": None}, [7, "x"]]
LETTERS = st.characters(codec="utf-8")
WORDS = st.sampled_from(["", " ", "Keel", "a › b", "\n", "\ufeff", "\u202e", "Ärger", "<b>&amp;", "x" * 300]) | LETTERS
JUNK = st.sampled_from(ODD) | WORDS
TIMES = st.sampled_from(
    ["2026-03-10T17:20:00.000-04:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "?"]
)
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
LABEL = st.fixed_dictionaries({"name": WORDS | JUNK}, optional={"prefix": st.just("my") | JUNK})
LABELS = st.fixed_dictionaries({"results": st.lists(LABEL | JUNK, max_size=3) | JUNK})
LINKS = st.fixed_dictionaries({}, optional={"webui": WORDS | JUNK, "base": st.just("https://w.test") | JUNK})
PAGES = st.fixed_dictionaries(
    {
        "id": st.just("1") | st.sampled_from(["2", 1, "", "x", "٣"]) | JUNK,
        "type": st.just("page") | JUNK,
        "space": st.just({"key": "OPS"}) | JUNK,
        "version": st.fixed_dictionaries({"number": st.integers(0, 9) | JUNK}, optional={"when": TIMES | JUNK}) | JUNK,
    },
    optional={
        "title": WORDS | JUNK,
        "status": st.just("current") | JUNK,
        "ancestors": st.lists(st.fixed_dictionaries({"title": WORDS | JUNK}) | JUNK, max_size=6) | JUNK,
        "metadata": st.fixed_dictionaries({"labels": LABELS | JUNK}) | JUNK,
        "body": st.fixed_dictionaries({"storage": st.fixed_dictionaries({"value": BODIES | JUNK}) | JUNK}) | JUNK,
        "_links": LINKS | JUNK,
    },
)
ADDRESSES = ["/rest/api/content?start=50", "", "?x", "//[", "../..", "http://[::1", "https://other.test/a"]
NEXT = st.fixed_dictionaries({"next": st.sampled_from(ADDRESSES) | JUNK}, optional={"context": st.just("/c") | JUNK})
ANSWERS = st.fixed_dictionaries({"results": st.lists(PAGES, max_size=3) | JUNK}, optional={"_links": NEXT | JUNK})


@pytest.fixture(scope="module")
def site() -> Iterator[FakeConfluence]:
    with FakeConfluence() as confluence:
        yield confluence


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=ANSWERS.map(json.dumps).map(str.encode) | st.binary(max_size=40),
    page=PAGES.map(json.dumps).map(str.encode) | st.binary(max_size=40),
    mode=st.sampled_from(["list", "fetch", "fetch", "changed"]),
)
def test_whatever_the_site_sends_comes_out_as_a_valid_record_or_one_message(
    site: FakeConfluence, parts: bytes, page: bytes, mode: str
) -> None:
    def answer(request: Request) -> Answer:
        return Answer(page) if request.path.rpartition("/")[2].isdigit() else Answer(parts)

    site.instead = answer
    argv = [mode, "--since", "2026-01-01T00:00:00Z"] if mode == "changed" else [mode]
    out, err = io.StringIO(), io.StringIO()
    code = ConfluenceConnector.run(argv, site.env, ['{"id": "1"}\n'], out, err)
    messages: list[Any] = [json.loads(line) for line in out.getvalue().splitlines()]
    if code:
        assert (code, messages) == (1, [])
        assert "confluence connector: " in err.getvalue()
    elif mode != "list":
        for message in messages:
            parse_item(message)
