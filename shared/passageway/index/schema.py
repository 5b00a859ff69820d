"""The tables of an index file, as named migrations."""

import secrets
import sqlite3

from sqlite_utils import Database, Migrations

from passageway.index.layout import APPLICATION_ID

migrations = Migrations("passageway.index")

# A section's text columns stand in `sections`, its vector in `vectors`: reading 100,000 vectors must not read the text.
# `section` and `item` numbers are never used twice (AUTOINCREMENT), so a reader knows that a higher one is news.
# `vectors.codes` holds two bytes a number, all high ones first; `passageway.index.vectors` packs and unpacks them.
# `vectors.length` is the text's length in characters, for the keyword score.
_TABLES = """
CREATE TABLE file (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    epoch INTEGER NOT NULL,             -- random at creation: another file under the same name is not this one
    generation INTEGER NOT NULL,        -- grows by one with every transaction that changes what can be found
    model INTEGER REFERENCES models(id),
    unmerged INTEGER NOT NULL           -- rows written since the keyword index was last merged
);
CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    UNIQUE (name, dimension)
);
CREATE TABLE source (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    state TEXT NOT NULL,
    fetched INTEGER,
    "of" INTEGER,
    error TEXT,
    heartbeat REAL,
    last_success REAL,
    built INTEGER NOT NULL
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id TEXT NOT NULL UNIQUE,       -- the connector's id
    title TEXT NOT NULL,
    url TEXT NOT NULL,
    version TEXT NOT NULL,
    weight REAL NOT NULL,
    path TEXT NOT NULL,                 -- JSON list, like links and labels
    links TEXT NOT NULL,
    labels TEXT NOT NULL,
    updated TEXT,
    trail TEXT NOT NULL,                -- the path as one text
    path_key TEXT NOT NULL,             -- case-folded entries between line breaks, for the filters
    labels_key TEXT NOT NULL,
    updated_s REAL                      -- seconds since 1970, None when `updated` is missing or no date
);
CREATE TABLE sections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL REFERENCES items(id),
    position INTEGER NOT NULL,
    heading TEXT,
    text TEXT NOT NULL,
    extra TEXT NOT NULL,                -- words the tokenizer does not see, `passageway.index.terms`
    hash BLOB NOT NULL                  -- SHA-256 of the embedded text
);
CREATE INDEX sections_item ON sections (item, position);
CREATE INDEX sections_hash ON sections (hash);
CREATE TABLE vectors (
    section INTEGER PRIMARY KEY REFERENCES sections(id),
    item INTEGER NOT NULL,
    length INTEGER NOT NULL,
    model INTEGER NOT NULL REFERENCES models(id),
    scale REAL NOT NULL,
    codes BLOB NOT NULL
);
-- What a reader cannot see from higher numbers: removed sections, replaced vectors (section), changed items (item).
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    section INTEGER,
    item INTEGER
);
CREATE VIEW passages AS
    SELECT sections.id AS id, items.title AS title,
           CASE WHEN heading IS NULL THEN trail
                WHEN trail = '' THEN heading
                ELSE trail || ' › ' || heading END AS trail,
           text, extra
    FROM sections JOIN items ON items.id = sections.item;
CREATE VIRTUAL TABLE words USING fts5 (
    title, trail, text, extra,
    content = 'passages', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', detail = full
);
"""


@migrations()
def m001_tables(db: Database) -> None:
    """Items, sections, vectors, keywords, the log of changes and the state of the source.

    A migration sets `user_version` to its own number, `SCHEMA_VERSION` is the last one's.
    """
    for statement in _statements(_TABLES):
        db.execute(statement)
    db.execute("INSERT INTO file (only_row, epoch, generation, unmerged) VALUES (1, ?, 0, 0)", (secrets.randbits(62),))
    db.execute("INSERT INTO source (only_row, state, built) VALUES (1, 'indexing', 0)")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 1")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file up to date; each migration is one transaction, so a killed one is simply done again."""
    migrations.apply(Database(connection, recursive_triggers=False, execute_plugins=False))


def _statements(script: str) -> list[str]:
    """`executescript` would commit the migration's own transaction, so the script is run statement by statement."""
    statements, lines = [], ""
    for line in script.splitlines(keepends=True):
        lines += line
        if sqlite3.complete_statement(lines):
            statements.append(lines)
            lines = ""
    return statements
