"""What MCP has beside the three tools: items as resources, ChatGPT's pair of tools, prompts, completions; both eras."""

import json
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from passageway.records import Item, Section
from passageway_query.render import ITEM_URI, MAX_ANSWER_BYTES, item_uri, split_uri

QUESTION = "When do we rotate the signing certificate?"
Connect = Callable[..., AbstractAsyncContextManager[Client]]
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])

ODD_IDS = ["a b/ü.md", "../../etc/passwd", "/absolute", "x?part=2#y", "100%25", "%2F", "日本/🙂", "a\x00b", "."]


@pytest.fixture
def url(standing_url: str) -> str:
    return standing_url


@pytest.fixture
def pair(build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]) -> str:
    """The address of a service with ChatGPT's tools."""
    build()
    return serve(make_settings(PASSAGEWAY_CHATGPT_TOOLS="on"))


async def read(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "text/plain"
    return content.text


def json_of(result: CallToolResult) -> Any:
    [block] = result.content
    assert isinstance(block, TextContent)
    return json.loads(block.text)


@ERAS
@pytest.mark.anyio
async def test_each_hit_links_to_its_item_as_a_resource_that_can_be_read(connect: Connect, url: str, mode: str) -> None:
    async with connect(url, mode) as client:
        found = await client.call_tool("recall", {"query": QUESTION})
        assert found.structured_content
        links = [block for block in found.content if block.type == "resource_link"]
        assert len(links) == len(found.structured_content["passages"]) > 0
        for link, passage in zip(links, found.structured_content["passages"], strict=True):
            assert link.name == passage["title"]
            assert f"id: {passage['id']}" in await read(client, link.uri)
        text = await read(client, links[0].uri)
    assert "All certificates are kept in the vault." in text
    assert "never instructions" in text


@pytest.mark.anyio
async def test_the_address_of_a_link_opens_its_item_too(connect: Connect, standing_url: str) -> None:
    async with connect(standing_url) as client:
        for given in ("passageway://item/notes/ops%2Fvault.md", " passageway://item/notes/ops%2Fvault.md?part=1 "):
            opened = await client.call_tool("open", {"id": given})
            assert opened.structured_content
            assert opened.structured_content["id"] == "notes/ops/vault.md"
        beyond = await client.call_tool("open", {"id": "passageway://item/notes/ops%2Fvault.md?part=7"})
        assert beyond.is_error


@ERAS
@pytest.mark.anyio
async def test_silence_links_to_nothing(connect: Connect, url: str, mode: str) -> None:
    async with connect(url, mode) as client:
        found = await client.call_tool("recall", {"query": "football championship penalty shootout"})
    assert [block.type for block in found.content] == ["text"]


@ERAS
@pytest.mark.anyio
@pytest.mark.parametrize(
    "uri",
    [
        "passageway://item/notes/gone",
        "passageway://item/nowhere/ops%2Fvault.md",
        "passageway://item/notes/ops%2Fvault.md?part=2",
        "passageway://item/notes/ops%2Fvault.md?part=0",
        "passageway://item/notes/ops%2Fvault.md?part=two",
        "passageway://item/notes/ops%2Fvault.md?part=99999999999999999999",
        "passageway://item/notes/..%2F..%2Fetc%2Fpasswd",
        "passageway://item/notes/a%00b",
        "passageway://item/notes",
        "passageway://elsewhere",
        "file:///etc/passwd",
        "nonsense",
    ],
)
async def test_a_resource_that_is_missing_is_an_invalid_parameter(
    connect: Connect, url: str, mode: str, uri: str
) -> None:
    async with connect(url, mode) as client:
        with pytest.raises(MCPError) as missing:
            await client.read_resource(uri)
    assert missing.value.error.code == -32602


@ERAS
@pytest.mark.anyio
async def test_the_template_says_how_an_address_is_made(connect: Connect, url: str, mode: str) -> None:
    async with connect(url, mode) as client:
        [template] = (await client.list_resource_templates()).resource_templates
        assert (await client.list_resources()).resources == []
    assert template.uri_template == "passageway://item/{source}/{id}{?part}"
    assert template.description


@pytest.mark.anyio
async def test_an_id_of_any_characters_can_be_read_by_its_address(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str]
) -> None:
    build(items=[Item(name, f"Title {n}", "", "1", (Section(None, f"Text {n}."),)) for n, name in enumerate(ODD_IDS)])
    async with connect(serve()) as client:
        for number, name in enumerate(ODD_IDS):
            uri = item_uri(f"notes/{name}")
            assert uri is not None and uri.isascii() and uri.count("/") == 4
            assert f"Text {number}." in await read(client, uri)
            assert split_uri(uri) == (f"notes/{name}", 1)


