"""The state of sources, embedder and sync as the index files tell it; error texts are for whoever has the password."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from passageway.index.layout import index_path
from passageway.settings import Settings
from passageway_query.answer import SourceReport
from passageway_query.model_check import ModelCheck
from passageway_query.search import Search
from passageway_query.wire import EmbedderHealth, Health, SourceHealth, SyncHealth

HEARTBEAT_MAX_AGE_S = 30
"""Sync writes a heartbeat every few seconds; one older than this means that nobody looks after the source."""

NO_FILE = "no index file yet: the sync process has not started on this source"
STALE = "the sync process has not looked after this source for {age_s} s"
UNWRITABLE = "{path} cannot be written by user {user}; make it writable for the user that passageway runs as"


class HealthSource:
    """Where reports come from. `search` is None exactly when `config_error` says why. `now` gives Unix seconds.

    `connectors` are the configured ones; without them every file counts as configured.
    """

    def __init__(
        self,
        settings: Settings,
        search: Search | None,
        config_error: str | None = None,
        connectors: Sequence[str] | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.config_error = config_error
        self._settings = settings
        self._search = search
        self._model = None if search is None else ModelCheck(search.model)
        self._connectors = None if connectors is None else tuple(connectors)
        self._now = now
        self._started = now()

    def report(self, *, errors: bool) -> Health:
        """The report now; with `errors` their texts too, which may tell of private systems. Blocks on files."""
        version, instance = self._settings.version, self._settings.instance
        if self._search is None or self._model is None:
            error = self.config_error if errors else None
            return Health(status="error", version=version, instance=instance, error=error, errors_shown=errors)
        # The model first: whether vectors are current is told against it.
        embedder = self._model.health()
        now = self._now()
        sources = _sources(self._search.sources(), self._connectors, self._settings.data_dir, now)
        sync = _sync(sources, waited_s=now - self._started)
        health = Health(
            status=_status(sources, embedder, sync),
            version=version,
            instance=instance,
            sources=sources,
            embedder=embedder,
            sync=sync,
            errors_shown=True,
        )
        return health if errors else without_errors(health)


def without_errors(health: Health) -> Health:
    """The report as anybody may see it."""
    return health.model_copy(
        update={
            "error": None,
            "sources": [source.model_copy(update={"error": None}) for source in health.sources],
            "embedder": health.embedder and health.embedder.model_copy(update={"error": None}),
            "errors_shown": False,
        }
    )


def _sources(
    reports: Sequence[SourceReport], connectors: Sequence[str] | None, data_dir: Path, now: float
) -> list[SourceHealth]:
    """One entry a file, and one a connector that has none yet, by name."""
    found = [_source(report, connectors is None or report.name in connectors, data_dir, now) for report in reports]
    missing = set(connectors or ()) - {report.name for report in reports}
    barred = _barred(data_dir)
    waiting = [
        SourceHealth(
            name=name,
            state="failing" if barred else "indexing",
            items=0,
            sections=0,
            vectors_current=True,
            error=barred or NO_FILE,
        )
        for name in missing
    ]
    return sorted([*found, *waiting], key=lambda source: source.name)


def _barred(*paths: Path) -> str | None:
    """Why nothing can be written there, or None. Sync, which cannot leave word of it then, runs as the same user."""
    barred = next((path for path in paths if not os.access(path, os.W_OK)), None)
    return None if barred is None else UNWRITABLE.format(path=barred, user=os.geteuid())


def _source(report: SourceReport, configured: bool, data_dir: Path, now: float) -> SourceHealth:
    state = report.state
    # One of the future is from before the clock was set back, and as old as that: a living sync soon writes another.
    beat_age_s = None if state.heartbeat is None else abs(round(now - state.heartbeat))
    stale = configured and beat_age_s is not None and beat_age_s > HEARTBEAT_MAX_AGE_S
    error = state.error
    if stale and error is None:
        error = _barred(data_dir, index_path(data_dir, report.name)) or STALE.format(age_s=beat_age_s)
    return SourceHealth(
        name=report.name,
        state=state.state,
        items=report.items,
        sections=report.sections,
        fetched=state.fetched,
        of=state.of,
        last_success_age_s=_age(state.last_success, now),
        heartbeat_age_s=beat_age_s,
        vectors_current=report.vectors_current,
        configured=configured,
        error=error,
    )


def _age(then: float | None, now: float) -> int | None:
    return None if then is None else max(0, round(now - then))


def _sync(sources: Sequence[SourceHealth], waited_s: float) -> SyncHealth:
    """Running while every source is looked after. A source without a heartbeat is given time to get its first."""
    configured = [source for source in sources if source.configured]
    ages = [source.heartbeat_age_s for source in configured if source.heartbeat_age_s is not None]
    oldest = max(ages, default=None)
    gone = oldest is not None and oldest > HEARTBEAT_MAX_AGE_S
    never = len(ages) < len(configured) and waited_s > HEARTBEAT_MAX_AGE_S
    if gone or never:
        return SyncHealth(state="gone", heartbeat_age_s=oldest)
    return SyncHealth(state="running" if ages else "unknown", heartbeat_age_s=oldest)


def _status(sources: Sequence[SourceHealth], embedder: EmbedderHealth, sync: SyncHealth) -> str:
    """The worst of it: degraded, else indexing, else ok."""
    current = [source for source in sources if source.configured]
    if embedder.state == "failing" or sync.state == "gone" or any(source.state == "failing" for source in current):
        return "degraded"
    unfinished = any(source.state == "indexing" or not source.vectors_current for source in current)
    if unfinished or embedder.state == "loading":
        return "indexing"
    return "ok"


def health_text(health: Health) -> str:
    """The report to read, one line a source."""
    instance = f", instance {health.instance}" if health.instance else ""
    lines = [f"passageway {health.version}{instance}: {health.status}"]
    if health.error:
        lines.append(f"error: {health.error}")
    lines += [_source_line(source) for source in health.sources]
    if health.embedder:
        embedder = health.embedder
        model = f" ({embedder.name}, {embedder.dimension} dimensions)" if embedder.name else ""
        lines.append(f"embedder: {embedder.state}{model}{_because(embedder.error)}")
    if health.sync:
        beat = "" if health.sync.heartbeat_age_s is None else f" (last heartbeat {health.sync.heartbeat_age_s} s ago)"
        lines.append(f"sync: {health.sync.state}{beat}")
    return "\n".join(lines)


def _source_line(source: SourceHealth) -> str:
    facts = [f"{source.items} items", f"{source.sections} sections"]
    if source.of is not None:
        facts.append(f"{source.fetched or 0} of {source.of} read")
    if source.last_success_age_s is not None:
        facts.append(f"last success {source.last_success_age_s} s ago")
    if not source.vectors_current:
        facts.append("vectors out of date, found by words only")
    if not source.configured:
        facts.append("no longer configured")
    return f"source {source.name}: {source.state}, {', '.join(facts)}{_because(source.error)}"


def _because(error: str | None) -> str:
    return f": {error}" if error else ""
