import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passageway_connector_trilium.testing import FakeTrilium

GOLDEN = Path(__file__).with_name("wiki") / "golden.jsonl"


def test_the_records_of_the_fixture_wiki_are_those_that_were_read_and_found_right(
    workshop: FakeTrilium, call: Callable[..., Any]
) -> None:
    """Written by `fetch` for the ids of `list`. A wanted change of the form raises `_RECORD_FORM` in items.py too."""
    golden = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    assert list(call("list").items) == [item["id"] for item in golden]
    assert call("fetch", ids=[item["id"] for item in golden]).messages == golden
