"""What SQLite reports about a file, as errors that name the file and say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from passageway.errors import IndexDamagedError, StorageError

DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def as_storage_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StorageError:
    """The error with the file's name and what to do; IndexDamagedError when the file itself is the problem."""
    if is_no_text(error):
        return damaged(path, "a text in it is not UTF-8")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(DAMAGE):
        return damaged(path, str(error))
    reasons = {
        "SQLITE_FULL": "the disk is full; make room, the next sync goes on from here",
        "SQLITE_READONLY": "the file or its folder is read-only",
        "SQLITE_CANTOPEN": "the file cannot be opened or created; check the folder and its permissions",
        "SQLITE_BUSY": "another program keeps it locked",
        "SQLITE_LOCKED": "another program keeps it locked",
        "SQLITE_IOERR": "the disk reported an error; on a network drive, move the data folder to a local disk",
    }
    reason = next((text for code, text in reasons.items() if name.startswith(code)), "it cannot be used")
    return StorageError(f"{path}: {reason} ({error})")


def is_no_text(error: Exception) -> bool:
    """Whether the error is about a text in the file that is not UTF-8, which only a reader finds out.

    That is Python's own OperationalError, the only one without a code of SQLite's, for a column; and UnicodeDecodeError
    for a message of SQLite's that quotes such a name.
    """
    of_python = isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorname")
    return of_python or isinstance(error, UnicodeDecodeError)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Whatever SQLite raises inside leaves as a StorageError that names the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise as_storage_error(path, error) from error


@contextmanager
def contents_errors(path: Path) -> Iterator[None]:
    """As `storage_errors`, for what is read and made sense of: values that no sync wrote are an IndexDamagedError.

    SQLite keeps no checksums, so a flipped bit may come back as a value. The error never quotes one.
    """
    try:
        with storage_errors(path):
            yield
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(path, f"a value in it was not written by a sync, {type(error).__name__}") from error


def lost_rows(path: Path) -> IndexDamagedError:
    """The error of a file in which rows of one table miss theirs in another."""
    return damaged(path, "rows are missing")


def damaged(path: Path, what: str) -> IndexDamagedError:
    """The error of a file that is not whole."""
    return IndexDamagedError(f"{path}: the index is damaged ({what}); the next sync sets it aside and builds it anew")


def check_keywords(connection: sqlite3.Connection, path: Path) -> None:
    """Raises IndexDamagedError when the keyword index has lost its root; without it every word would find nothing."""
    # Rows 1 and 10 of an FTS5 data table are its averages and its structure (fts5_index.c).
    roots = connection.execute("SELECT count(*) FROM words_data WHERE id IN (1, 10)").fetchone()[0]
    if roots != 2:
        raise IndexDamagedError(f"{path}: the keyword index is damaged; delete the file, the next sync builds it anew")