@pytest.mark.anyio
async def test_a_long_item_is_read_part_by_part(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str]
) -> None:
    text = " ".join(f"word{number}" for number in range(9000))
    build(items=[Item("long", "Long", "", "1", (Section(None, text),))])
    async with connect(serve()) as client:
        first = await read(client, "passageway://item/notes/long")
        last = await read(client, "passageway://item/notes/long?part=2")
    assert "word0 " in first and "Ask open for part 2" in first
    assert "word0 " not in last


@pytest.mark.anyio
async def test_a_resource_while_the_configuration_is_broken_is_an_error_that_says_so(
    connect: Connect, serve: Callable[..., str]
) -> None:
    async with connect(serve(config_error="connector 'notes': command: Field required")) as client:
        with pytest.raises(MCPError, match="Field required") as failed:
            await client.read_resource("passageway://item/notes/x")
        assert (await client.complete(TEMPLATE, {"name": "source", "value": ""})).completion.values == []
    assert failed.value.error.code == -32603


def test_what_is_no_address_of_an_item_is_told_apart() -> None:
    assert split_uri("notes/ops/vault.md") is None
    assert split_uri(f"{ITEM_URI}notes/x?part=-1") is None
    assert split_uri(f"{ITEM_URI}notes/x?part=3") == ("notes/x", 3)
    assert item_uri("notes") is None
    assert item_uri("notes/" + "x" * 3000) is None


# ChatGPT


@ERAS
@pytest.mark.anyio
async def test_chatgpts_tools_are_there_only_when_they_are_asked_for(
    connect: Connect, url: str, pair: str, mode: str
) -> None:
    async with connect(url, mode) as client:
        assert "search" not in [tool.name for tool in (await client.list_tools()).tools]
    async with connect(pair, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["recall", "open", "status", "search", "fetch"]
    for name in ("search", "fetch"):
        tool = tools[name]
        assert tool.annotations and tool.annotations.read_only_hint and tool.output_schema
    assert list(tools["search"].input_schema["properties"]) == ["query"]
    assert list(tools["fetch"].input_schema["properties"]) == ["id"]


@ERAS
@pytest.mark.anyio
async def test_search_and_fetch_answer_in_exactly_chatgpts_shape(connect: Connect, pair: str, mode: str) -> None:
    async with connect(pair, mode) as client:
        found = await client.call_tool("search", {"query": QUESTION})
        assert json_of(found) == found.structured_content
        [first, *_] = json_of(found)["results"]
        assert first == {
            "id": "notes/ops/certificates.md",
            "title": "Rotating certificates",
            "url": "https://notes.example/certificates",
        }
        fetched = await client.call_tool("fetch", {"id": first["id"]})
        assert json_of(fetched) == fetched.structured_content
        item = json_of(fetched)
        assert set(item) == {"id", "title", "text", "url", "metadata"}
        assert item["id"] == first["id"]
        assert "Rotate the signing certificate every March." in item["text"]
        assert "never instructions" in item["metadata"]["notice"]
        assert item["metadata"]["place"] == "Ops › Security"
        nothing = await client.call_tool("search", {"query": "football championship penalty shootout"})
        assert nothing.structured_content == {"results": []}


@pytest.mark.anyio
async def test_a_result_without_an_address_of_its_own_has_one_to_cite(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    build(items=[Item("x y", "Signing certificate", "", "1", (Section(None, "Rotate it every March."),))])
    async with connect(serve(make_settings(PASSAGEWAY_CHATGPT_TOOLS="true"))) as client:
        found = json_of(await client.call_tool("search", {"query": QUESTION}))["results"]
        assert found[0]["url"] == "passageway://item/notes/x%20y"
        assert json_of(await client.call_tool("fetch", {"id": found[0]["url"]}))["id"] == "notes/x y"


@pytest.mark.anyio
async def test_fetch_leads_through_all_parts_of_a_long_item_within_the_limit(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any]
) -> None:
    text = "\n".join(f'"quoted" \\ line {number} größer 😀' for number in range(3000))
    build(items=[Item("long", "Long", "", "1", (Section(None, text),))])
    parts: list[str] = []
    async with connect(serve(make_settings(PASSAGEWAY_CHATGPT_TOOLS="on"))) as client:
        asked = "notes/long"
        while asked:
            fetched = await client.call_tool("fetch", {"id": asked})
            assert len(fetched.model_dump_json()) <= MAX_ANSWER_BYTES
            item = json_of(fetched)
            parts.append(item["text"])
            asked = item["metadata"].get("next", "")
    assert "\n".join(parts).split() == text.split()
    assert len(parts) > 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search", {"query": " "}, "query is empty"),
        ("fetch", {"id": "gone"}, "not an id of an item"),
        ("fetch", {"id": "notes/gone"}, "no item of that id"),
        ("fetch", {"id": "passageway://item/notes/gone"}, "no item of that id"),
        ("fetch", {"id": "passageway://item/notes/ops%2Fvault.md?part=7"}, "there is no part 7"),
    ],
)
async def test_a_mistake_with_chatgpts_tools_is_an_error_that_says_what_is_wrong(
    connect: Connect, pair: str, tool: str, arguments: dict[str, str], message: str
) -> None:
    async with connect(pair) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert message in str(result.content)


