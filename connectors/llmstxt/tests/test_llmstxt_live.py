"""Real sites. Runs only with PASSAGEWAY_LIVE=1, and reads one file of each form."""

import os
import sys

import pytest

from passageway.protocol import Connector

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.environ.get("PASSAGEWAY_LIVE") != "1", reason="asks real sites; set PASSAGEWAY_LIVE=1"),
]


@pytest.mark.parametrize("url", ["https://vitepress.dev", "https://docs.agno.com", "https://llmstxt.org/llms.txt"])
def test_a_site_becomes_items_with_titles_texts_and_links(url: str) -> None:
    source = Connector("live", [sys.executable, "-m", "passageway_connector_llmstxt"], env={"URLS": url})
    versions = source.list()
    items = source.fetch(list(versions)[:50])
    assert len(items) == min(50, len(versions))
    for item in items:
        assert item.version == versions[item.id] and item.url.startswith("https://")
    assert sum(bool(item.sections) for item in items) > len(items) // 2
