"""The MCP server: the tools `recall`, `open` and `status`, all of them read-only."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from passageway.errors import EmbedderError, PassagewayError
from passageway.settings import Settings
from passageway_query import instructions
from passageway_query.answer import Answer, Filters, Question
from passageway_query.filters import updated_after_s
from passageway_query.health import HealthSource, health_text
from passageway_query.metrics import Door, Outcome, QuestionLog
from passageway_query.render import (
    MAX_ANSWER_BYTES,
    open_result,
    open_text,
    recall_result,
    recall_text,
    split_ref,
    wire_bytes,
)
from passageway_query.search import Search
from passageway_query.wire import Health, OpenResult, RecallResult

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Searches that may run at once; an embedder that hangs must not take every thread of the process with it.
_SEARCHES = anyio.CapacityLimiter(16)

ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Keeps `recall` in sight of a client that otherwise loads tools only after searching for them."""


def mcp_server(
    settings: Settings, search: Search | None, health: HealthSource, questions: QuestionLog
) -> MCPServer[None]:
    """A server with the three tools. One is needed for each application: it runs once."""
    with _root_logger_as_it_is():
        server: MCPServer[None] = MCPServer(
            "passageway" if settings.instance is None else f"passageway-{settings.instance}",
            title="passageway",
            version=settings.version,
            instructions=instructions.instructions(settings),
            log_level="WARNING",
            subscriptions=False,
        )
    tools = Tools(search, health, questions)
    server.add_tool(
        tools.recall,
        title="Search the user's sources",
        description=instructions.recall_description(settings),
        annotations=_read_only("Search the user's sources"),
        meta=ALWAYS_LOAD,
    )
    server.add_tool(
        tools.open, title="Read an item", description=instructions.OPEN, annotations=_read_only("Read an item")
    )
    server.add_tool(
        tools.status,
        title="What is indexed",
        description=instructions.STATUS,
        annotations=_read_only("What is indexed"),
    )
    return server


def _read_only(title: str) -> ToolAnnotations:
    return ToolAnnotations(
        title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


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


class Tools:
    """The tools. A failure that a model can act on is a ToolError, whose text it reads; nothing becomes silence."""

    def __init__(self, search: Search | None, health: HealthSource, questions: QuestionLog) -> None:
        self._search = search
        self._health = health
        self._questions = questions

    # No argument may be `str | None`: for those the SDK reads a string that looks like JSON as JSON.
    async def recall(
        self,
        query: Annotated[str, Field(description="What to look for, in plain words")],
        source: Annotated[str, Field(description="Only this source, by its name in status")] = "",
        path: Annotated[str, Field(description="Only items in this folder, space or category")] = "",
        label: Annotated[str, Field(description="Only items with this label")] = "",
        updated_after: Annotated[str, Field(description="Only items updated since, such as 2026-10-01")] = "",
    ) -> Annotated[CallToolResult, RecallResult]:
        search = self._ready()
        if not query.strip():
            raise ToolError("query is empty; ask for something in plain words")
        filters = _checked(Filters(source.strip(), path.strip(), label.strip(), updated_after.strip()))
        if filters.source:
            await _blocking(lambda: _check_source(search, filters.source))
        result = recall_result(await self._answer(search, Question(query, filters)))
        return _reply(recall_text(result), result)

    async def _answer(self, search: Search, question: Question) -> Answer:
        with self._questions.timed(Door.MCP) as timing:
            answer = await _blocking(lambda: search.ask(question))
            timing.outcome = Outcome.HITS if answer.hits else Outcome.SILENCE
        logger.info("recall: %d hits in %.1f ms", len(answer.hits), answer.took_ms)
        return answer

    async def open(
        self,
        id: Annotated[str, Field(description="The id of a passage, as recall gave it")],
        part: Annotated[int, Field(description="Which part of a long item, from 1")] = 1,
    ) -> Annotated[CallToolResult, OpenResult]:
        search = self._ready()
        ref = split_ref(id)
        if ref is None:
            raise ToolError("that is not an id of an item; use one as recall gives it, such as notes/abc")
        item = await _blocking(lambda: search.item(*ref))
        if item is None:
            raise ToolError(f"source {ref[0]!r} has no item of that id; it may have been removed, ask recall again")
        result = open_result(item, part)
        if result is None:
            raise ToolError(f"there is no part {part}; ask for part 1, which says how many there are")
        text = open_text(result)
        if wire_bytes(text, result) > MAX_ANSWER_BYTES:
            raise ToolError("the item's id is too long to answer with")
        return _reply(text, result)

    async def status(self) -> Annotated[CallToolResult, Health]:
        health = await _blocking(lambda: self._health.report(errors=True))
        return _reply(health_text(health), health)

    def _ready(self) -> Search:
        if self._search is None:
            error = self._health.config_error or "the configuration has an error"
            raise ToolError(f"nothing can be searched until the server's configuration is corrected: {error}")
        return self._search


def _check_source(search: Search, name: str) -> None:
    names = [report.name for report in search.sources()]
    if name not in names:
        there = ", ".join(names) or "none yet"
        raise ToolError(f"there is no source {name!r}; the sources are: {there}")


def _checked(filters: Filters) -> Filters:
    """The filters as given. Raises ToolError when the date is none."""
    try:
        updated_after_s(filters)
    except ValueError:
        raise ToolError("updated_after is no date or time; expected a date such as 2026-10-01") from None
    return filters


async def _blocking(work: Callable[[], T]) -> T:
    """The result of work that waits on files or the model, done in a thread. Raises ToolError for what can fail."""
    try:
        return await anyio.to_thread.run_sync(work, limiter=_SEARCHES)
    except EmbedderError as error:
        raise ToolError(
            f"the embedding model did not answer, so nothing was searched; this does not mean that nothing is "
            f"indexed. Try again shortly; status says more. ({error})"
        ) from error
    except PassagewayError as error:
        raise ToolError(f"the search failed; this does not mean that nothing is indexed. ({error})") from error


def _reply(text: str, result: BaseModel) -> CallToolResult:
    """Text and structure of the same facts: some clients show a model only the one, some only the other."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=result.model_dump())
