import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MEDIAWIKI = Path(__file__).parents[2] / "connectors" / "wikipedia" / "tests" / "mediawiki.py"


@pytest.fixture(scope="session")
def mediawiki() -> ModuleType:
    """The Wikipedia connector's in-test wiki."""
    name = "passageway_test_mediawiki"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, MEDIAWIKI)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def wiki(mediawiki: ModuleType) -> Iterator[Any]:
    made = mediawiki.Wiki()
    server, _ = mediawiki.serve(made)
    with server:
        yield made
