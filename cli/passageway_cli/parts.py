"""What the processes are made of: the web application with its search, the sync, the embed service."""

import contextlib
import logging
from functools import partial
from pathlib import Path

from passageway.config import Config
from passageway.embedder import Embedder
from passageway.errors import SettingsError
from passageway.settings import Settings
from passageway_cli.lifecycle import Part, listen, run, serve
from passageway_embed.app import create_app as create_embed_app
from passageway_embed.deferred import DeferredEmbedder
from passageway_query.app import create_app as create_query_app
from passageway_query.search import Search
from passageway_sync.schedule import Schedule

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"


def serve_questions(settings: Settings, config: Config, embedder: Embedder, *further: Part) -> int:
    """Answer questions at the configured address until stopped, the further parts beside it; 0."""
    listener = listen(settings.host, settings.port)
    prepare_folder(settings.data_dir)
    names = [connector.name for connector in config.connectors]
    with contextlib.closing(Search(settings.data_dir, embedder)) as search:
        app = create_query_app(settings, search, connectors=names)
        return run(partial(serve, app, listener, trusted_proxies=settings.trusted_proxies), *further)


def prepare_folder(data_dir: Path) -> None:
    """Make the data folder unless it is there. Raises SettingsError."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the data folder {data_dir} cannot be made ({error.strerror or error}); "
            "make it, or name another with PASSAGEWAY_DATA_DIR"
        ) from error


def serve_problem(settings: Settings, problem: SettingsError) -> int:
    """Stay up and say what is wrong, so that a client can ask for the reason."""
    logger.error("%s", problem)
    app = create_query_app(settings, None, config_error=str(problem))
    return run(partial(serve, app, listen(settings.host, settings.port), trusted_proxies=settings.trusted_proxies))


def serve_vectors(settings: Settings, embedder: DeferredEmbedder) -> int:
    """Serve the embedder on loopback until stopped; 0."""
    return run(partial(serve, create_embed_app(embedder), listen(LOOPBACK, settings.embed_port)))


def sync_part(settings: Settings, config: Config, embedder: Embedder) -> Part:
    """The sync service as a part of a process."""
    if not config.connectors:
        logger.warning("nothing to index: add a [[connector]] to %s and start again", settings.config_path)
    prepare_folder(settings.data_dir)
    schedule = Schedule(config.connectors, settings.data_dir, embedder, settings.poll_s, settings.reconcile_s)
    return schedule.run
