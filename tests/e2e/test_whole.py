"""The main job, end to end: real files, the real model, the real program, the official MCP client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

PASSWORD = "correct horse battery staple"

pytestmark = pytest.mark.timeout(900)

ANSWERED = {
    "How often do I feed the sourdough starter?": "Sourdough starter",
    "When is the signing certificate renewed?": "Rotating certificates",
    "Where can visitors park their car?": "Visitor parking",
    "Wann wird der Brenner der Heizung gewartet?": "Heizungsanlage",
    "When can I plant tomato seedlings outside?": "Tomatoes",
    "What is backpropagation?": "Backpropagation",
    "What does an attention layer compute?": "Attention",
    "Was ist eine Aktivierungsfunktion?": "Aktivierungsfunktion",
    "Which optimiser keeps running averages of the gradient and its square?": "Adam",
    "run_tool_17": "Tool 17",
}

SILENT = (
    "Who won the football match yesterday evening?",
    "What does a flight from Lisbon to Oslo cost?",
    "Wie hoch ist die Mehrwertsteuer in Portugal?",
    "my dentist appointment next Tuesday",
    "best hiking shoes for wide feet",
)


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {PASSWORD}"}) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as session,
    ):
        yield session


async def recall(session: Client, query: str) -> dict[str, Any]:
    result = await session.call_tool("recall", {"query": query})
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def titles(answer: dict[str, Any]) -> list[str]:
    return [hit["title"] for hit in answer["passages"]]


def indexed(report: dict[str, Any]) -> bool:
    return bool(report["status"] == "ok" and report["sources"]["notes"]["items"] >= 200)


@pytest.mark.anyio
async def test_questions_find_their_passage_edits_show_and_deletions_fall_silent(program: Any) -> None:
    program.start_all()
    program.wait_for(indexed, "the vault to be indexed")
    async with client(program.port) as session:
        for question, title in ANSWERED.items():
            found = titles(await recall(session, question))
            assert any(title in text for text in found), f"{question}: {found}"
        for question in SILENT:
            answer = await recall(session, question)
            assert titles(answer) == [] and answer["silence"], f"{question}: {titles(answer)}"

        # An edit shows within a poll.
        parking = program.vault / "office/parking.md"
        parking.write_text(
            "# Visitor parking\n\nThe drawbridge to the visitor parking opens with the purple token.\n",
            encoding="utf-8",
        )
        await _until(session, "purple token for the drawbridge", lambda hits: "Visitor parking" in hits)

        # A deleted note falls silent after the next comparison with the folder.
        (program.vault / "kitchen/sourdough.md").unlink()
        await _until(
            session, "How often do I feed the sourdough starter?", lambda hits: "Sourdough starter" not in hits
        )

        # A folder that is gone deletes nothing, is reported, and everything goes on answering.
        program.vault.rename(program.home / "elsewhere")
        program.wait_for(lambda report: report["sources"]["notes"]["state"] == "failing", "the missing folder", 60)
        assert "Tomatoes" in titles(await recall(session, "When can I plant tomato seedlings outside?"))

        # So does one that is there but empty.
        program.vault.mkdir()
        program.wait_for(lambda r: "none of its" in (r["sources"]["notes"].get("error") or ""), "the guard", 60)
        assert "Tomatoes" in titles(await recall(session, "When can I plant tomato seedlings outside?"))

        program.vault.rmdir()
        (program.home / "elsewhere").rename(program.vault)
        program.wait_for(indexed_again, "recovery", 60)
    assert program.stop() == dict.fromkeys(program.roles, 0)


def indexed_again(report: dict[str, Any]) -> bool:
    return bool(report["status"] == "ok" and not report["sources"]["notes"].get("error"))


async def _until(session: Client, query: str, holds: Any) -> None:
    with anyio.fail_after(60):
        while not holds(titles(await recall(session, query))):
            await anyio.sleep(0.2)


@pytest.mark.anyio
async def test_a_killed_process_is_named_and_all_recovers_when_it_is_back(program: Any) -> None:
    if program.roles == ("all",):
        program.vault.joinpath("articles").rename(program.home / "articles")
        program.start_all()
        program.wait_for(lambda report: report["status"] == "ok", "the vault to be indexed")
        program.kill("all")
        program.start("all")
        program.wait_for(lambda report: report["status"] == "ok", "recovery of the one process", 60)
        async with client(program.port) as session:
            assert "Tomatoes" in titles(await recall(session, "When can I plant tomato seedlings outside?"))
        assert program.stop() == {"all": 0}
        return
    program.vault.joinpath("articles").rename(program.home / "articles")
    program.start_all()
    program.wait_for(lambda report: report["status"] == "ok", "the vault to be indexed")

    program.kill("embed")
    program.wait_for(
        lambda r: r["status"] == "degraded" and r["embedder"]["state"] != "ok", "the embedder's absence", 60
    )
    async with client(program.port) as session:
        result = await session.call_tool("recall", {"query": "When can I plant tomato seedlings outside?"})
        assert result.is_error, "a failing embedder is an error, not silence"
    program.start("embed")
    program.wait_for(lambda report: report["status"] == "ok", "the embedder's return", 60)

    program.kill("sync")
    program.wait_for(lambda report: report["sync"]["state"] == "gone", "the sync's absence", 90)
    async with client(program.port) as session:
        assert "Tomatoes" in titles(await recall(session, "When can I plant tomato seedlings outside?"))
    program.start("sync")
    program.wait_for(lambda report: report["status"] == "ok", "the sync's return", 60)

    program.kill("query")
    program.start("query")
    program.wait_for(lambda report: report["status"] == "ok", "the query process's return", 60)
    async with client(program.port) as session:
        assert "Tomatoes" in titles(await recall(session, "When can I plant tomato seedlings outside?"))
    assert program.stop() == dict.fromkeys(program.roles, 0)
