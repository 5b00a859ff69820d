"""The pages about the doors say what the code does."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway_cli import connections
from passageway_cli.parser import build_parser
from passageway_query import guard, hook, render, replies
from passageway_query.answer import SilenceReason
from passageway_query.auth import store
from passageway_query.mcp_prompts import Prompts
from passageway_query.prompts import MAX_PROMPT_CHARS
from passageway_query.resources import TEMPLATE
from passageway_query.tools import Tools
from passageway_query.wire import Health, SourceHealth

ROOT = Path(__file__).parents[2]
MCP = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
HEALTH = (ROOT / "docs" / "health.md").read_text(encoding="utf-8")
CLIENTS = (ROOT / "docs" / "guides" / "clients.md").read_text(encoding="utf-8")
PLUGIN = (ROOT / "docs" / "guides" / "claude-code.md").read_text(encoding="utf-8")


def block(page: str, language: str) -> Any:
    match = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_the_report_on_the_page_is_one_that_health_could_give() -> None:
    shown = block(HEALTH, "json")
    assert Health.model_validate(shown).model_dump(exclude_none=True) == shown


def test_every_field_of_a_source_is_explained() -> None:
    for name in SourceHealth.model_fields:
        assert f"`{name}`" in HEALTH or f'"{name}"' in HEALTH


def test_every_metric_is_on_the_page_and_no_other(standing: httpx.Client, auth: dict[str, str]) -> None:
    standing.post("/recall", headers=auth, json={"prompt": "ok"})
    given = set(re.findall(r"^# TYPE (\w+)", standing.get("/metrics", headers=auth).text, re.MULTILINE))
    assert given == set(re.findall(r"`(passageway_\w+)`", HEALTH))


def test_every_reason_of_silence_is_on_the_page() -> None:
    shown = set(re.findall(r"^\| `([a-z ]+)` \|", MCP.partition("| Reason |")[2].partition("\n\n")[0], re.MULTILINE))
    assert shown == {reason.value for reason in SilenceReason}


def test_every_argument_of_recall_is_on_the_page() -> None:
    shown = re.findall(r"^\| `(\w+)` \|", MCP.partition("| Argument |")[2].partition("\n\n")[0], re.MULTILINE)
    assert shown == [name for name in Tools.recall.__annotations__ if name != "return"]


def test_the_prompts_on_the_page_are_those_that_are_offered() -> None:
    shown = re.findall(r"^\| `(\w+)` \| (.*?):", MCP.partition("| Prompt |")[2].partition("\n\n")[0], re.MULTILINE)
    for name, arguments in shown:
        own = [name for name in getattr(Prompts, name).__annotations__ if name != "return"]
        assert arguments == ", ".join(f"`{argument}`" for argument in own)
    assert len(shown) == 2
    assert TEMPLATE.replace("{?part}", "") in MCP


def test_the_prompt_on_the_page_is_one_that_the_hook_takes(standing: httpx.Client, auth: dict[str, str]) -> None:
    # A busy machine may be late with its first answers, and a late answer is empty by design. Another test may have
    # asked the same service in a session of the page's name, which is not shown a passage twice.
    prompts = ({**block(MCP, "json"), "session_id": f"page {number}"} for number in range(10))
    replies = (standing.post("/recall", headers=auth, json=prompt).json() for prompt in prompts)
    assert any("every March" in reply["context"] for reply in replies)


@pytest.mark.parametrize(
    ("page", "figure", "value"),
    [
        (MCP, "60 kB", render.MAX_ANSWER_BYTES == 60_000),
        (MCP, "first 20,000 characters", MAX_PROMPT_CHARS == 20_000),
        (MCP, "over 1 MiB", hook.MAX_BODY_BYTES == 2**20),
        (MCP, "(0.6 s)", hook.EMBED_DEADLINE_S == 0.6),
        (MCP, "no longer than a second", hook.DEADLINE_S == 1),
        (
            MCP,
            "longer than 20\nseconds, and a body may take 30",
            (connections.HEAD_TIMEOUT_S, replies.BODY_TIMEOUT_S) == (20, 30),
        ),
        (
            MCP,
            "five wrong guesses from one address and thirty",
            (guard.MAX_PER_ADDRESS, guard.MAX_EVERYWHERE) == (5, 30),
        ),
        (MCP, "lasts an hour, a refresh token 90 days", (store.ACCESS_TTL_S, store.REFRESH_TTL_S) == (3600, 7_776_000)),
    ],
)
def test_the_figures_on_the_page_are_those_of_the_code(page: str, figure: str, value: bool) -> None:
    assert figure in page
    assert value


def test_the_client_on_the_page_is_answered(standing_url: str, password: str) -> None:
    match = re.search(r"```python\n(.*?)```", CLIENTS, re.DOTALL)
    assert match
    program = match[1].replace("http://127.0.0.1:8082", standing_url)
    environment = {"PASSAGEWAY_LOGIN_PASSWORD": password}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert "every March" in done.stdout, done.stderr


def test_the_program_on_the_page_is_a_command_of_ours() -> None:
    match = re.search(r'"args": (\[.*?\])', CLIENTS)
    assert match
    assert build_parser().parse_args(json.loads(match[1])).command == "stdio"


def test_the_plugins_page_names_its_skills_and_no_other() -> None:
    shown = set(re.findall(r"^\| `/([\w-]+)` \|", PLUGIN, re.MULTILINE))
    assert shown == {skill.parent.name for skill in (ROOT / "plugin" / "skills").glob("*/SKILL.md")}


def test_the_hook_in_the_settings_on_the_page_is_the_plugins_own() -> None:
    [shown] = block(PLUGIN, "json")["hooks"]["UserPromptSubmit"][0]["hooks"]
    registered = json.loads((ROOT / "plugin" / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    [own] = registered["hooks"]["UserPromptSubmit"][0]["hooks"]
    assert (shown["type"], shown["timeout"]) == (own["type"], own["timeout"])
    assert shown["command"].endswith("plugin/scripts/recall-hook.sh")
