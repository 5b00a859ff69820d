"""The login with the official MCP client: discovery, registration, PKCE, a person at the form, calls and a refresh."""

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


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
        ("none", "http://localhost:61234/callback", "https://claude.ai/oauth/claude-code-client-metadata"),
    ],
)
async def test_the_official_client_signs_in_calls_and_refreshes(
    person: Any, method: Any, redirect: str, document: str | None
) -> None:
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
