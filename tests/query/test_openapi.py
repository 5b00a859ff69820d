"""Every route against its own description: schemathesis sends what fits it and what does not, and reads the answers.

No answer is a 5xx or of a status, type or shape that the description does not have. PASSAGEWAY_EXAMPLES sets how many
random requests a route gets beside those that are worked out from its description.
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway.settings import Settings
from passageway_query.app import create_app
from passageway_query.search import Search

pytestmark = pytest.mark.timeout(3600)

EXAMPLES = os.environ.get("PASSAGEWAY_EXAMPLES", "8")
PAGES = "^/(ask|sources|disconnect|sign-in)?$"
# Without or with credentials made up by itself it would be throttled, which has tests of its own; whether made-up codes
# and forms are accepted is not for the description to say.
LEFT_OUT = "ignored_auth,positive_data_acceptance,negative_data_rejection"
# A client without a token is led to the login by whatever method it tries first.
CONFIGURATION = """
[[operations]]
include-path = "/mcp"
checks.unsupported_method.enabled = false
"""


@dataclass(frozen=True)
class Service:
    """A service with every door open, and the description of them."""

    url: str
    description: dict[str, Any]


@pytest.fixture
def service(
    build: Callable[..., None],
    data_dir: Path,
    embedder: Any,
    make_settings: Callable[..., Settings],
    served_on: Callable[..., AbstractContextManager[str]],
) -> Iterator[Service]:
    build()
    listener = socket.create_server(("127.0.0.1", 0))
    settings = make_settings(PASSAGEWAY_BASE_URL=f"http://127.0.0.1:{listener.getsockname()[1]}")
    search = Search(data_dir, embedder)
    app = create_app(settings, search, connectors=["notes"])
    try:
        with served_on(app, listener) as url:
            yield Service(url, app.openapi())
    finally:
        search.close()


def assert_as_described(service: Service, folder: Path, *options: str) -> None:
    """Fail with the report of schemathesis when it has something against the service."""
    description = folder / "openapi.json"
    description.write_text(json.dumps(service.description), encoding="utf-8")
    (folder / "schemathesis.toml").write_text(CONFIGURATION, encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(description), "--url", service.url]
    command += ["--phases", "coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", "1", "--exclude-checks", LEFT_OUT]
    command += ["--suppress-health-check", "all", "--warnings", "off", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert re.search(r"Tested: +[1-9]", done.stdout), done.stdout + done.stderr
    if done.returncode:
        pytest.fail(done.stdout, pytrace=False)


def test_a_strangers_requests_get_documented_answers_at_every_door(service: Service, tmp_path: Path) -> None:
    assert_as_described(service, tmp_path)


def test_requests_with_the_password_get_documented_answers(
    service: Service, tmp_path: Path, auth: dict[str, str]
) -> None:
    header = f"Authorization: {auth['Authorization']}"
    assert_as_described(service, tmp_path, "--header", header, "--include-path-regex", "^/(mcp|recall|metrics|health)$")


def test_forms_of_somebody_signed_in_get_documented_answers(service: Service, tmp_path: Path, password: str) -> None:
    with httpx.Client(base_url=service.url, follow_redirects=True) as browser:
        hidden = re.compile(r'name="token" value="([^"]+)"')
        form = {"password": password, "token": hidden.findall(browser.get("/sign-in").text)[0]}
        home = browser.post("/sign-in", data=form)
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    # A made-up token would never get past the first check.
    for operation in (
        service.description["paths"]["/ask"]["post"],
        service.description["paths"]["/disconnect"]["post"],
    ):
        schema = operation["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
        schema["properties"]["token"] = {"const": hidden.findall(home.text)[0]}
    options = ("--header", f"Cookie: {cookie}", "--include-path-regex", PAGES)
    assert_as_described(service, tmp_path, *options)


def test_the_description_is_not_served(client: httpx.Client) -> None:
    assert [client.get(path).status_code for path in ("/openapi.json", "/docs", "/redoc")] == [404, 404, 404]


@pytest.mark.parametrize("path", ["/health", "/sign-in", "/mcp", "/recall"])
def test_a_405_names_every_method_that_the_address_takes(service: Service, auth: dict[str, str], path: str) -> None:
    allowed = {"/health": "GET, HEAD", "/sign-in": "GET, POST", "/mcp": "POST", "/recall": "POST"}
    assert httpx.put(f"{service.url}{path}", headers=auth).headers.get("allow") == allowed[path]
