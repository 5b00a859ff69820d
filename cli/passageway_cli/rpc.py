"""A call of a tool at `/mcp` as one plain request: what a look at a server needs of the protocol."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

VERSION = "2025-11-25"
"""The last revision whose requests stand alone without an envelope; a server without sessions asks for no handshake."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def headers(self) -> dict[str, str]:
        """What the request says of itself."""
        return {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}

    def body(self) -> dict[str, Any]:
        """The JSON-RPC message."""
        params = {"name": self.tool, "arguments": self.arguments}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def result_of(reply: httpx.Response) -> dict[str, Any] | None:
    """The result in a reply of either kind, JSON or an event stream; None when there is none."""
    lines = [line.removeprefix("data:").strip() for line in reply.text.splitlines() if line.startswith("data:")]
    try:
        message = json.loads(lines[-1] if lines else reply.text)
    except ValueError:
        return None
    result = message.get("result") if isinstance(message, dict) else None
    return result if isinstance(result, dict) else None
