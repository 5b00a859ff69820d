"""The processes: embed, sync and query each alone, or the three in one.

The model loads in a thread of its own while `passageway_cli.parts` is being imported: each takes about a second, and a
process that starts has a question waiting. So that import stands in the functions.
"""

import argparse
import contextlib

from passageway.config import Config, load_config
from passageway.embed_client import HttpEmbedder
from passageway.errors import SettingsError
from passageway.settings import Settings, require_password
from passageway_embed.deferred import DeferredEmbedder
from passageway_embed.make import make_embedder


def serve_all(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Embed, sync and query in one process, until SIGTERM or SIGINT; 0."""
    require_password(settings)
    config = _config(settings)
    if isinstance(config, SettingsError):
        return _serve_problem(settings, config)
    with contextlib.closing(_own_embedder(settings, config)) as embedder:
        from passageway_cli.parts import serve_questions, sync_part

        return serve_questions(settings, config, embedder, sync_part(settings, config, embedder))


def serve_query(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Answer questions from the index files, embedding them over loopback; 0."""
    require_password(settings)
    config = _config(settings)
    if isinstance(config, SettingsError):
        return _serve_problem(settings, config)
    from passageway_cli.parts import serve_questions

    with contextlib.closing(HttpEmbedder(settings.embed_url)) as embedder:
        return serve_questions(settings, config, embedder)


def serve_sync(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Keep the index files current, embedding their text over loopback; 0."""
    from passageway_cli.lifecycle import run
    from passageway_cli.parts import sync_part

    config = load_config(settings.config_path)
    with contextlib.closing(HttpEmbedder(settings.embed_url)) as embedder:
        return run(sync_part(settings, config, embedder))


def serve_embed(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Serve the embedding model on loopback; 0."""
    with contextlib.closing(_own_embedder(settings, load_config(settings.config_path))) as embedder:
        from passageway_cli.parts import serve_vectors

        return serve_vectors(settings, embedder)


def _own_embedder(settings: Settings, config: Config) -> DeferredEmbedder:
    return DeferredEmbedder(lambda: make_embedder(config.embedder, settings))


def _serve_problem(settings: Settings, problem: SettingsError) -> int:
    from passageway_cli.parts import serve_problem

    return serve_problem(settings, problem)


def _config(settings: Settings) -> Config | SettingsError:
    try:
        return load_config(settings.config_path)
    except SettingsError as error:
        return error
