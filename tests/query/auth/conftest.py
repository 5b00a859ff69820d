"""A service with the OAuth login on, and a person with a browser and an app in front of it."""

import base64
import hashlib
import json
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from passageway.settings import Settings
from passageway_query.app import create_app
from passageway_query.auth.documents import Documents
from passageway_query.search import Search

VERIFIER = "v" * 50
CALLBACK = "http://127.0.0.1:1/callback"
CLAUDE = "https://claude.ai/api/mcp/auth_callback"


def challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def query_of(reply: httpx.Response) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.headers["location"]).query).items()}


@dataclass
class Person:
    """Somebody who signs in: an app's requests and a browser's forms, each as it would send them."""

    url: str
    password: str
    http: httpx.Client
    registered: dict[str, dict[str, Any]] = field(default_factory=dict)

    def register(self, *uris: str, **metadata: Any) -> dict[str, Any]:
        """The client of a registration; the same one again for the same metadata, as an app keeps its own."""
        known = json.dumps([uris, metadata])
        if known not in self.registered:
            self.registered[known] = self._registration(*uris, **metadata)
        return self.registered[known]

    def _registration(self, *uris: str, **metadata: Any) -> dict[str, Any]:
        reply = self.http.post("/register", json={"redirect_uris": list(uris or [CALLBACK]), **metadata})
        assert reply.status_code == 201, reply.text
        client: dict[str, Any] = reply.json()
        return client

    def authorize(self, client: dict[str, Any], **changes: str | None) -> httpx.Response:
        asked = {
            "response_type": "code",
            "client_id": client["client_id"],
            "redirect_uri": client["redirect_uris"][0],
            "code_challenge": challenge(VERIFIER),
            "code_challenge_method": "S256",
            "state": "xyz",
            "scope": "recall",
            "resource": f"{self.url}/mcp",
            **changes,
        }
        return self.http.get("/authorize", params={name: value for name, value in asked.items() if value is not None})

    def answer(
        self, page: httpx.Response, *, cookies: dict[str, str] | None = None, headers: Any = None, **fields: str
    ) -> httpx.Response:
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', page.text))
        form = {**hidden, "password": self.password, "action": "allow", **fields}
        sent = dict(page.cookies) if cookies is None else cookies
        with httpx.Client(base_url=self.url, cookies=sent) as browser:
            return browser.post("/login", data=form, headers=headers)

    def code(self, client: dict[str, Any], **changes: str | None) -> str:
        return query_of(self.answer(self.authorize(client, **changes)))["code"]

    def token(
        self, client: dict[str, Any], code: str | None, *, auth: Any = None, **changes: str | None
    ) -> httpx.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client["redirect_uris"][0],
            "code_verifier": VERIFIER,
            "client_id": client["client_id"],
            **changes,
        }
        return self.http.post("/token", data={k: v for k, v in form.items() if v is not None}, headers=auth)

    def tokens(self, client: dict[str, Any]) -> dict[str, Any]:
        reply = self.token(client, self.code(client))
        assert reply.status_code == 200, reply.text
        tokens: dict[str, Any] = reply.json()
        return tokens

    def refresh(self, client: dict[str, Any], token: str, **changes: str) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client["client_id"], **changes}
        return self.http.post("/token", data=form)

    def call(self, token: str | None, **headers: str) -> httpx.Response:
        sent = {"Accept": "application/json, text/event-stream", **headers}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        return self.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=sent)


class Memory:
    """Where the client keeps what it was given."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def signs_in_calls_and_refreshes(
    person: Any, method: Any, redirect: str, document: str | None, mode: str = "auto"
) -> OAuthClientInformationFull:
    """The official client after a login, calls and a refresh of its token, as it knows itself."""
    answer: dict[str, str] = {}
    memory = Memory()

    async def to_browser(url: str) -> None:
        page = person.http.get(url)
        assert page.status_code == 200
        location = person.answer(page).headers["location"]
        assert location.startswith(redirect)
        answer.update({name: values[0] for name, values in parse_qs(urlsplit(location).query).items()})

    async def from_browser() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    provider = OAuthClientProvider(
        f"{person.url}/mcp",
        OAuthClientMetadata(redirect_uris=[redirect], client_name="test", token_endpoint_auth_method=method),
        memory,
        to_browser,
        from_browser,
        client_metadata_url=document,
    )
    async with (
        create_mcp_http_client(auth=provider) as http,
        Client(streamable_http_client(f"{person.url}/mcp", http_client=http), mode=mode) as client,
    ):
        found = await client.call_tool("recall", {"query": "When do we rotate the signing certificate?"})
        assert found.structured_content and found.structured_content["passages"]
        assert memory.tokens
        before = memory.tokens.refresh_token
        provider.context.token_expiry_time = time.time() - 10
        assert not (await client.call_tool("status", {})).is_error
        assert memory.tokens.refresh_token != before
    assert memory.client
    return memory.client


@pytest.fixture(scope="session")
def signs_in() -> Callable[..., Awaitable[OAuthClientInformationFull]]:
    """`await signs_in(person, method, redirect, document, mode)`: the official client signs in, calls and refreshes."""
    return signs_in_calls_and_refreshes


Meet = Callable[..., Person]


@contextmanager
def _free_port() -> Iterator[socket.socket]:
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        yield listener


@pytest.fixture
def meet(
    build: Callable[..., None],
    data_dir: Path,
    embedder: Any,
    make_settings: Callable[..., Settings],
    password: str,
    served_on: Callable[..., Any],
) -> Iterator[Meet]:
    """Start a service with the login on and meet a person in front of it: `meet()`, again after a restart too."""
    build()
    with ExitStack() as stack:

        def start(password: str = password, documents: Documents | None = None, **variables: str) -> Person:
            front = _in_front(data_dir, embedder, make_settings, served_on, password, documents, **variables)
            return stack.enter_context(front)

        yield start


@pytest.fixture
def newcomer(meet: Meet) -> Person:
    """A person in front of a service of their own, for tests that guess passwords or register in masses."""
    return meet()


@pytest.fixture(scope="session")
def person(
    tmp_path_factory: pytest.TempPathFactory,
    write_notes: Callable[[Path], Any],
    settings_for: Callable[..., Settings],
    served_on: Callable[..., Any],
    password: str,
) -> Iterator[Person]:
    """A person in front of a service that many tests share."""
    folder = tmp_path_factory.mktemp("login")
    embedder = write_notes(folder)
    with _in_front(folder, embedder, partial(settings_for, folder, folder), served_on, password) as person:
        yield person


@contextmanager
def _in_front(
    data_dir: Path,
    embedder: Any,
    make_settings: Callable[..., Settings],
    served_on: Callable[..., Any],
    password: str,
    documents: Documents | None = None,
    **variables: str,
) -> Iterator[Person]:
    with ExitStack() as stack:
        listener = stack.enter_context(_free_port())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        public = variables.pop("base_url", url)
        settings = make_settings(PASSAGEWAY_BASE_URL=public, PASSAGEWAY_LOGIN_PASSWORD=password, **variables)
        search = Search(data_dir, embedder)
        stack.callback(search.close)
        stack.enter_context(served_on(create_app(settings, search, documents=documents), listener))
        yield Person(url, password, stack.enter_context(httpx.Client(base_url=url, timeout=20)))
