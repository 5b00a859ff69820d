import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest

from passageway_connector_llmstxt import LlmsTxt
from passageway_sdk.web.testing import Answer, LocalServer, Request


@dataclass
class Website:
    """Files by their path; whatever else is asked for is not found."""

    files: dict[str, Answer] = field(default_factory=dict)
    server: LocalServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = LocalServer(self._answer)

    def put(self, path: str, body: bytes | str, content_type: str = "text/markdown; charset=utf-8") -> None:
        self.files[path] = Answer(body, content_type=content_type)

    def redirect(self, path: str, location: str, status: int = 301) -> None:
        self.files[path] = Answer(status=status, headers={"Location": location})

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.server.requests]

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def _answer(self, request: Request) -> Answer:
        return self.files.get(request.target) or self.files.get(request.path) or Answer("Not found", status=404)


@dataclass
class Call:
    """What a call of the connector left: exit code, decoded output and messages."""

    code: int
    lines: list[dict[str, Any]]
    stderr: str


@pytest.fixture
def website() -> Iterator[Website]:
    made = Website()
    with made.server:
        yield made


@pytest.fixture
def slept() -> list[float]:
    """The waits of the connector, none of which a test sits out."""
    return []


@pytest.fixture
def call(website: Website, slept: list[float]) -> Callable[..., Call]:
    """Calls the connector in this process; `{site}` in URLS is the website."""

    def run(mode: str, *ids: str, urls: str = "{site}", **env: str) -> Call:
        stdout, stderr = StringIO(), StringIO()
        settings = {"URLS": urls.replace("{site}", website.url), **env}
        stdin = [json.dumps({"id": item_id}) for item_id in ids]
        code = LlmsTxt.run([mode], settings, stdin, stdout, stderr, sleep=slept.append)
        return Call(code, [json.loads(line) for line in stdout.getvalue().splitlines()], stderr.getvalue())

    return run


@pytest.fixture
def items(call: Callable[..., Call]) -> Callable[..., list[dict[str, Any]]]:
    """The records of everything that is listed, checked to carry the listed versions."""

    def read(**env: str) -> list[dict[str, Any]]:
        listed = call("list", **env)
        assert listed.code == 0, listed.stderr
        versions = {line["id"]: line["version"] for line in listed.lines}
        assert len(versions) == len(listed.lines)
        fetched = call("fetch", *versions, **env)
        assert fetched.code == 0, fetched.stderr
        assert {item["id"]: item["version"] for item in fetched.lines} == versions
        return fetched.lines

    return read
