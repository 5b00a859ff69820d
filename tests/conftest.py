"""For all tests: the real model, made once, and ports for programs that are told theirs."""

import fcntl
import os
import random
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.config import EmbedderConfig
from passageway.settings import Settings, load_settings
from passageway_embed.models import ModelFiles, ready_model

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def model_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose models folder lasts: for this run, or for good in .dev with PASSAGEWAY_TEST_MODELS set."""
    if os.environ.get("PASSAGEWAY_TEST_MODELS"):
        return ROOT / ".dev"
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def model_settings(model_data_dir: Path) -> Settings:
    return load_settings({"HOME": str(model_data_dir), "PASSAGEWAY_DATA_DIR": str(model_data_dir)})


@pytest.fixture(scope="session")
def model_files(model_settings: Settings) -> ModelFiles:
    """The default model, made by one of the test processes while the others wait."""
    model_settings.models_dir.mkdir(parents=True, exist_ok=True)
    with (model_settings.models_dir / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return ready_model(EmbedderConfig(download=False), model_settings)


@pytest.fixture(scope="session")
def model_folder(model_files: ModelFiles) -> Path:
    """The folder with the default model's files, for PASSAGEWAY_MODEL_DIR."""
    return model_files.folder


@pytest.fixture(scope="session")
def unused_port() -> Callable[[], int]:
    """Draws a port on which nobody listens.

    It is below those that systems give to a `bind` to port 0 (32,768 and up on Linux, 49,152 on macOS), or another
    test's server could be given it before the program is up.
    """
    ports = random.Random(f"{os.getpid()} {os.environ.get('PYTEST_XDIST_WORKER')}")

    def unused_port() -> int:
        while True:
            port = ports.randrange(20_000, 32_000)
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port

    return unused_port


@pytest.fixture(scope="session")
def one_service() -> str:
    """compose.yaml with its commented service for small machines instead of the four."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    variant = re.search(r"^# A small machine.*\n#\n((?:#  .*\n)+)", text, re.MULTILINE)
    assert variant is not None
    before, after = text[: text.index("\nservices:\n")], text[text.index("\nsecrets:\n") :]
    return before + "\nservices:\n" + re.sub(r"^#", "", variant[1], flags=re.MULTILINE) + after
