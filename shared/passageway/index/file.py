"""One writer's hold on an index file: the lock, the connection, and what is done with a file that cannot be used."""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from passageway.errors import IndexDamagedError, StorageError
from passageway.index.check import check_version, check_whole
from passageway.index.layout import BUSY_TIMEOUT_MS, damaged_path
from passageway.index.schema import migrate
from passageway.index.trouble import DAMAGE, is_no_text, storage_errors

logger = logging.getLogger(__name__)

_SIDE_FILES = ("-wal", "-shm", "-journal")
_NO_SHARED_MEMORY = ("SQLITE_IOERR", "SQLITE_PROTOCOL", "SQLITE_CANTOPEN", "SQLITE_READONLY")


class FileLock:
    """An exclusive lock on a side file, gone with its process however that ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """Raises StorageError when another process (or another writer of this one) holds it."""
        try:
            self._file = self._path.open("ab")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise StorageError(f"{self._path}: another sync holds this source; stop one of the two") from error
        except OSError as error:
            self.release()
            raise StorageError(
                f"{self._path}: cannot be locked ({error.strerror or error}); "
                "the file and its folder must be writable for the user that passageway runs as"
            ) from error

    def release(self) -> None:
        """Let go; safe to call twice. The side file stays, since removing it would race with the next holder."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection to a whole index of this version; an unusable file is set aside first. Raises StorageError."""
    with storage_errors(path):
        try:
            return _open(path)
        except (sqlite3.DatabaseError, UnicodeDecodeError, IndexDamagedError) as error:
            if not _is_damage(error):
                raise
            set_aside(path, str(error))
        return _open(path)


def file_identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from every other one on this machine; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def set_aside(path: Path, reason: str) -> None:
    """Move the file out of the way, in place of one set aside before. Raises StorageError when it cannot be moved."""
    target = damaged_path(path)
    try:
        os.replace(path, target)
        for suffix in _SIDE_FILES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path}: not a usable index ({reason}), and it cannot be moved: {error.strerror}"
        ) from error
    logger.warning("%s: not a usable index (%s); set aside as %s and built anew", path, reason, target.name)


def _is_damage(error: Exception) -> bool:
    # SQLITE_ERROR here is a table or column that should be there and is not.
    name = getattr(error, "sqlite_errorname", "")
    return (
        isinstance(error, IndexDamagedError) or is_no_text(error) or name.startswith(DAMAGE) or name == "SQLITE_ERROR"
    )


def _open(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if empty:
            # Can be set only before the first page is written; `give_back_pages` needs it.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection = _logged_ahead(connection, path)
        # Deleted text is overwritten where that costs no further write.
        connection.execute("PRAGMA secure_delete = FAST")
        if not empty:
            check_version(connection, path)
        migrate(connection)
        if not empty:
            check_whole(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False)


def _logged_ahead(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection with a write-ahead log, so that readers go on while a sync writes; or a new one without.

    Some network drives have no shared memory. SQLite then refuses the log, or takes it and fails at the first use.
    """
    try:
        mode = connection.execute("PRAGMA journal_mode = wal").fetchone()[0]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith(_NO_SHARED_MEMORY):
            raise
        connection.close()
        _leave_write_ahead(path)
        connection = _connect(path)
        mode = "delete"
    if mode == "wal":
        connection.execute("PRAGMA synchronous = NORMAL")
    else:
        logger.warning("%s: no write-ahead log in this folder (mode %r); searches wait while a sync writes", path, mode)
    return connection


def _leave_write_ahead(path: Path) -> None:
    with closing(_connect(path)) as connection:
        # With the file to itself SQLite reads its log without shared memory (sqlite.org/wal.html#noshm).
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = delete").fetchone()


def give_back_pages(connection: sqlite3.Connection) -> None:
    """Make the file smaller when a tenth of it is unused, as after a merge of the keyword index."""
    unused = connection.execute("PRAGMA freelist_count").fetchone()[0]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if unused > pages // 10:
        # It gives one page back a step, and `execute` takes one step of what has no columns.
        connection.executescript("PRAGMA incremental_vacuum")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing. The lock is taken at once, so that a busy file is noticed before the work is done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