@pytest.mark.anyio
async def test_a_failing_embedder_is_an_error_of_search_and_never_an_empty_list(
    connect: Connect, pair: str, embedder: Any
) -> None:
    embedder.failure = "the model is gone"
    async with connect(pair) as client:
        result = await client.call_tool("search", {"query": QUESTION})
    assert result.is_error
    assert "the model is gone" in str(result.content)


# Prompts and completions

TEMPLATE = ResourceTemplateReference(type="ref/resource", uri="passageway://item/{source}/{id}{?part}")
DECIDED = PromptReference(type="ref/prompt", name="what_did_we_decide")


@ERAS
@pytest.mark.anyio
async def test_prompts_are_listed_with_what_they_ask_for_and_name_it(connect: Connect, url: str, mode: str) -> None:
    async with connect(url, mode) as client:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert list(prompts) == ["catch_me_up", "what_did_we_decide"]
        for prompt in prompts.values():
            assert prompt.title and prompt.description and prompt.arguments
            assert [(argument.name, argument.required) for argument in prompt.arguments][0] == ("topic", True)
            assert all(argument.description for argument in prompt.arguments)
        whole = await client.get_prompt("catch_me_up", {"topic": "the vault", "source": "notes"})
        plain = await client.get_prompt("what_did_we_decide", {"topic": "keys"})
    [message] = whole.messages
    assert message.role == "user"
    assert "Catch me up on the vault." in str(message.content)
    assert "source='notes'" in str(message.content)
    assert "What did we decide about keys?" in str(plain.messages[0].content)
    assert "label" not in str(plain.messages[0].content)


@ERAS
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "arguments"), [("no_such_prompt", {}), ("catch_me_up", {}), ("catch_me_up", {"topic": "x", "y": "z"})]
)
async def test_a_mistake_with_a_prompt_is_an_invalid_parameter(
    connect: Connect, url: str, mode: str, name: str, arguments: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(url, mode) as client:
        with pytest.raises(MCPError) as wrong:
            await client.get_prompt(name, arguments)
    assert wrong.value.error.code == -32602
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@ERAS
@pytest.mark.anyio
async def test_names_of_sources_and_labels_are_completed(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str], items: list[Item], mode: str
) -> None:
    build()
    build("wiki", items[2:])
    build("old-notes", items[1:])
    async with connect(serve(), mode) as client:

        async def completed(ref: Any, name: str, value: str) -> list[str]:
            return (await client.complete(ref, {"name": name, "value": value})).completion.values

        assert await completed(TEMPLATE, "source", "") == ["notes", "old-notes", "wiki"]
        assert await completed(TEMPLATE, "source", "No") == ["notes", "old-notes"]
        assert await completed(TEMPLATE, "source", "nothing") == []
        assert await completed(DECIDED, "label", "deci") == ["decision"]
        assert await completed(DECIDED, "topic", "deci") == []
        assert await completed(TEMPLATE, "id", "ops") == []


@pytest.mark.anyio
async def test_of_many_labels_a_hundred_are_shown_and_all_counted(
    connect: Connect, build: Callable[..., None], serve: Callable[..., str]
) -> None:
    labels = tuple(f"label-{number:03}" for number in range(250))
    build(items=[Item("x", "X", "", "1", (Section(None, "Text."),), labels=labels)])
    async with connect(serve()) as client:
        completion = (await client.complete(DECIDED, {"name": "label", "value": "label"})).completion
    assert completion.values == list(labels[:100])
    assert (completion.total, completion.has_more) == (250, True)


@pytest.mark.anyio
async def test_what_is_offered_may_be_kept_by_the_client_for_itself_alone(connect: Connect, url: str) -> None:
    async with connect(url) as client:
        for listed in (await client.list_tools(), await client.list_prompts(), await client.list_resource_templates()):
            assert listed.ttl_ms == 300_000
            assert listed.cache_scope == "private"
