"""When each source is synced: one thread a source, so that a hanging connector delays nobody else."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from passageway.config import ConnectorConfig
from passageway.embedder import Embedder
from passageway.errors import EmbedderError, IndexDamagedError, PassagewayError
from passageway_sync.progress import ProgressLog
from passageway_sync.sync import SourceSync, Stopped

logger = logging.getLogger(__name__)

HEARTBEAT_S = 10
STOP_S = 3
"""Seconds that a stop waits for what a sync is doing, and once more for one that waits for the embedder."""

EMBEDDER_RETRY_S = 5
"""Seconds until a sync that found no embedder asks again: it may just be starting."""


class Schedule:
    """Syncs every source: a reconcile at start and every `reconcile_s`, a poll every `poll_s` in between.

    A failed sync is tried again after `poll_s`, doubling up to `reconcile_s`.
    """

    def __init__(
        self,
        connectors: Sequence[ConnectorConfig],
        data_dir: Path,
        embedder: Embedder,
        poll_s: float,
        reconcile_s: float,
    ):
        self._connectors = connectors
        self._data_dir = data_dir
        self._embedder = embedder
        self._poll_s = poll_s
        self._reconcile_s = reconcile_s

    async def run(self, stop: asyncio.Event) -> None:
        """Sync until `stop` is set; then end running connectors, close the files and return."""
        self._data_dir.mkdir(parents=True, exist_ok=True)
        runners = [
            _Runner(config, self._data_dir, self._embedder, self._poll_s, self._reconcile_s)
            for config in self._connectors
        ]
        for runner in runners:
            runner.start()
        await stop.wait()
        for runner in runners:
            runner.stop()
        if not await asyncio.to_thread(_join, runners):
            # Whoever is left waits for vectors, and an embedder that is away or hangs lets go when it is closed.
            self._embedder.close()
            if not await asyncio.to_thread(_join, runners):
                logger.warning("not every sync has ended within %d s; what is stored is whole", 2 * STOP_S)


def _join(runners: Sequence["_Runner"]) -> bool:
    """Whether all have ended within `STOP_S`."""
    deadline_s = time.monotonic() + STOP_S
    return all(runner.join(max(0.0, deadline_s - time.monotonic())) for runner in runners)


class _Runner:
    """One source's two threads: the syncs, and the heartbeat that goes on while a sync is busy."""

    def __init__(self, config: ConnectorConfig, data_dir: Path, embedder: Embedder, poll_s: float, reconcile_s: float):
        self._config = config
        self._data_dir = data_dir
        self._embedder = embedder
        self._poll_s = poll_s
        self._reconcile_s = reconcile_s
        self._stopping = threading.Event()
        self._sync: SourceSync | None = None
        self._said: set[str] = set()
        self._threads = [
            threading.Thread(target=self._run, name=f"sync {config.name}", daemon=True),
            threading.Thread(target=self._beat, name=f"heartbeat {config.name}", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._sync is not None:
            self._sync.stop()

    def join(self, timeout_s: float) -> bool:
        """Whether both threads have ended within that time."""
        deadline_s = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _beat(self) -> None:
        while not self._stopping.wait(HEARTBEAT_S):
            try:
                if self._sync is not None:
                    self._sync.beat()
            except PassagewayError as error:
                logger.error("%s: the heartbeat cannot be written: %s", self._config.name, error)

    def _run(self) -> None:
        progress = ProgressLog(self._config.name)
        self._sync = SourceSync(self._config, self._data_dir, self._embedder, progress)
        failures, reconcile_at = 0, 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= reconcile_at:
                error = self._guarded(self._reconcile)
                failures = failures + 1 if error else 0
                reconcile_at = time.monotonic() + (self._retry_s(error, failures) if error else self._reconcile_s)
            elif self._sync.can_poll:
                error = self._guarded(self._poll)
                if isinstance(error, IndexDamagedError) or not self._sync.can_poll:
                    reconcile_at = 0.0  # the file is a new one, and empty, or there is none
            self._stopping.wait(max(0.0, min(self._poll_s, reconcile_at - time.monotonic())))
        self._sync.close()

    def _reconcile(self) -> None:
        assert self._sync is not None
        report = self._sync.reconcile()
        self._said.clear()
        logger.info(
            "%s: %d items, %d sections (%d fetched, %d removed)",
            *(report.name, report.items, report.sections, report.changed, report.removed),
        )

    def _poll(self) -> None:
        assert self._sync is not None
        if changed := self._sync.poll():
            logger.info("%s: changed items stored: %d", self._config.name, changed)

    def _guarded(self, step: Callable[[], None]) -> Exception | None:
        """The error the step ended with, said in the log; whatever it is, only this source feels it."""
        try:
            step()
        except Stopped:
            return None
        except PassagewayError as error:
            # A source may be down for days and is asked every minute: the log has it once, /health all the time.
            level = logging.DEBUG if str(error) in self._said else logging.WARNING
            self._said.add(str(error))
            logger.log(level, "%s: sync failed: %s", self._config.name, error)
            return error
        except Exception as error:
            logger.exception("%s: sync failed", self._config.name)
            return error
        return None

    def _retry_s(self, error: Exception, failures: int) -> float:
        if isinstance(error, EmbedderError):
            return min(self._poll_s, EMBEDDER_RETRY_S)
        if isinstance(error, IndexDamagedError) and failures == 1:
            return 0.0
        return float(min(self._reconcile_s, self._poll_s * 2 ** min(failures - 1, 16)))
