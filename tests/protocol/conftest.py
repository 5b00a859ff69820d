import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passageway.protocol import Connector

FAKE = [sys.executable, "-m", "passageway.testing.fake_connector"]


def item(item_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": item_id,
        "title": f"Page {item_id}",
        "url": f"https://example.org/{item_id}",
        "version": "1",
        "sections": [{"heading": "Light", "text": "Lighthouses guide ships."}],
        **changes,
    }


@pytest.fixture
def items_path(tmp_path: Path) -> Path:
    """Three items, one of them changed in October 2026."""
    path = tmp_path / "items.json"
    items = [item("a", links=["b"], weight=2, labels=["sea"]), item("b", updated="2026-10-28T09:00:00Z"), item("ç/3")]
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


@pytest.fixture
def fake(items_path: Path) -> Iterator[Callable[..., Connector]]:
    """Makes fake connectors: upper-case arguments are settings, the others go to Connector."""
    made: list[Connector] = []

    def make(**arguments: Any) -> Connector:
        settings = {name: str(arguments.pop(name)) for name in list(arguments) if name.isupper()}
        env = {"FAKE_ITEMS": str(items_path), **settings}
        made.append(Connector("fake", FAKE, env=env, **arguments))
        return made[-1]

    yield make
    for connector in made:
        connector.close()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., Connector]]:
    """Makes connectors out of a few lines of Python."""
    made: list[Connector] = []

    def make(source: str, **arguments: Any) -> Connector:
        made.append(Connector("scripted", [sys.executable, "-c", source], **arguments))
        return made[-1]

    yield make
    for connector in made:
        connector.close()
