"""The fixture wiki through the whole of passageway: connector, sync, the real model, search."""

import fcntl
import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from passageway.config import ConnectorConfig, EmbedderConfig
from passageway.embedder import Embedder
from passageway.settings import load_settings
from passageway_connector_trilium.testing import TOKEN, FakeTrilium
from passageway_embed.make import make_embedder
from passageway_query.answer import Question
from passageway_query.search import Search
from passageway_sync.sync import build

pytestmark = pytest.mark.skipif(find_spec("passageway_model_e5") is None, reason="needs the model package")
QUESTIONS = Path(__file__).with_name("wiki") / "questions.toml"


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    """The default model, made once for all test processes in a folder that they share."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    settings = load_settings({"HOME": str(shared), "PASSAGEWAY_DATA_DIR": str(shared)})
    settings.models_dir.mkdir(parents=True, exist_ok=True)
    with (settings.models_dir / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = make_embedder(EmbedderConfig(download=False), settings)
    with closing(made):
        yield made


@pytest.fixture
def search(
    workshop: FakeTrilium, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Search]:
    monkeypatch.setenv("TEST_TRILIUM_TOKEN", TOKEN)
    config = ConnectorConfig(
        name="workshop",
        command=[sys.executable, "-m", "passageway_connector_trilium"],
        env={name: value for name, value in workshop.env.items() if name != "TOKEN"},
        secrets={"TOKEN": "env:TEST_TRILIUM_TOKEN"},
    )
    build(config, tmp_path, embedder)
    with closing(Search(tmp_path, embedder)) as opened:
        yield opened


def test_eleven_of_twelve_questions_find_their_note_and_five_find_nothing(search: Search, capsys: Any) -> None:
    questions = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["question"]
    found: list[str] = []
    silent: list[str] = []
    lines = []
    for question in questions:
        answer = search.ask(Question(question["text"], explain=True))
        ids = [hit.id for hit in answer.hits]
        if question["notes"]:
            found += [question["text"]] if set(ids) & set(question["notes"]) else []
        else:
            silent += [question["text"]] if not ids else []
        expected = ", ".join(question["notes"]) or "nothing"
        lines.append(f"  {question['text']} -> {', '.join(ids) or 'nothing'} (expected {expected})")
    answerable = sum(bool(question["notes"]) for question in questions)
    with capsys.disabled():
        print(f"\ntrilium: hit@3 {len(found)}/{answerable}, silence {len(silent)}/{len(questions) - answerable}")
        print("\n".join(lines))
    assert (answerable, len(questions)) == (12, 17)
    assert len(found) >= 11
    assert len(silent) == 5


def test_a_hit_on_a_source_shows_its_summary_and_the_other_way_round(search: Search) -> None:
    source = search.ask(Question("What happened to motion 3, a compressor in the cellar?"))
    assert source.hits[0].id == "minutes"
    assert "meetingSummary" in [*(related.id for related in source.related), *(hit.id for hit in source.hits)]
    summary = search.ask(Question("sintered pads for cargo bikes with rotors of 203 mm"))
    assert summary.hits[0].id == "pads"
    assert "padsTalk" in [*(related.id for related in summary.related), *(hit.id for hit in summary.hits)]
