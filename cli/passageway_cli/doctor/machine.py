"""What can be seen without a server: configuration, password, model, data folder, connectors."""

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from passageway.config import Config, ConnectorConfig, load_config
from passageway.embed_client import HttpEmbedder
from passageway.embedder import Embedder
from passageway.errors import EmbedderError, ModelError, PassagewayError, SettingsError
from passageway.protocol import Connector
from passageway.settings import Settings
from passageway_cli.doctor.finding import Finding, counted, failed, ok, warning
from passageway_cli.init import PASSWORD_FILE
from passageway_cli.own_server import own_environment, own_password
from passageway_embed.make import make_embedder
from passageway_embed.packages import installed_package
from passageway_query.search import Search

CHECK_TIMEOUT_S = 60
"""A connector may take its configured time for a listing; whoever waits at a terminal wants an answer sooner."""
CHECKS_AT_ONCE = 4
LOW_DISK_BYTES = 500_000_000
"""Several times the default model's 83 MB, or about 200,000 sections of an index at 2.5 kB each."""
SHORT_PASSWORD_CHARS = 12
"""Five guesses a minute and address make longer ones safe; `init` writes 32 characters."""


def configuration(settings: Settings) -> tuple[Config | None, Finding]:
    """The configuration, None when it cannot be used, and what there is to say about it."""
    what = "configuration"
    try:
        config = load_config(settings.config_path)
    except SettingsError as error:
        return None, failed(what, str(error), "mend the file; the page `configuration` lists every key")
    names = ", ".join(connector.name for connector in config.connectors)
    if not names:
        return config, warning(
            what, f"{settings.config_path} names no source", "add a [[connector]] for each thing to be searched"
        )
    return config, ok(what, f"{settings.config_path}: {names}")


def password(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Whether there is a password, and whether others can read or guess it."""
    what = "password"
    known = own_password(settings)
    if not known:
        return failed(
            what,
            "none is set",
            "set PASSAGEWAY_LOGIN_PASSWORD_FILE to the file that `passageway init` writes, here as for the server",
        )
    file = _password_file(settings, environ)
    if file is not None and _readable_by_others(file):
        return warning(what, f"{file} can be read by other users", f"chmod 600 {file}")
    if settings.base_url and len(known) < SHORT_PASSWORD_CHARS:
        return warning(
            what,
            f"it has {len(known)} characters, and the server has a public address",
            f"take one of {SHORT_PASSWORD_CHARS} characters or more; `passageway init` makes one",
        )
    return ok(what, f"in {file}" if file else "in the environment")


def _password_file(settings: Settings, environ: Mapping[str, str]) -> Path | None:
    """The file that the password is from; None when it is the environment's own."""
    if environ.get("PASSAGEWAY_LOGIN_PASSWORD"):
        return None
    named = environ.get("PASSAGEWAY_LOGIN_PASSWORD_FILE")
    return Path(named).expanduser() if named else settings.config_path.parent / PASSWORD_FILE


def _readable_by_others(file: Path) -> bool:
    """Whether a file of our own lets others read it; secrets of a container belong to somebody else."""
    status = file.stat()
    return status.st_uid == os.getuid() and bool(status.st_mode & (stat.S_IRGRP | stat.S_IROTH))


def model(settings: Settings, config: Config) -> Finding:
    """Whether the model answers: the embed service's where one runs, else this process loads it. Fetches nothing."""
    try:
        with contextlib.closing(_embedder(settings, config)) as embedder:
            info = embedder.info()
            started = time.perf_counter()
            embedder.embed(["Is anybody there?"], "query")
            took_ms = (time.perf_counter() - started) * 1000
    except PassagewayError as error:
        return _without_model(config, error)
    return ok("model", f"{info.name} answers in {took_ms:.0f} ms, gate {info.min_similarity:g}")


def _embedder(settings: Settings, config: Config) -> Embedder:
    service = HttpEmbedder(settings.embed_url)
    try:
        service.info()
    except EmbedderError:
        service.close()
        return make_embedder(config.embedder, settings, models_ready=True, foreground=True)
    return service


def _without_model(config: Config, error: PassagewayError) -> Finding:
    """A model that is not here yet is no failure where the first start fetches or makes it."""
    embedder = config.embedder
    package = installed_package(embedder.model) if embedder.kind == "onnx" else None
    if isinstance(error, ModelError) and package is not None:
        return warning("model", str(error), f"the first start makes it from {package.label}")
    if isinstance(error, ModelError) and embedder.download:
        return warning("model", str(error), "the first start fetches it, or that command now")
    return failed("model", str(error), "until it answers, questions are an error and nothing new is indexed")


def data_folder(settings: Settings, config: Config | None) -> Iterator[Finding]:
    """Whether the index can be written, whether there is room, and files that no configured source has."""
    what, folder = "data folder", settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        yield failed(
            what,
            f"{folder} cannot be written ({error.strerror or error})",
            "make it writable for the user of the server, or name another with PASSAGEWAY_DATA_DIR",
        )
        return
    if free_bytes < LOW_DISK_BYTES:
        yield warning(what, f"{folder} has {free_bytes / 1e6:.0f} MB left", "make room; a full disk stops every sync")
    else:
        yield ok(what, f"{folder}, {free_bytes / 1e9:,.0f} GB free")
    configured = {connector.name for connector in config.connectors} if config else set()
    strays = sorted(file.name for file in folder.glob("*.db") if file.stem not in configured) if config else []
    if strays:
        yield warning(
            what,
            f"{', '.join(strays)}: of no source that is configured, and still searched",
            "delete what is no longer wanted while the server is stopped",
        )


def index_files(settings: Settings, config: Config) -> Iterator[Finding]:
    """What each index file holds or why it cannot be used, for when no server can tell."""
    with (
        contextlib.closing(HttpEmbedder(settings.embed_url)) as embedder,
        contextlib.closing(Search(settings.data_dir, embedder)) as search,
    ):
        reports = search.sources()
    for report in reports:
        what = f"index {report.name}"
        if report.state.error:
            yield failed(what, report.state.error, "mend the cause; the next sync starts anew where it has to")
        else:
            yield ok(what, f"{counted(report.items, 'item')}, {counted(report.sections, 'section')}")


def connectors(settings: Settings, config: Config) -> Iterator[Finding]:
    """What each connector says to `check`, in the order of the configuration."""
    with ThreadPoolExecutor(CHECKS_AT_ONCE) as pool:
        yield from pool.map(partial(_connector, environ=own_environment(settings)), config.connectors)


def _connector(config: ConnectorConfig, environ: Mapping[str, str]) -> Finding:
    what = f"connector {config.name}"
    patience = config.model_copy(update={"timeout": min(config.timeout, CHECK_TIMEOUT_S)})
    try:
        with contextlib.closing(Connector.from_config(patience, environ)) as connector:
            reply = connector.check()
    except SettingsError as error:
        return failed(what, str(error), "or run doctor where the server's environment is")
    except PassagewayError as error:
        return failed(what, str(error), "mend the source or its settings; what was indexed before stays searchable")
    return ok(what, f"sees {counted(reply.count, 'item')}")
