"""The login with the official MCP client: discovery, registration, PKCE, a person at the form, calls and a refresh."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from passageway_query.auth.documents import Documents

CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


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


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "redirect", "document"),
    [
        ("none", "http://127.0.0.1:5555/callback", None),
        ("client_secret_post", "http://localhost:5555/callback", None),
        ("client_secret_basic", "https://claude.ai/api/mcp/auth_callback", None),
        (None, "https://claude.com/api/mcp/auth_callback", None),
        ("none", "http://localhost:61234/callback", CLAUDE_CODE),
    ],
)
async def test_the_official_client_signs_in_calls_and_refreshes(
    person: Any, method: Any, redirect: str, document: str | None
) -> None:
    await signs_in_calls_and_refreshes(person, method, redirect, document)


@pytest.mark.anyio
async def test_the_official_client_signs_in_by_its_document_where_documents_are_offered(
    meet: Callable[..., Any],
) -> None:
    person = meet(documents=Documents())
    client = await signs_in_calls_and_refreshes(person, "none", "http://localhost:61234/callback", CLAUDE_CODE)
    assert client.client_id == CLAUDE_CODE


async def signs_in_calls_and_refreshes(
    person: Any, method: Any, redirect: str, document: str | None
) -> OAuthClientInformationFull:
    """The client that did, as it knows itself."""
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
        Client(streamable_http_client(f"{person.url}/mcp", http_client=http)) as client,
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
