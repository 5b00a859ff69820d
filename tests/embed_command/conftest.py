import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passageway.embed_command import CommandEmbedder

FAKE = [sys.executable, "-m", "passageway.testing.fake_embedder"]


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    """Where the fake embedder writes its starts and requests."""
    path = tmp_path / "embedder.log"
    path.touch()
    return path


@pytest.fixture
def fake(log_path: Path) -> Iterator[Callable[..., CommandEmbedder]]:
    """Makes fake embedders: upper-case arguments are settings, the others go to CommandEmbedder."""
    made: list[CommandEmbedder] = []

    def make(**arguments: Any) -> CommandEmbedder:
        settings = {name: str(arguments.pop(name)) for name in list(arguments) if name.isupper()}
        options = {"min_similarity": 0.5, "timeout_s": 60, **arguments}
        made.append(CommandEmbedder("fake", FAKE, env={"FAKE_LOG": str(log_path), **settings}, **options))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., CommandEmbedder]]:
    """Makes embedders out of a few lines of Python."""
    made: list[CommandEmbedder] = []

    def make(source: str, **arguments: Any) -> CommandEmbedder:
        options = {"min_similarity": 0.5, "timeout_s": 60, **arguments}
        made.append(CommandEmbedder("scripted", [sys.executable, "-c", source], **options))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()
