"""Prompts that people pick from a menu, and completions for what they are asked to fill in."""

from collections.abc import Iterable
from typing import Annotated

from mcp.server import MCPServer
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from pydantic import Field

from passageway_query.search import Search
from passageway_query.tools import blocking

MAX_COMPLETIONS = 100
"""What the protocol allows in one answer."""

Topic = Annotated[str, Field(description="What it is about, in plain words")]
Source = Annotated[str, Field(description="Only this source")]
Label = Annotated[str, Field(description="Only items with this label")]


class Prompts:
    """The prompts. They tell the model what to ask `recall` for; nothing is searched before it does."""

    def __init__(self, search: Search | None) -> None:
        self._search = search

    def add_to(self, server: MCPServer[None]) -> None:
        """Offer them, with completions for the names of sources and labels."""
        server.prompt(title="Catch me up", description="What the sources say about a subject, newest first")(
            self.catch_me_up
        )
        server.prompt(title="What did we decide?", description="Decisions about a subject, with their reasons")(
            self.what_did_we_decide
        )
        server.completion()(self.complete)  # type: ignore[no-untyped-call]

    def catch_me_up(self, topic: Topic, source: Source = "") -> str:
        only = f", with source={source!r}" if source else ""
        return (
            f"Catch me up on {topic}. Ask recall about it in two or three ways{only}, open what looks like the main "
            "item, and tell me the state of things in a few sentences, newest first. Give the date and the link of "
            "each item you use, and say plainly what the sources do not cover."
        )

    def what_did_we_decide(self, topic: Topic, label: Label = "") -> str:
        only = f", with label={label!r}" if label else ""
        return (
            f"What did we decide about {topic}? Ask recall for the decision and for its reasons{only}. Tell me what "
            "was decided, when, why, and what was turned down, each with its link. If the sources hold no decision, "
            "say so instead of guessing one."
        )

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        """Names of sources or labels that begin with what was typed, then those that hold it."""
        search = self._search
        if search is None or argument.name not in ("source", "label"):
            return None
        if argument.name == "label":
            return completion(argument.value, await blocking(search.labels))
        return completion(argument.value, [report.name for report in await blocking(search.sources)])


def completion(typed: str, names: Iterable[str]) -> Completion:
    """The first hundred names that fit, and how many there are."""
    start = typed.strip().casefold()
    fitting = sorted(
        (name for name in names if start in name.casefold()),
        key=lambda name: (not name.casefold().startswith(start), name.casefold()),
    )
    shown = fitting[:MAX_COMPLETIONS]
    return Completion(values=shown, total=len(fitting), has_more=len(fitting) > len(shown))
