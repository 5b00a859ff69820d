"""The authorization server: authlib's core with our clients, codes and tokens.

Authlib leaves room for what its defaults allow too much of or too little: PKCE is asked of everybody and only with
S256, refresh tokens rotate, an unknown client is 401 (on which clients register anew), and tokens are for one resource.
"""

import base64
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    InvalidClientError,
    InvalidGrantError,
    InvalidRequestError,
    OAuth2Error,
    OAuth2Payload,
    OAuth2Request,
)
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from starlette.responses import JSONResponse, Response

from passageway_query.auth.addresses import SCOPE, Addresses
from passageway_query.auth.clients import Client, Registry
from passageway_query.auth.documents import Documents, is_document_address
from passageway_query.auth.store import Code, Issued, Token, TokenStore

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
}
NOT_STORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_CLIENT_AUTH = "none"


class InvalidTargetError(OAuth2Error):
    """The token is asked for another server (RFC 8707)."""

    error = "invalid_target"


class Parameters(OAuth2Payload):
    """The parameters of a request, each known to be there once."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._values = dict(pairs)
        self._lists: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in pairs:
            self._lists[name].append(value)

    @property
    def data(self) -> dict[str, str]:
        return self._values

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return self._lists


class AuthRequest(OAuth2Request):
    """A request as authlib reads it. Its address is the public one: behind a proxy the one it came by is not https."""

    def __init__(
        self, method: str, path: str, pairs: Sequence[tuple[str, str]], headers: Mapping[str, str], addresses: Addresses
    ) -> None:
        super().__init__(method, addresses.issuer.replace("http://", "https://", 1) + path, headers=headers)
        self.payload = Parameters(pairs)

    @property
    def form(self) -> dict[str, str]:
        values: dict[str, str] = self.payload.data
        return values

    @property
    def args(self) -> dict[str, str]:
        return self.form


class _CodeInUse:
    """A code as authlib's checks look at it."""

    def __init__(self, text: str, code: Code) -> None:
        self.text = text
        self.code = code
        self.code_challenge = code.challenge
        self.code_challenge_method = "S256"

    def get_redirect_uri(self) -> str | None:
        return self.code.redirect_uri if self.code.explicit else None

    def get_scope(self) -> str:
        return SCOPE


class _TokenInUse:
    """A token as authlib's checks look at it."""

    def __init__(self, text: str, token: Token) -> None:
        self.text = text
        self.token = token

    def check_client(self, client: Client) -> bool:
        return self.token.client_id == client.client_id

    def get_scope(self) -> str:
        return SCOPE


class Server(AuthorizationServer):
    """Routes requests to the grants below. Blocking: it belongs in a thread."""

    def __init__(
        self, addresses: Addresses, registry: Registry, store: TokenStore, documents: Documents | None = None
    ) -> None:
        """Without `documents`, no client is known by the address of one but those that are known by heart."""
        super().__init__(scopes_supported=None)
        self.documents = documents
        self.addresses = addresses
        self.registry = registry
        self.store = store
        self.register_client_auth_method(_CLIENT_AUTH, _identified)
        self.register_grant(CodeGrant, [S256Challenge(required=True)])
        self.register_grant(RefreshGrant)

    def get_consent_grant(self, request: AuthRequest | None = None, end_user: Any = None) -> Any:
        """What a person is asked to consent to. Raises OAuth2Error."""
        try:
            return super().get_consent_grant(request, end_user)
        except ValueError as error:
            # Authlib quotes parameters in its errors and then refuses to say what no header may hold.
            raise InvalidRequestError("a parameter holds a character that no address may hold") from error

    def query_client(self, client_id: str) -> Client | None:
        client = self.registry.find(client_id)
        if client is None and self.describes_itself(client_id):
            assert self.documents is not None
            # Codes and tokens name their client, so for those its document need not be read again.
            client = self.documents.known(client_id) or Client(client_id, "", ())
        return client

    def describes_itself(self, client_id: str) -> bool:
        """Whether a client's document has to be read before a person is asked about it."""
        unknown = self.documents is not None and self.registry.find(client_id) is None
        return unknown and is_document_address(client_id)

    def save_token(self, token: Any, request: Any) -> None:
        """Nothing: the store keeps tokens when it issues them."""

    def send_signal(self, name: str, *arguments: Any, **more: Any) -> None:
        """Nothing: nobody listens."""

    def create_oauth2_request(self, request: Any) -> Any:
        return request

    def create_json_request(self, request: Any) -> Any:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        if isinstance(body, dict) and body.get("error") == "invalid_client":
            status = 401
        if isinstance(body, dict):
            return JSONResponse(body, status, headers={**dict(headers), **CORS, **NOT_STORED})
        return Response(body, status, headers=dict(headers))

    def revoke(self, request: AuthRequest) -> Response:
        """RFC 7009: the whole grant of a token that is the client's; an unknown token is revoked already."""
        try:
            client = self.authenticate_client(request, [_CLIENT_AUTH], "revocation")
        except OAuth2Error as error:
            refused: Response = self.handle_error_response(request, error)
            return refused
        text = request.form.get("token", "")
        token = self.store.find(text, "access") or self.store.find(text, "refresh")
        if token is not None and token.client_id == client.client_id:
            self.store.revoke(token.grant_id)
        return JSONResponse({}, headers={**CORS, **NOT_STORED})


