"""What an MCP client can call: `recall`, `open` and `status`, and what every further tool is made of."""

import logging
from collections.abc import Callable
from typing import Annotated, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ResourceLink, TextContent
from pydantic import BaseModel, Field

from passageway.errors import EmbedderError, PassagewayError
from passageway_query.answer import Answer, Filters, Question
from passageway_query.filters import updated_after_s
from passageway_query.health import HealthSource, health_text
from passageway_query.metrics import Door, Outcome, QuestionLog
from passageway_query.render import (
    MAX_ANSWER_BYTES,
    links,
    open_result,
    open_text,
    recall_result,
    recall_text,
    split_ref,
    split_uri,
    wire_bytes,
)
from passageway_query.search import Search
from passageway_query.wire import Health, OpenResult, RecallResult

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Searches that may run at once; an embedder that hangs must not take every thread of the process with it.
_SEARCHES = anyio.CapacityLimiter(16)


class NoSuchItem(ToolError):
    """What was asked for by its id is not there."""


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
        search = self.ready()
        filters = _checked(Filters(source.strip(), path.strip(), label.strip(), updated_after.strip()))
        if filters.source:
            await blocking(lambda: _check_source(search, filters.source))
        result = recall_result(await self.answer(Question(query, filters)))
        return reply(recall_text(result), result, *links(result))

    async def answer(self, question: Question) -> Answer:
        """The answer to a question with at least one word, counted and timed. Raises ToolError."""
        search = self.ready()
        if not question.text.strip():
            raise ToolError("query is empty; ask for something in plain words")
        with self._questions.timed(Door.MCP) as timing:
            answer = await blocking(lambda: search.ask(question))
            timing.outcome = Outcome.HITS if answer.hits else Outcome.SILENCE
        logger.info("recall: %d found in %.1f ms", len(answer.hits), answer.took_ms)
        return answer

    async def open(
        self,
        id: Annotated[str, Field(description="The id of a passage, as recall gave it")],
        part: Annotated[int, Field(description="Which part of a long item, from 1")] = 1,
    ) -> Annotated[CallToolResult, OpenResult]:
        # A model is given ids and, as links, addresses; it may take the one for the other.
        ref, linked = split_uri(id.strip()) or (id, 1)
        result = await self.part(split_ref(ref), linked if part == 1 else part)
        return within_limit(reply(open_text(result), result))

    async def part(self, ref: tuple[str, str] | None, number: int) -> OpenResult:
        """Part `number` of the item with that (source, id). Raises ToolError, NoSuchItem when there is none."""
        search = self.ready()
        if ref is None:
            raise NoSuchItem("that is not an id of an item; use one as recall gives it, such as notes/abc")
        item = await blocking(lambda: search.item(*ref))
        if item is None:
            raise NoSuchItem(f"source {ref[0]!r} has no item of that id; it may have been removed, ask recall again")
        result = open_result(item, number)
        if result is None:
            raise NoSuchItem(f"there is no part {number}; ask for part 1, which says how many there are")
        return result

    async def status(self) -> Annotated[CallToolResult, Health]:
        health = await blocking(lambda: self._health.report(errors=True))
        return reply(health_text(health), health)

    def ready(self) -> Search:
        """The search. Raises ToolError while the configuration has an error."""
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


async def blocking(work: Callable[[], T]) -> T:
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


def within_limit(answer: CallToolResult) -> CallToolResult:
    """The answer to a request for one item. Raises ToolError when its id alone is over what may be sent."""
    if wire_bytes(answer) > MAX_ANSWER_BYTES:
        raise ToolError("the item's id is too long to answer with")
    return answer


def reply(text: str, result: BaseModel, *links: ResourceLink) -> CallToolResult:
    """Text and structure of the same facts: some clients show a model only the one, some only the other."""
    text_block = TextContent(type="text", text=text)
    return CallToolResult(content=[text_block, *links], structured_content=result.model_dump())
