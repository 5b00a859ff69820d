"""JSON-RPC messages for `/mcp` as plain requests: their headers, and what comes back."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

VERSION = "2025-11-25"
"""The last revision whose requests stand alone without an envelope; a server without sessions asks for no handshake."""

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def tool_call(tool: str) -> dict[str, Any]:
    """A call of a tool without arguments."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def headers_for(message: Mapping[str, Any], version: str | None = VERSION) -> dict[str, str]:
    """The headers that a message goes out with: of 2026-07-28 when it has that envelope, else of `version`."""
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    modern = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(modern, str):
        return headers | ({"MCP-Protocol-Version": version} if version else {})
    method = str(message.get("method"))
    headers |= {"MCP-Protocol-Version": _header_value(modern), "Mcp-Method": _header_value(method)}
    name = params.get(_NAMED_BY.get(method, ""))
    return headers | ({"Mcp-Name": _header_value(name)} if isinstance(name, str) else {})


def _header_value(text: str) -> str:
    """The text, in base64 between marks when a header could not hold it (revision 2026-07-28, custom headers)."""
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?")
    return text if plain else f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def lines_of(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of an event stream. A text may hold U+2028 and other ends of lines that are none of the stream's."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole)
    yield rest.decode("utf-8", "replace")


def events(lines: Iterable[str]) -> Iterator[str]:
    """The data of each event in the lines of an event stream."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def result_of(reply: httpx.Response) -> dict[str, Any] | None:
    """The result in a reply of either kind, JSON or an event stream; None when there is none."""
    streamed = reply.headers.get("content-type", "").startswith("text/event-stream")
    texts = list(events(lines_of([reply.content]))) if streamed else [reply.text]
    try:
        message = json.loads(texts[-1]) if texts else None
    except ValueError:
        return None
    result = message.get("result") if isinstance(message, dict) else None
    return result if isinstance(result, dict) else None
