"""The MCP server: tools, items as resources, prompts and completions, all of them read-only."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, ToolAnnotations

from passageway.settings import Settings
from passageway_query import instructions
from passageway_query.chatgpt import ChatGptTools
from passageway_query.health import HealthSource
from passageway_query.mcp_prompts import Prompts
from passageway_query.metrics import QuestionLog
from passageway_query.resources import add_resources
from passageway_query.search import Search
from passageway_query.tools import Tools

ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Keeps `recall` in sight of a client that otherwise loads tools only after searching for them."""

# What is offered changes with a restart alone, and a client may know of that some minutes late.
_LISTED = CacheHint(ttl_ms=5 * 60 * 1000, scope="private")
_CACHED: Mapping[CacheableMethod, CacheHint] = {
    "tools/list": _LISTED,
    "prompts/list": _LISTED,
    "resources/list": _LISTED,
    "resources/templates/list": _LISTED,
}


class _Server(MCPServer[None]):
    """An MCPServer that tells a mistake in the arguments of a prompt from a failure of its own."""

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None, context: Any = None) -> Any:
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error


def mcp_server(
    settings: Settings, search: Search | None, health: HealthSource, questions: QuestionLog
) -> MCPServer[None]:
    """A server with everything on it. One is needed for each application: it runs once."""
    with _root_logger_as_it_is():
        server = _Server(
            "passageway" if settings.instance is None else f"passageway-{settings.instance}",
            title="passageway",
            version=settings.version,
            instructions=instructions.instructions(settings),
            log_level="WARNING",
            subscriptions=False,
            cache_hints=_CACHED,
        )
    tools = Tools(search, health, questions)
    description = instructions.recall_description(settings)
    _add_tool(server, tools.recall, "Search the user's sources", description, ALWAYS_LOAD)
    _add_tool(server, tools.open, "Read an item", instructions.OPEN)
    _add_tool(server, tools.status, "What is indexed", instructions.STATUS)
    if settings.chatgpt_tools:
        pair = ChatGptTools(tools)
        _add_tool(server, pair.search, "Search", instructions.SEARCH)
        _add_tool(server, pair.fetch, "Fetch", instructions.FETCH)
    add_resources(server, tools)
    Prompts(search).add_to(server)
    return server


def _add_tool(
    server: MCPServer[None],
    tool: Callable[..., Any],
    title: str,
    description: str,
    meta: dict[str, Any] | None = None,
) -> None:
    hints = ToolAnnotations(
        title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    server.add_tool(tool, title=title, description=description, annotations=hints, meta=meta)


@contextmanager
def _root_logger_as_it_is() -> Iterator[None]:
    """MCPServer configures the root logger when nobody has; that is the command's business, not a library's."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
