"""One source kept in step with its index file: build, reconcile, poll."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from passageway.config import ConnectorConfig
from passageway.embedder import Embedder, EmbedderInfo, embed_with
from passageway.errors import ConnectorError, IndexDamagedError, PassagewayError, StorageError
from passageway.index.layout import index_path
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter
from passageway.protocol import FETCH_IDS, Connector
from passageway.records import Item
from passageway_sync.guard import check_deletions
from passageway_sync.prepare import PASSAGES_PER_CALL, prepare

logger = logging.getLogger(__name__)

T = TypeVar("T")

FAILURES_IN_A_ROW = 2
"""Fetch calls that may fail one after another before a sync stops: a source that is down costs two timeouts."""

POLL_OVERLAP_S = 10
"""How far a poll looks back past the last one, for clocks and file times that are a little off."""

CHECK_SHARE = 0.01
"""Of the time may go into looking the file through: a small one before every reconcile, a large one less often."""

Progress = Callable[[int, int], None]
"""Called with (items done, items in all)."""


class Stopped(PassagewayError):
    """The sync was asked to stop; what was stored stays, and the next sync goes on from there."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What one sync left in the file."""

    name: str
    items: int
    sections: int
    changed: int
    removed: int


class SourceSync:
    """Keeps one source's file current. Its methods block and are called from one thread; `stop` and `beat` from any."""

    def __init__(self, config: ConnectorConfig, data_dir: Path, embedder: Embedder, progress: Progress | None = None):
        self.name = config.name
        self._config = config
        self._path = index_path(data_dir, config.name)
        self._embedder = embedder
        self._progress = progress
        self._connector: Connector | None = None
        self._checked = False
        self._writer: IndexWriter | None = None
        self._lock = threading.Lock()
        self._state = SourceState()
        self._reconcile_error: str | None = None
        self._stopping = threading.Event()
        self._since: datetime | None = None
        self._since_clock_s = 0.0
        self._check_at_s = 0.0

    @property
    def can_poll(self) -> bool:
        """Whether there is a finished build, and so a time to ask for changes since."""
        return self._state.built and self._since is not None

    def open(self) -> None:
        """Open the file, creating or rebuilding it. Raises StorageError when another sync holds it."""
        if self._writer is None:
            started_s = time.monotonic()
            _make_folder(self._path.parent)
            self._writer = IndexWriter.open(self._path)
            self._checked_since(started_s)
            self._state = replace(self._writer.read_state(), fetched=None, of=None)
            if self._state.last_success is not None:
                self._set_since(datetime.fromtimestamp(self._state.last_success, UTC))
            # The first heartbeat: the last one may be of days ago, and a first check takes seconds.
            self._write_state()

    def close(self) -> None:
        """Close the file and end a running connector."""
        self.stop()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def stop(self) -> None:
        """Make a running call end soon; it raises Stopped."""
        self._stopping.set()
        if self._connector is not None:
            self._connector.close()

    def beat(self) -> None:
        """Write the heartbeat, so that query can tell a busy sync from one that is gone."""
        self._write_state()

    def reconcile(self) -> BuildReport:
        """Compare the whole listing with the file, fetch what differs, delete what is gone.

        The error of a failed sync is in the state, and raised: ConnectorError, DeletionRefusedError, EmbedderError,
        StorageError or Stopped. Everything stored before it stays.
        """
        with self._recorded(reconciling=True):
            started = datetime.now(UTC)
            writer, connector, info = self._ready()
            self._look_through(writer)
            listed = connector.list()
            stored = writer.versions()
            gone = [item_id for item_id in stored if item_id not in listed]
            check_deletions(len(stored), len(gone), self._config.max_delete_fraction)
            changed = [item_id for item_id, version in listed.items() if stored.get(item_id) != version]
            failure = self._fetch(changed, writer, connector, info)
            if gone:
                writer.remove(gone)
            if failure is not None:
                raise failure
            writer.finish()
            self._set_since(started)
            self._write_state(built=True)
            counts = writer.counts()
            return BuildReport(self.name, counts.items, counts.sections, len(changed), len(gone))

    def poll(self) -> int:
        """Store what the connector says has changed since the last sync; how many items that were.

        Needs `can_poll`. Raises as `reconcile` does; an error of the last reconcile stays in the state.
        """
        with self._recorded(reconciling=False):
            started = datetime.now(UTC)
            writer, connector, info = self._ready()
            items = connector.changed(self._changed_since(started))
            stored = writer.versions() if items else {}
            fresh = [item for item in items if stored.get(item.id) != item.version]
            for batch in _batches(fresh, FETCH_IDS):
                self._store(batch, writer, info, self._step)
            self._set_since(started)
            return len(fresh)

    def _set_since(self, moment: datetime) -> None:
        self._since, self._since_clock_s = moment, time.monotonic()

    def _changed_since(self, now: datetime) -> datetime:
        """Where the last sync began, or as long ago as that by a clock that nobody sets back."""
        assert self._since is not None, "poll before a finished build"
        passed = timedelta(seconds=time.monotonic() - self._since_clock_s)
        return min(self._since, now - passed) - timedelta(seconds=POLL_OVERLAP_S)

    def _look_through(self, writer: IndexWriter) -> None:
        """Find damage that only a question would meet, which cannot mend it."""
        if (started_s := time.monotonic()) >= self._check_at_s:
            writer.check()
            self._checked_since(started_s)

    def _checked_since(self, started_s: float) -> None:
        now_s = time.monotonic()
        self._check_at_s = now_s + (now_s - started_s) / CHECK_SHARE

    def _ready(self) -> tuple[IndexWriter, Connector, EmbedderInfo]:
        self._step()
        self.open()
        assert self._writer is not None
        self._require_place(self._writer)
        # Before the connector: while the model of this process loads, its first question needs the processor.
        info = self._embedder.info()
        if self._connector is None:
            self._connector = Connector.from_config(self._config)
            self._step()  # a stop before this line had no connector to close
        if not self._checked:
            self._connector.check()
            self._checked = True
        self._renew_vectors(self._writer, info)
        return self._writer, self._connector, info

    def _renew_vectors(self, writer: IndexWriter, info: EmbedderInfo) -> None:
        """With another model, embed the stored text anew, batch by batch; words answer meanwhile."""
        if not writer.use_model(info.name, info.dimension):
            return
        logger.info("%s: its vectors are of another model; embedding its text again with %s", self.name, info.name)
        of, done = writer.stale_count(), 0
        self._write_state(state="indexing", fetched=0, of=of)
        while sections := writer.stale_sections(PASSAGES_PER_CALL):
            self._step()
            vectors = embed_with(self._embedder, info, [section.embedded for section in sections], "passage")
            writer.refresh_vectors([section.section for section in sections], vectors)
            done += len(sections)
            self._report(done, of)
        self._write_state(fetched=None, of=None)

    def _fetch(
        self, ids: Sequence[str], writer: IndexWriter, connector: Connector, info: EmbedderInfo
    ) -> ConnectorError | None:
        """Fetch in calls and store each; the error to report, or None. Other kinds of error are raised at once."""
        batches = list(_batches(ids, FETCH_IDS))
        failed, in_a_row, first, done = 0, 0, "", 0
        if batches:
            self._report(0, len(ids))
        for number, batch in enumerate(batches, 1):
            self._step()
            try:
                items = connector.fetch(batch)
            except ConnectorError as error:
                self._step()
                failed, in_a_row, first = failed + 1, in_a_row + 1, first or str(error)
                logger.warning("%s: fetch call %d of %d failed: %s", self.name, number, len(batches), error)
                if in_a_row == FAILURES_IN_A_ROW:
                    break
                continue
            in_a_row = 0
            self._store(items, writer, info, partial(self._on_the_way, done, len(ids)))
            done += len(batch)
            self._report(done, len(ids))
        if not failed:
            return None
        stopped = f"; stopped after {FAILURES_IN_A_ROW} failures in a row" if in_a_row == FAILURES_IN_A_ROW else ""
        return ConnectorError(f"{failed} of {len(batches)} fetch batches failed{stopped}: {first}")

    def _store(
        self, items: Sequence[Item], writer: IndexWriter, info: EmbedderInfo, step: Callable[[int], None]
    ) -> None:
        prepared = prepare(items, writer, self._embedder, info, step)
        self._require_place(writer)
        writer.store(prepared)

    def _require_place(self, writer: IndexWriter) -> None:
        """Raises IndexDamagedError when somebody deleted the file or put another in its place: nobody would read it."""
        if not writer.is_in_place():
            raise IndexDamagedError(f"{self._path}: the file was removed or replaced; it is built anew")

    def _on_the_way(self, done: int, of: int, ready: int) -> None:
        """Between two calls to the embedder: a call's fifty items may take a minute, and somebody may be watching."""
        self._step()
        if ready:
            self._report(done + ready, of)

    def _step(self, _ready: int = 0) -> None:
        if self._stopping.is_set():
            raise Stopped(f"{self.name}: stopped")

    def _report(self, done: int, of: int) -> None:
        self._write_state(fetched=done, of=of)
        if self._progress is not None:
            self._progress(done, of)

    @contextmanager
    def _recorded(self, *, reconciling: bool) -> Iterator[None]:
        """Write how the sync ended into the file. Only a reconcile that worked clears the error of one that did not."""
        try:
            yield
        except IndexDamagedError as error:
            self._start_anew(str(error))
            raise
        except Exception as error:
            if self._stopping.is_set():
                # Whatever broke, broke because it was ended.
                self._try_to_write(fetched=None, of=None)
                raise Stopped(f"{self.name}: stopped") from error
            text = str(error) if isinstance(error, PassagewayError) else f"internal error: {error!r}"
            self._reconcile_error = text if reconciling else self._reconcile_error
            self._try_to_write(state="failing", error=text, fetched=None, of=None)
            raise
        self._reconcile_error = None if reconciling else self._reconcile_error
        self._write_state(
            state="failing" if self._reconcile_error else "ok",
            error=self._reconcile_error,
            fetched=None,
            of=None,
            last_success=self._state.last_success if self._reconcile_error else time.time(),
        )

    def _start_anew(self, error: str) -> None:
        """The damaged file has been set aside: the next reconcile fills a new one."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self._since = None
        self.open()
        self._try_to_write(state="failing", error=error)

    def _try_to_write(self, **changes: object) -> None:
        try:
            self._write_state(**changes)
        except PassagewayError as error:
            logger.error("%s: its state cannot be written: %s", self.name, error)

    def _write_state(self, **changes: object) -> None:
        with self._lock:
            self._state = replace(self._state, heartbeat=time.time(), **changes)  # type: ignore[arg-type]
            if self._writer is not None:
                self._writer.write_state(self._state)


def _make_folder(folder: Path) -> None:
    """Make the data folder again when somebody deleted it with all that was in it. Raises StorageError."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: the data folder cannot be made ({error.strerror or error})") from error


def build(config: ConnectorConfig, data_dir: Path, embedder: Embedder, progress: Progress | None = None) -> BuildReport:
    """Build or reconcile one source and wait for it. Raises what `SourceSync.reconcile` raises."""
    sync = SourceSync(config, data_dir, embedder, progress)
    try:
        return sync.reconcile()
    finally:
        sync.close()


def _batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
