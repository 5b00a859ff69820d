"""One conversion for all tests of this package."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway_model_e5 import ProvidedModel, provide

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reports to its maker otherwise, from its import on


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="session")
def provided(folder: Path) -> ProvidedModel:
    return provide(folder)


@pytest.fixture
def fill(provided: ProvidedModel, folder: Path) -> Callable[[Path, list[str]], None]:
    """Puts some of the converted files into another folder, without copying them."""

    def link(target: Path, names: list[str]) -> None:
        for name in names:
            (target / name).hardlink_to(folder / name)

    return link
