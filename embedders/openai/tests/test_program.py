"""The program as passageway runs it, and as a whole."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError
from passageway.testing.embedder_contract import check_embedder

Make = Callable[..., CommandEmbedder]
HERE = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-m", "passageway_embedder_openai"]


@pytest.mark.parametrize("provider", ["openai", "voyage", "ollama"])
def test_every_provider_keeps_the_embedder_protocol(make_embedder: Make, provider: str) -> None:
    check_embedder(make_embedder(PROVIDER=provider))


def test_the_dimension_is_learned_from_one_word(api: Any, make_embedder: Make) -> None:
    info = make_embedder(NAME="mine").info()
    assert info == EmbedderInfo("mine", 64, 0.5)
    assert [request.body["input"] for request in api.requests] == [["passageway"]]


def test_with_dimensions_it_starts_while_the_service_is_down_and_works_once_it_is_up(
    api: Any, make_embedder: Make
) -> None:
    embedder = make_embedder(DIMENSIONS="64")
    assert embedder.info().dimension == 64
    assert api.requests == []
    api.say(503, {"error": "starting"}, headers={"Retry-After": "60"})
    with pytest.raises(EmbedderError, match="'cloud': 127.0.0.1:.* 503 Service Unavailable: starting; gave up"):
        embedder.embed(["a"], "query")
    assert embedder.embed(["a"], "query").shape == (1, 64)


def test_without_dimensions_a_service_that_is_down_is_an_error_and_asked_again_by_the_next_call(
    api: Any, make_embedder: Make
) -> None:
    embedder = make_embedder()
    api.say(503, headers={"Retry-After": "60"})
    with pytest.raises(EmbedderError, match="503"):
        embedder.info()
    assert embedder.info().dimension == 64


def test_a_failed_request_leaves_the_program_running(api: Any, make_embedder: Make) -> None:
    embedder = make_embedder()
    first = embedder.embed(["a"], "query")
    api.say(400, {"error": {"message": "too long"}})
    with pytest.raises(EmbedderError, match="too long"):
        embedder.embed(["a"], "query")
    np.testing.assert_array_equal(embedder.embed(["a"], "query"), first)
    assert len(api.requests) == 4  # the probe once: it is the same process


def test_it_waits_a_second_before_it_asks_again(api: Any, make_embedder: Make) -> None:
    embedder = make_embedder(DIMENSIONS="64")
    api.say(429)
    started = time.monotonic()
    assert embedder.embed(["a"], "query").shape == (1, 64)
    assert 1 <= time.monotonic() - started < 20


def test_the_key_arrives_as_a_secret(api: Any, make_embedder: Make) -> None:
    make_embedder(secrets={"API_KEY": "sk-1"}).info()
    assert api.requests[0].headers["authorization"] == "Bearer sk-1"


def run(lines: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "MODEL": "toy", "BASE_URL": "http://127.0.0.1:9/v1", "TIMEOUT": "0.5", **environ}
    text = "".join(line + "\n" for line in lines)
    return subprocess.run(PROGRAM, input=text, env=env, capture_output=True, encoding="utf-8", timeout=60)


def test_a_wrong_setting_ends_the_program_with_2_and_the_setting() -> None:
    result = run([], MODEL="")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("openai embedder: MODEL is not set") and "Traceback" not in result.stderr


def test_every_line_gets_an_answer_whatever_it_is() -> None:
    lines = ['{"op": "info"}', "", "no JSON", "[]", '{"op": "sing"}', '{"op": "embed", "kind": "song", "texts": ["a"]}']
    result = run([*lines, '{"op": "embed", "kind": "query", "texts": []}'], DIMENSIONS="3", NAME="n")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert answers[0] == {"name": "n", "dim": 3, "protocol": "1"}
    assert [list(answer) for answer in answers[1:5]] == [["error"]] * 4
    assert answers[5] == {"vectors": []}
    assert result.returncode == 0


def test_httpx_is_loaded_with_the_first_request_and_nothing_of_passageway_ever() -> None:
    source = """
import io, json, sys
from passageway_embedder_openai.answers import serve
from passageway_embedder_openai.service import Service
from passageway_embedder_openai.settings import load_settings
settings = load_settings({"MODEL": "m", "PROVIDER": "ollama", "DIMENSIONS": "3"})
serve(['{"op": "info"}'], sys.stdout, settings, Service(settings))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(result.stdout.splitlines()[1].split())
    assert "passageway_embedder_openai" in loaded
    assert not loaded & {"httpx", "truststore", "passageway", "passageway_sdk"}


PAGES = {"readme": HERE / "README.md", "docs": HERE.parents[1] / "docs/embedders/openai.md"}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_the_page_explains_every_setting(page: Path) -> None:
    source = (HERE / "passageway_embedder_openai/settings.py").read_text(encoding="utf-8")
    names = set(re.findall(r'environ\.get\("([A-Z_]+)"', source))
    first_cells = re.findall(r"^\|([^|]+)\|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == 9 and names == set(re.findall(r"`([A-Z_]+)`", " ".join(first_cells)))
