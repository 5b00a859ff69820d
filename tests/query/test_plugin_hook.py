"""The plugin's prompt hook: its own test, and the hook against a real server."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway import __version__

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
HOOK = PLUGIN / "scripts" / "recall-hook.sh"


def run_hook(home: Path, prompt: str) -> subprocess.CompletedProcess[str]:
    said = {"session_id": "s1", "cwd": "/home/anna", "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    return subprocess.run(
        ["bash", str(HOOK)],
        input=json.dumps(said),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        timeout=20,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".claude" / "plugin-data" / "passageway").mkdir(parents=True)
    return tmp_path / "home"


def connect(home: Path, url: str, password: str, name: str = "passageway.json") -> None:
    config = home / ".claude" / "plugin-data" / "passageway" / name
    config.write_text(json.dumps({"url": url, "token": password}), encoding="utf-8")


@pytest.mark.timeout(700)
def test_the_hooks_own_test_passes() -> None:
    script = PLUGIN / "scripts" / "test-recall-hook.sh"
    # It holds the hook to its time limit of 1.5 s, which a machine that is busy with other tests may miss once.
    for _ in range(3):
        done = subprocess.run(["bash", str(script)], capture_output=True, encoding="utf-8", timeout=200, check=False)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " passed, 0 failed" in done.stdout


def test_a_question_is_given_its_passages_in_the_form_that_claude_code_reads(
    client: httpx.Client, home: Path, password: str
) -> None:
    connect(home, str(client.base_url), password)
    done = run_hook(home, "When do we rotate the signing certificate?")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert list(said) == ["hookSpecificOutput"]
    assert said["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "every March" in said["hookSpecificOutput"]["additionalContext"]
    assert "every March" not in run_hook(home, "When do we rotate the signing certificate?").stdout


@pytest.mark.parametrize("prompt", ["ok", "/compact", "who won the match yesterday?"])
def test_nothing_is_said_when_there_is_nothing_to_say(
    client: httpx.Client, home: Path, password: str, prompt: str
) -> None:
    connect(home, str(client.base_url), password)
    done = run_hook(home, prompt)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_said_with_a_wrong_password(client: httpx.Client, home: Path) -> None:
    connect(home, str(client.base_url), "wrong")
    done = run_hook(home, "When do we rotate the signing certificate?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("broken", ["missing", "text", "locked"])
def test_nothing_blocks_a_prompt_while_the_index_cannot_be_read(
    build: Callable[..., None], serve: Callable[..., str], data_dir: Any, home: Path, password: str, broken: str
) -> None:
    if broken == "text":
        (data_dir / "notes.db").write_bytes(b"this is no database, it is a letter")
    if broken == "locked":
        build()
        (data_dir / "notes.db").chmod(0)
    connect(home, serve(connectors=["notes"]), password)
    done = run_hook(home, "boat hook")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_prompt_of_a_megabyte_is_answered(client: httpx.Client, home: Path, password: str) -> None:
    connect(home, str(client.base_url), password)
    done = run_hook(home, "rotate the signing certificate " + "x" * 1_000_000)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_manifests_name_the_plugin_its_folder_and_its_version() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    [entry] = marketplace["plugins"]
    assert (marketplace["name"], entry["name"]) == ("passageway", "passageway")
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert (manifest["name"], manifest["version"]) == ("passageway", __version__)


def test_the_hook_that_is_registered_is_the_one_that_is_tested() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert list(hooks) == ["UserPromptSubmit"]
    [registered] = hooks["UserPromptSubmit"][0]["hooks"]
    assert registered["type"] == "command"
    command = registered["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN))
    assert command == f'bash "{HOOK}"'
    assert registered["timeout"] >= 2
