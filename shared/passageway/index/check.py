"""Whether an index file is whole. SQLite's own check sees broken pages; these see rows that do not fit together.

All of it takes 18 µs a section, most of it for comparing the keyword index with the texts.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from passageway.errors import IndexDamagedError
from passageway.index.layout import APPLICATION_ID, SCHEMA_VERSION
from passageway.index.schema import migrate
from passageway.index.state import STATE_COLUMNS, source_state
from passageway.index.trouble import check_keywords, contents_errors, damaged, lost_rows

_NAMES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view', 'index')"

_LIST_OF_TEXTS = "(json_valid({0}) AND NOT EXISTS (SELECT 1 FROM json_each(items.{0}) WHERE type != 'text'))"

_WRONG_VALUES = {
    "file": "SELECT count(*) != 1 FROM file",
    "items": "SELECT EXISTS (SELECT 1 FROM items WHERE typeof(item_id) != 'text' OR typeof(title) != 'text'"
    " OR typeof(url) != 'text' OR typeof(version) != 'text' OR typeof(trail) != 'text'"
    " OR typeof(path_key) != 'text' OR typeof(labels_key) != 'text' OR typeof(updated) NOT IN ('text', 'null')"
    " OR typeof(updated_s) NOT IN ('real', 'null') OR typeof(weight) != 'real' OR weight < 0"
    f" OR NOT {' OR NOT '.join(map(_LIST_OF_TEXTS.format, ('path', 'links', 'labels')))})",
    "sections": "SELECT EXISTS (SELECT 1 FROM sections WHERE typeof(heading) NOT IN ('text', 'null')"
    " OR typeof(text) != 'text' OR typeof(extra) != 'text' OR typeof(hash) != 'blob')",
    "vectors": "SELECT EXISTS (SELECT 1 FROM vectors JOIN models ON models.id = model WHERE typeof(codes) != 'blob'"
    " OR length(codes) != 2 * dimension OR typeof(scale) != 'real' OR scale NOT BETWEEN 0 AND 1e30"
    " OR typeof(length) != 'integer' OR length < 0)",
    # The next section gets the number after this one.
    "sqlite_sequence": "SELECT coalesce((SELECT max(id) FROM sections), 0)"
    " > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sections'), 0)",
}

_PARTNERS = (
    "SELECT count(*) FROM sections JOIN items ON items.id = item",
    "SELECT count(*) FROM vectors JOIN sections ON sections.id = section AND sections.item = vectors.item"
    " JOIN models ON models.id = model",
    "SELECT count(*) FROM vectors",
    "SELECT count(*) FROM words_docsize",
)
"""Every section has its item, its vector of a known model and its words, and there are no others."""


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raises IndexDamagedError for a database of another program or of a later version of this one."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application_id != APPLICATION_ID or not 0 < version <= SCHEMA_VERSION:
        raise IndexDamagedError(f"{path}: a database of another program or of a later version")


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Raises IndexDamagedError when anything is broken or missing in a file of this version, StorageError otherwise."""
    with contents_errors(path), _nothing_unknown(path):
        lost = _table_names() - _names(connection)
        if lost:
            raise damaged(path, f"{', '.join(sorted(lost))} is missing")
        finding = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if finding != "ok":
            raise damaged(path, finding)
        source_state(connection.execute(f"SELECT {STATE_COLUMNS} FROM source").fetchone())
        for table, wrong in _WRONG_VALUES.items():
            if connection.execute(wrong).fetchone()[0]:
                raise damaged(path, f"a value in {table} was not written by a sync")
        sections = connection.execute("SELECT count(*) FROM sections").fetchone()
        if any(connection.execute(partners).fetchone() != sections for partners in _PARTNERS):
            raise lost_rows(path)
        check_keywords(connection, path)
        _compare_keywords(connection)


@contextmanager
def _nothing_unknown(path: Path) -> Iterator[None]:
    """SQLITE_ERROR, elsewhere a mistake in a statement, here is a table or a column that is not what it was."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_ERROR":
            raise damaged(path, str(error)) from error
        raise


def _compare_keywords(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError when the keyword index does not hold exactly the words of the texts."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _names(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(row[0] for row in connection.execute(_NAMES))


@cache
def _table_names() -> frozenset[str]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection)
        return _names(connection)
    finally:
        connection.close()
