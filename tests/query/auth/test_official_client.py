"""The login with the official MCP client: discovery, registration, PKCE, a person at the form, calls and a refresh."""

from collections.abc import Callable
from typing import Any

import pytest

from passageway_query.auth.documents import Documents

CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
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
async def test_the_official_client_of_either_era_signs_in_calls_and_refreshes(
    person: Any, signs_in: Callable[..., Any], method: Any, redirect: str, document: str | None, mode: str
) -> None:
    await signs_in(person, method, redirect, document, mode)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_of_either_era_signs_in_by_its_document_where_documents_are_offered(
    meet: Callable[..., Any], signs_in: Callable[..., Any], mode: str
) -> None:
    person = meet(documents=Documents())
    client = await signs_in(person, "none", "http://localhost:61234/callback", CLAUDE_CODE, mode)
    assert client.client_id == CLAUDE_CODE
