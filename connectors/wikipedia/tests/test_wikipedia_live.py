"""The real Wikipedia. Runs only with PASSAGEWAY_LIVE=1, and asks for four small articles."""

import os
import sys

import pytest

from passageway.protocol import Connector
from passageway.testing.contract import check_connector

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.environ.get("PASSAGEWAY_LIVE") != "1", reason="asks Wikipedia; set PASSAGEWAY_LIVE=1"),
]


def connector(**env: str) -> Connector:
    return Connector("live", [sys.executable, "-m", "passageway_connector_wikipedia"], env=env)


@pytest.mark.parametrize(("language", "titles"), [("en", "Dinghy|Boat hook"), ("de", "Jolle|Bootshaken")])
def test_articles_of_wikipedia_arrive_with_sections_and_without_formula_layout(language: str, titles: str) -> None:
    source = connector(LANGUAGE=language, TITLES=titles)
    versions = source.list()
    items = source.fetch(list(versions))
    assert len(items) == len(versions) >= 1
    for item in items:
        assert item.version == versions[item.id] and item.updated
        assert item.url.startswith(f"https://{language}.wikipedia.org/wiki/")
        assert any(section.heading for section in item.sections)
        assert all("displaystyle" not in section.text for section in item.sections)


def test_a_small_category_of_wikipedia_keeps_the_rules_of_the_protocol() -> None:
    check_connector(connector(LANGUAGE="en", TITLES="Boat hook|Dinghy"))
