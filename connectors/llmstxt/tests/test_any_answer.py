"""Whatever a site sends, the connector ends with an error of its own or with records the core takes."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import parse_item, parse_listing
from passageway_connector_llmstxt import LlmsTxt
from passageway_sdk import SourceError
from passageway_sdk.records import item_line, listing_line

PIECES = st.sampled_from(
    [
        *(
            "# ",
            "## ",
            "\n",
            "\n\n",
            "---\n",
            "url: /a.md\n",
            "url: http://[x\n",
            "url:  \n",
            "title: t\n",
            "Source: /b\n",
        ),
        *(
            "# Source: https://h.test/c.md\n",
            "Source: http://[\n",
            "```\n",
            "~~~",
            "<!--",
            "-->",
            "[a](b.md)",
            "[s](llms.txt)",
        ),
        *(
            "[x](%zz)",
            "[y](\x00)",
            "http://127.0.0.1/",
            "word ",
            "\u00a0",
            "\ufeff",
            "\x00",
            "\u2028",
            "|",
            "\t",
            "    ",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.characters(), max_size=30).map("".join)
BODIES = st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=40))
TYPES = st.sampled_from(
    ["text/plain", "text/markdown; charset=latin-1", "text/html", "image/png", "", "x; charset=\u00e9"]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.tuples(BODIES, BODIES), content_type=TYPES, index=st.booleans())
def test_any_answer_gives_records_or_an_error_of_the_connectors_own(
    website: Any, bodies: tuple[bytes, bytes], content_type: str, index: bool
) -> None:
    website.put("/llms-full.txt", bodies[0], content_type)
    website.put("/llms.txt", bodies[0])
    website.put("/b.md", bodies[1], content_type)
    connector = LlmsTxt({"URLS": f"{website.url}/llms.txt" if index else website.url}, sleep=lambda seconds: None)
    try:
        versions = connector.versions()
        for item_id, version in versions.items():
            parse_listing(json.loads(listing_line(item_id, version)))
        items = [parse_item(json.loads(item_line(item))) for item in connector.fetch(list(versions))]
    except SourceError as error:
        assert str(error)
    else:
        assert {item.id: item.version for item in items} == versions