def _identified(query_client: Any, request: AuthRequest) -> Client:
    """The client that a request names, in its body or, as some libraries insist, as the user of Basic credentials."""
    named, basic = request.form.get("client_id"), _basic_user(request.headers.get("authorization", ""))
    if named and basic and basic != named:
        raise InvalidRequestError("the client is named twice, differently")
    client: Client | None = query_client(named or basic or "")
    if client is None:
        raise InvalidClientError(status_code=401, description="there is no such client; register it again")
    return client


def _basic_user(header: str) -> str:
    """The user of `Authorization: Basic …`, empty when there is none. A secret beside it was never given out."""
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return unquote(base64.b64decode(credentials).decode("utf-8").partition(":")[0])
    except ValueError:
        return ""


def _asks_for_us(grant: AuthorizationCodeGrant | RefreshTokenGrant) -> None:
    if not grant.server.addresses.is_ours(grant.request.form.get("resource")):
        raise InvalidTargetError(f"tokens are for {grant.server.addresses.resource} only")


def _answer(issued: Issued) -> dict[str, Any]:
    return {
        "access_token": issued.access,
        "token_type": "Bearer",
        "expires_in": issued.expires_in_s,
        "refresh_token": issued.refresh,
        "scope": SCOPE,
    }


class CodeGrant(AuthorizationCodeGrant):
    """A code for tokens, once."""

    TOKEN_ENDPOINT_AUTH_METHODS = [_CLIENT_AUTH]

    def query_authorization_code(self, code: str, client: Client) -> _CodeInUse | None:
        known = self.server.store.code(code)
        return _CodeInUse(code, known) if known and known.client_id == client.client_id else None

    def create_token_response(self) -> tuple[int, dict[str, Any], list[tuple[str, str]]]:
        _asks_for_us(self)
        issued = self.server.store.redeem(self.request.authorization_code.text, self.server.addresses.resource)
        if issued is None:
            raise InvalidGrantError("the code was used before")
        return 200, _answer(issued), self.TOKEN_RESPONSE_HEADER


class RefreshGrant(RefreshTokenGrant):
    """A refresh token for the next pair."""

    TOKEN_ENDPOINT_AUTH_METHODS = [_CLIENT_AUTH]

    def authenticate_refresh_token(self, refresh_token: str) -> _TokenInUse | None:
        token = self.server.store.find(refresh_token, "refresh")
        return _TokenInUse(refresh_token, token) if token else None

    def _validate_token_scope(self, token: _TokenInUse) -> None:
        """Nothing: whatever scope is asked for, the one there is is granted."""

    def create_token_response(self) -> tuple[int, dict[str, Any], list[tuple[str, str]]]:
        _asks_for_us(self)
        issued = self.server.store.refresh(self.request.refresh_token.text)
        if issued is None:
            raise InvalidGrantError("the refresh token was used before or has been revoked")
        return 200, _answer(issued), self.TOKEN_RESPONSE_HEADER


class S256Challenge(CodeChallenge):
    """PKCE (RFC 7636) for every client and with S256 alone; authlib would take `plain`."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]
    DEFAULT_CODE_CHALLENGE_METHOD = "S256"

    def validate_code_challenge(self, grant: AuthorizationCodeGrant, redirect_uri: str) -> None:
        asked = grant.request.form
        if not asked.get("code_challenge") or asked.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE is needed, with code_challenge_method=S256")
        super().validate_code_challenge(grant, redirect_uri)
