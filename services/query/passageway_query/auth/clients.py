"""OAuth clients. A registration is not stored: the client's id carries it, signed, so none gets lost or piles up."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin

from passageway_query.auth.addresses import (
    MAX_REDIRECT_CHARS,
    MAX_REDIRECT_URIS,
    SCOPE,
    matches,
    may_be_registered,
)
from passageway_query.auth.seal import Seal

MAX_CLIENT_ID_CHARS = 4_000
MAX_NAME_CHARS = 100

# Claude's client id metadata documents, as published at these addresses. They are known by heart and never fetched, so
# that Claude can sign in where the server does not reach the internet, or may not.
PINNED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "https://claude.ai/oauth/mcp-oauth-client-metadata": (
        "Claude",
        ("https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"),
    ),
    "https://claude.ai/oauth/claude-code-client-metadata": (
        "Claude Code",
        ("http://localhost/callback", "http://127.0.0.1/callback"),
    ),
}


@dataclass(frozen=True, slots=True)
class Client(ClientMixin):
    """A public client, as all of ours are: it proves itself by PKCE and the redirect address, not by a secret."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str:
        """There is one scope; whatever is asked for, it is the one granted."""
        return SCOPE

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return any(matches(registered, redirect_uri) for registered in self.redirect_uris)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


class RegistrationError(Exception):
    """A registration that cannot be accepted; `code` is of RFC 7591."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Registry:
    """Makes client ids and reads them back; without the key none can be made up."""

    def __init__(self, key: bytes) -> None:
        self._seal = Seal(key, "client")

    def register(self, metadata: Any, now_s: int) -> tuple[Client, dict[str, Any]]:
        """The client and the answer to its registration (RFC 7591). Raises RegistrationError.

        Whatever authentication it asked for, it is told `none`; every known client accepts that.
        """
        if not isinstance(metadata, dict):
            raise RegistrationError("invalid_client_metadata", "expected a JSON object")
        uris = redirect_uris(metadata.get("redirect_uris"))
        name = client_name(metadata.get("client_name"))
        client_id = self._seal.close({"n": name, "r": list(uris), "t": now_s})
        client = Client(client_id, name, uris)
        answer: dict[str, Any] = {
            "client_id": client_id,
            "client_id_issued_at": now_s,
            "client_name": client.name,
            "redirect_uris": list(uris),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": SCOPE,
        }
        if metadata.get("application_type") in ("web", "native"):
            answer["application_type"] = metadata["application_type"]
        return client, answer

    def find(self, client_id: str | None) -> Client | None:
        """The client of an id that was made here, or a pinned one; None for any other."""
        if not client_id or len(client_id) > MAX_CLIENT_ID_CHARS:
            return None
        if client_id in PINNED:
            name, uris = PINNED[client_id]
            return Client(client_id, name, uris)
        record = self._seal.open(client_id)
        return Client(client_id, record["n"], tuple(record["r"])) if record else None


def _is_shown(sign: str) -> bool:
    """Whether a sign is neither a control, a format sign, half a character nor an unassigned one."""
    return unicodedata.category(sign)[0] != "C"


def client_name(value: Any) -> str:
    """The name that a client gives itself, on one line of sane length; every client has one."""
    # A sign that turns the direction of text, or shows nothing, would let a name disguise what stands beside it.
    shown = "".join(sign for sign in value if sign.isspace() or _is_shown(sign)) if isinstance(value, str) else ""
    name = " ".join(shown.split())[:MAX_NAME_CHARS]
    return name or "An MCP client"


def redirect_uris(value: Any) -> tuple[str, ...]:
    """The redirect addresses of a client's metadata, each of a kind that may be used. Raises RegistrationError."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_REDIRECT_URIS:
        raise RegistrationError("invalid_redirect_uri", f"expected 1 to {MAX_REDIRECT_URIS} redirect_uris in a list")
    uris: Sequence[Any] = value
    for uri in uris:
        if not isinstance(uri, str) or not may_be_registered(uri):
            raise RegistrationError(
                "invalid_redirect_uri", "a redirect address must be https, http on loopback, or of an app's own scheme"
            )
    if sum(map(len, uris)) > MAX_REDIRECT_CHARS:
        raise RegistrationError("invalid_redirect_uri", f"redirect_uris are over {MAX_REDIRECT_CHARS} characters")
    return tuple(uris)
