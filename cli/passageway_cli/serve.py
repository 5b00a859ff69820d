"""The processes: embed, sync and query each alone, or the three in one."""

import argparse
import contextlib
import logging
from functools import partial

from passageway.config import Config, load_config
from passageway.embed_client import HttpEmbedder
from passageway.embedder import Embedder
from passageway.errors import SettingsError
from passageway.settings import Settings, require_password
from passageway_cli.lifecycle import Part, listen, run, serve
from passageway_embed.app import create_app as create_embed_app
from passageway_embed.deferred import DeferredEmbedder
from passageway_embed.make import make_embedder
from passageway_query.app import create_app as create_query_app
from passageway_query.search import Search
from passageway_sync.schedule import Schedule

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"


def serve_all(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Embed, sync and query in one process, until SIGTERM or SIGINT; 0."""
    require_password(settings)
    config = _config(settings)
    if isinstance(config, SettingsError):
        return _serve_problem(settings, config)
    with contextlib.closing(DeferredEmbedder(lambda: make_embedder(config.embedder, settings))) as embedder:
        return serve_questions(settings, config, embedder, sync_part(settings, config, embedder))


def serve_query(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Answer questions from the index files, embedding them over loopback; 0."""
    require_password(settings)
    config = _config(settings)
    if isinstance(config, SettingsError):
        return _serve_problem(settings, config)
    with contextlib.closing(HttpEmbedder(settings.embed_url)) as embedder:
        return serve_questions(settings, config, embedder)


def serve_sync(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Keep the index files current, embedding their text over loopback; 0."""
    config = load_config(settings.config_path)
    with contextlib.closing(HttpEmbedder(settings.embed_url)) as embedder:
        return run(sync_part(settings, config, embedder))


def serve_embed(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Serve the embedding model on loopback; 0."""
    config = load_config(settings.config_path)
    listener = listen(LOOPBACK, settings.embed_port)
    with contextlib.closing(DeferredEmbedder(lambda: make_embedder(config.embedder, settings))) as embedder:
        return run(partial(serve, create_embed_app(embedder), listener))


def serve_questions(settings: Settings, config: Config, embedder: Embedder, *further: Part) -> int:
    """Answer questions at the configured address until stopped, the further parts beside it; 0."""
    listener = listen(settings.host, settings.port)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    names = [connector.name for connector in config.connectors]
    with contextlib.closing(Search(settings.data_dir, embedder)) as search:
        app = create_query_app(settings, search, connectors=names)
        return run(partial(serve, app, listener, trusted_proxies=settings.trusted_proxies), *further)


def _serve_problem(settings: Settings, problem: SettingsError) -> int:
    """Stay up and say what is wrong, so that a client can ask for the reason."""
    logger.error("%s", problem)
    app = create_query_app(settings, None, config_error=str(problem))
    return run(partial(serve, app, listen(settings.host, settings.port), trusted_proxies=settings.trusted_proxies))


def _config(settings: Settings) -> Config | SettingsError:
    try:
        return load_config(settings.config_path)
    except SettingsError as error:
        return error


def sync_part(settings: Settings, config: Config, embedder: Embedder) -> Part:
    """The sync service as a part of a process."""
    if not config.connectors:
        logger.warning("nothing to index: add a [[connector]] to %s and start again", settings.config_path)
    schedule = Schedule(config.connectors, settings.data_dir, embedder, settings.poll_s, settings.reconcile_s)
    return schedule.run
