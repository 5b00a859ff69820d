"""The embedder that the configuration names."""

import atexit
import logging
import os
import threading

from passageway.config import EmbedderConfig
from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder
from passageway.secrets import resolve
from passageway.settings import Settings
from passageway_embed.check import agreement
from passageway_embed.engine import Engine
from passageway_embed.models import ModelFiles, ready_model

logger = logging.getLogger(__name__)

MOST_WORKERS = 2
"""Threads that embed passages: with two, 22.3 passages a second where one does 12.7; more were not measured."""

LOADING_S = 5.0
"""The longest that an interpreter which ends waits for a model that is loading; that takes a second or two."""

_loading = threading.Lock()


def make_embedder(
    config: EmbedderConfig, settings: Settings, *, models_ready: bool = False, foreground: bool = False
) -> Embedder:
    """The embedder, ready to be asked. Its model's files are fetched or made first when they are missing.

    With `models_ready` they are said to be there, and nothing is fetched or made. `foreground` is for a command that
    somebody waits for: it takes what the machine has, and the log says nothing of a model that is simply there.
    Raises ModelError when there is no usable model, SettingsError when the configuration names something that does
    not exist.
    """
    if config.kind == "command":
        return _program(config)
    files = ready_model(config, settings, offline=models_ready)
    with _loading:
        return _engine(config, settings, files, foreground)


def _program(config: EmbedderConfig) -> CommandEmbedder:
    assert config.command is not None  # the configuration refuses a command embedder without one
    return CommandEmbedder(
        "command",
        config.command,
        env=config.env,
        secrets=resolve(config.secrets, "embedder"),
        batch_size=config.batch_size,
        timeout_s=config.timeout,
        min_similarity=config.min_similarity,
    )


def _engine(config: EmbedderConfig, settings: Settings, files: ModelFiles, foreground: bool) -> Engine:
    from passageway_embed.onnx import OnnxModel  # only here: loading onnxruntime takes 0.2 s and 40 MB

    model = OnnxModel(files, config.device)
    if files.check is not None:
        agreement(model, files.check)
    level = logging.DEBUG if foreground else logging.INFO
    logger.log(level, "%s is loaded: %d dimensions, %s", model.name, model.dimension, model.provider)
    if foreground:
        workers = max(settings.embed_workers, min(MOST_WORKERS, os.cpu_count() or 1))
        return Engine(model, workers=workers, niceness=0, min_similarity=config.min_similarity)
    return Engine(model, workers=settings.embed_workers, min_similarity=config.min_similarity)


@atexit.register
def _let_loading_end() -> None:
    """Wait for the model that a thread is loading, and let no other begin.

    Up to version 3.13, a Python that ends unwinds its threads where they are, and one that is in onnxruntime's C++
    takes the process down with SIGABRT.
    """
    _loading.acquire(timeout=LOADING_S)
