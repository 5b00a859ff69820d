"""The gate and the ranking with the vectors of the default model, not only with those of a toy."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passageway.config import EmbedderConfig
from passageway.records import Item
from passageway.settings import load_settings
from passageway_embed.engine import Engine
from passageway_embed.models import ready_model
from passageway_embed.onnx import OnnxModel
from passageway_query.answer import Question
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The model, made once in a folder that all test processes share, or in .dev with PASSAGEWAY_TEST_MODELS set."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = ROOT / ".dev" if os.environ.get("PASSAGEWAY_TEST_MODELS") else base
    settings = load_settings({"HOME": str(folder), "PASSAGEWAY_DATA_DIR": str(folder)})
    settings.models_dir.mkdir(parents=True, exist_ok=True)
    with (settings.models_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        files = ready_model(EmbedderConfig(download=False), settings)
    made = Engine(OnnxModel(files))
    yield made
    made.close()


@pytest.fixture
def pages(index: Index, item: MakeItem, engine: Engine) -> None:
    index(
        "notes",
        item("d1", "Warranty", "Returns are possible within thirty days with a receipt."),
        item("d2", "Client", "Use parse_http_reply and RetryBudget for release 4.12."),
        item("d3", "停车", "访客停车需要提前登记车牌号码。"),
        item("d4", "Übergabe", "Die Übergabe erfolgt um sechs Uhr."),
        item("hook", "Boat hook", "The hook hangs by the door."),
        model=engine,
    )


@pytest.fixture
def real(data_dir: Path, engine: Engine) -> Iterator[Search]:
    made = Search(data_dir, engine)
    yield made
    made.close()


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    "prompt",
    [
        "ok thanks",
        "continue",
        "fix the failing test in utils.py",
        "who won the match yesterday?",
        "please do the same for the other one",
        "danke, mach weiter",
    ],
)
def test_a_prompt_that_asks_nothing_of_the_sources_adds_nothing(real: Search, prompt: str) -> None:
    assert real.ask(Question(prompt)).hits == ()


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("prompt", "page"),
    [
        ("how many days for returns?", "d1"),
        ("is there a guarantee when I send my order back?", "d1"),
        ("Wann wird übergeben?", "d4"),
        ("where do visitors park their cars?", "d3"),
        ("which version has the parse_http_reply function?", "d2"),
        ("where's the hook?", "hook"),
    ],
)
def test_a_question_finds_its_page_by_meaning_and_across_languages(real: Search, prompt: str, page: str) -> None:
    explanation = real.ask(Question(prompt, explain=True)).explanation
    assert explanation is not None
    assert explanation.candidates[0].id == page


@pytest.mark.usefixtures("pages")
def test_a_real_question_adds_the_page_that_answers_it_first(real: Search) -> None:
    assert [hit.id for hit in real.ask(Question("how many days for returns?")).hits][:1] == ["d1"]
