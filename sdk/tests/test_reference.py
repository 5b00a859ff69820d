from pathlib import Path

import passageway_sdk
from passageway_sdk import Connector

PAGE = Path(__file__).parents[2] / "docs/reference/sdk.md"


def test_the_page_names_everything_that_is_public() -> None:
    text = PAGE.read_text(encoding="utf-8")
    members = [name for name in vars(Connector) if not name.startswith("_")]
    missing = [name for name in (*passageway_sdk.__all__, *members, "__init__") if name not in text]
    assert missing == []
