"""What marks a file as one of ours, and the names both sides read it by. No imports of weight: query starts fast."""

from pathlib import Path

APPLICATION_ID = 0x50617373
"""`Pass` in ASCII, in the file's header (sqlite.org/pragma.html#pragma_application_id)."""

SCHEMA_VERSION = 1
"""SQLite's user_version: how many migrations of `passageway.index.schema` the file has been through."""

SUFFIX = ".db"
BUSY_TIMEOUT_MS = 10_000
"""How long SQLite waits for another connection's lock. A commit takes milliseconds; a stuck disk may take seconds."""

READ_TIMEOUT_MS = 2_000
"""The same for a search, which waits at all only where there is no write-ahead log."""

READ_CACHE_KB = 512
"""SQLite's page cache of one reader. What is asked often is in memory anyway, and there may be fifty readers."""

CHANGES_KEPT = 50_000
"""Rows of the log of changed sections. A reader that is further behind reads the whole file anew, which is as fast."""


def index_path(data_dir: Path, source: str) -> Path:
    """Where the source's index file is."""
    return data_dir / f"{source}{SUFFIX}"


def lock_path(path: Path) -> Path:
    """The side file whose lock the one writer holds. SQLite's own locks come and go with every transaction."""
    return path.with_suffix(".lock")


def damaged_path(path: Path) -> Path:
    """Where an unusable file is set aside; outside `*.db`, so that nobody takes it for a source."""
    return path.with_name(f"{path.name}.damaged")
