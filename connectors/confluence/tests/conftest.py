import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from passageway_connector_confluence.connector import ConfluenceConnector
from passageway_connector_confluence.testing import FakeConfluence
from passageway_sdk.web.testing import Clock


@dataclass(frozen=True)
class Outcome:
    """What one call printed, and how it ended."""

    exit_code: int
    messages: list[dict[str, Any]]
    stderr: str

    @property
    def items(self) -> dict[str, dict[str, Any]]:
        return {message["id"]: message for message in self.messages}


@pytest.fixture
def wiki() -> Iterator[FakeConfluence]:
    """A Data Center."""
    with FakeConfluence() as site:
        yield site


@pytest.fixture(params=["datacenter", "cloud"])
def either(request: pytest.FixtureRequest) -> Iterator[FakeConfluence]:
    """One site of each kind."""
    with FakeConfluence(kind=request.param) as site:
        yield site


@pytest.fixture
def call(clock: Clock) -> Callable[..., Outcome]:
    """call(site, "list"), call(site, "fetch", ids=[…]), call(site, "changed", "--since", …); `env` changes settings."""

    def run(
        site: FakeConfluence, *argv: str, ids: list[str] | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        stdin = [json.dumps({"id": item_id}) + "\n" for item_id in ids or []]
        out, err = io.StringIO(), io.StringIO()
        settings = site.env | dict(env or {})
        code = ConfluenceConnector.run(argv, settings, stdin, out, err, sleep=clock.sleep, now=clock.now)
        return Outcome(code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue())

    return run
