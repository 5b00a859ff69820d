import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from passageway_connector_wikipedia import Wikipedia
from passageway_sdk.web.testing import Clock


def _load() -> ModuleType:
    name = "passageway_test_mediawiki"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("mediawiki.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def mediawiki() -> ModuleType:
    """The module with the in-test wiki."""
    return _load()


@pytest.fixture
def wiki(mediawiki: ModuleType) -> Iterator[Any]:
    """An empty wiki behind HTTP."""
    made = mediawiki.Wiki()
    server, _ = mediawiki.serve(made)
    with server:
        yield made


@dataclass
class Call:
    """What a call of the connector left: exit code, output and messages."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def call(wiki: Any, clock: Clock) -> Callable[..., Call]:
    """Calls the connector in this process, on the wiki, with a clock of its own."""

    def run(mode: str, *ids: str, **env: str) -> Call:
        settings = {"API_URL": f"{wiki.server.url}/w/api.php", "PAUSE_SECONDS": "0", **env}
        stdout, stderr = StringIO(), StringIO()
        stdin = [f'{{"id": "{item_id}"}}\n' for item_id in ids]
        code = Wikipedia.run([mode], settings, stdin, stdout, stderr, sleep=clock.sleep, now=clock.now)
        return Call(code, stdout.getvalue(), stderr.getvalue())

    return run
