"""The two tools by which ChatGPT knows a source of knowledge: `search` and `fetch`, in exactly the shape it reads."""

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from passageway.passages import trail
from passageway_query.answer import Question
from passageway_query.render import item_ref, item_uri, passage, split_ref, split_uri
from passageway_query.tools import Tools, reply, within_limit
from passageway_query.wire import NOTICE, FetchResult, FoundItem, SearchResult


class ChatGptTools:
    """The pair, on the same search as `recall`. Text and structure are the same JSON."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def search(
        self, query: Annotated[str, Field(description="What to look for, in plain words")]
    ) -> Annotated[CallToolResult, SearchResult]:
        answer = await self._tools.answer(Question(query))
        found = {item_ref(hit.source, hit.id): passage(hit) for hit in answer.hits}
        result = SearchResult(
            results=[FoundItem(id=ref, title=hit.title, url=_citable(hit.url, ref)) for ref, hit in found.items()]
        )
        return reply(result.model_dump_json(), result)

    async def fetch(
        self, id: Annotated[str, Field(description="The id of a result of search")]
    ) -> Annotated[CallToolResult, FetchResult]:
        ref, part = split_uri(id) or (id, 1)
        opened = await self._tools.part(split_ref(ref), part)
        metadata = {"notice": NOTICE, "place": trail(opened.path), "updated": opened.updated or ""}
        if opened.part < opened.parts:
            metadata["part"] = f"{opened.part} of {opened.parts}"
            metadata["next"] = item_uri(ref, opened.part + 1) or ""
        result = FetchResult(
            id=opened.id,
            title=opened.title,
            text=opened.text,
            url=_citable(opened.url, ref),
            metadata={name: fact for name, fact in metadata.items() if fact},
        )
        return within_limit(reply(result.model_dump_json(), result))


def _citable(url: str, ref: str) -> str:
    """An address to cite, which may not be empty: the item's own, else that of the resource."""
    return url or item_uri(ref) or ref[:100]
