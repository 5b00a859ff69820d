"""`/mcp`: who may come in, and how each era's requests reach the MCP server.

Revision 2026-07-28 has neither handshake nor session and says so in a header; the revisions before it begin with
`initialize`. The SDK tells them apart by that header alone, which some clients send with the body of the other era.
"""

import json
import logging
from typing import Any

from mcp.server import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from passageway_query.access import Access
from passageway_query.hosts import CLIENT_ORIGINS
from passageway_query.replies import Refusal, bounded

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
_LOOPBACK_ORIGIN = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


def session_manager(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    """The server's transport, without state between requests, so that a restart between two calls loses nothing.

    Host and Origin were checked before. Entering `run()` belongs in the application's lifespan.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # The application it returns is not used: mounting it would redirect /mcp and never run its lifespan.
    server.streamable_http_app(stateless_http=True, transport_security=unchecked, max_request_body_size=MAX_BODY_BYTES)
    return server.session_manager


def mcp_door(server: MCPServer[Any], access: Access) -> ASGIApp:
    """The ASGI application for `/mcp`: cross-origin answers for browsers, then the gate, then the server."""
    return CORSMiddleware(
        McpDoor(StreamableHTTPASGIApp(session_manager(server)), access),
        allow_origins=sorted(CLIENT_ORIGINS),
        allow_origin_regex=_LOOPBACK_ORIGIN,
        allow_methods=["POST"],
        allow_headers=["*"],
        expose_headers=["WWW-Authenticate"],
    )


class McpDoor:
    """Lets in who has the password or a token, and refuses what the transport would leave hanging."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            await self._access.require_client(request)
            # A GET would open a stream on which a server without sessions has nothing to say, for ever.
            if request.method != "POST":
                raise Refusal(
                    405, "method_not_allowed", "send a POST; this server has no stream to GET", {"Allow": "POST"}
                )
            if not request.headers.get("content-type", "").lower().startswith("application/json"):
                raise Refusal(415, "unsupported_media_type", "send the message with Content-Type: application/json")
            body = await bounded(request.stream(), MAX_BODY_BYTES)
        except Refusal as refused:
            await refused.response()(scope, receive, send)
            return
        await self._inner(for_its_era(scope, body), replayed(body, receive), send)


def for_its_era(scope: Scope, body: bytes) -> Scope:
    """The scope, without a modern version header when the body is of the era before."""
    name = MCP_PROTOCOL_VERSION_HEADER.encode("ascii")
    versions = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    if not any(version in MODERN_PROTOCOL_VERSIONS for version in versions) or _is_modern(body):
        return scope
    return {**scope, "headers": [(key, value) for key, value in scope["headers"] if key != name]}


def _is_modern(body: bytes) -> bool:
    """Whether a body has the envelope of 2026-07-28; what cannot be told is left to the server to refuse."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return True
    if not isinstance(message, dict) or "id" not in message:
        return True
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, then goes on as before."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
