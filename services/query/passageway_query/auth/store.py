"""Grants and tokens in one small SQLite file. Tokens and codes are stored as hashes: a stolen copy opens nothing."""

import hashlib
import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from passageway.errors import StorageError

logger = logging.getLogger(__name__)

FILE_NAME = "oauth.sqlite"
"""In the data folder; not `.db`, which is what sources are called."""

ACCESS_PREFIX = "mcp_at_"
REFRESH_PREFIX = "mcp_rt_"
CODE_TTL_S = 60
ACCESS_TTL_S = 3_600
REFRESH_TTL_S = 90 * 86_400
CLOCK_SLACK_S = 3_600
"""A clock is put back by less. What is good for longer than it may be was issued while the clock was far ahead."""
_TTL_S = {"access": ACCESS_TTL_S, "refresh": REFRESH_TTL_S}

_SCHEMA = """
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS grants (
    id TEXT PRIMARY KEY, client_id TEXT NOT NULL, client_name TEXT NOT NULL, redirect_uri TEXT NOT NULL,
    created REAL NOT NULL, used REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS codes (
    hash BLOB PRIMARY KEY, grant_id TEXT NOT NULL, client_id TEXT NOT NULL, client_name TEXT NOT NULL,
    redirect_uri TEXT NOT NULL, explicit INTEGER NOT NULL, challenge TEXT NOT NULL, expires REAL NOT NULL,
    redeemed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS tokens (
    hash BLOB PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL, resource TEXT NOT NULL, expires REAL NOT NULL, rotated REAL
);
CREATE INDEX IF NOT EXISTS tokens_by_grant ON tokens (grant_id);
"""


@dataclass(frozen=True, slots=True)
class Code:
    """An authorization code as it was issued. `explicit` says that the request named the redirect address."""

    grant_id: str
    client_id: str
    client_name: str
    redirect_uri: str
    explicit: bool
    challenge: str


@dataclass(frozen=True, slots=True)
class Token:
    """An access or refresh token that is known and neither expired nor revoked. Times in seconds since 1970."""

    kind: str
    grant_id: str
    client_id: str
    resource: str
    expires: float


@dataclass(frozen=True, slots=True)
class Issued:
    """A new pair of tokens, in the only place where they stand in clear."""

    access: str
    refresh: str
    expires_in_s: int = ACCESS_TTL_S


@dataclass(frozen=True, slots=True)
class Grant:
    """A connected app."""

    id: str
    client_name: str
    redirect_uri: str
    created: float
    used: float


class TokenStore:
    """The file. Thread-safe; every change is one transaction. `now` gives seconds since 1970."""

    def __init__(
        self, path: Path, password: str, *, refresh_grace_s: float = 60, now: Callable[[], float] = time.time
    ) -> None:
        self._now = now
        self._refresh_grace_s = refresh_grace_s
        self._turn = threading.RLock()
        try:
            self._db = _open(path)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(
                f"{path}: the sign-ins of remote clients cannot be stored there ({error}); "
                "make the data folder writable"
            ) from error
        self.key = self._secret("key", lambda: secrets.token_bytes(32))
        self._revoke_all_if_changed(password)

    def close(self) -> None:
        """Give back the file; safe to call twice."""
        with self._turn:
            self._db.close()

    def new_code(self, client_id: str, client_name: str, redirect_uri: str, explicit: bool, challenge: str) -> str:
        """A fresh code for a person's consent: single use, gone after a minute."""
        code = secrets.token_urlsafe(32)
        grant_id = secrets.token_hex(16)
        values = (_hash(code), grant_id, client_id, client_name, redirect_uri, explicit, challenge)
        with self._writing() as db:
            self._forget_expired(db)
            db.execute("INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)", (*values, self._now() + CODE_TTL_S))
        return code

    def code(self, code: str) -> Code | None:
        """The code if it can still be redeemed. One that was redeemed before ends all that came of it."""
        with self._writing() as db:
            row = db.execute(
                "SELECT grant_id, client_id, client_name, redirect_uri, explicit, challenge, expires, redeemed"
                " FROM codes WHERE hash = ?",
                (_hash(code),),
            ).fetchone()
            if row is None:
                return None
            if row[7]:
                db.execute("DELETE FROM grants WHERE id = ?", (row[0],))
                return None
            if not 0 <= row[6] - self._now() <= CODE_TTL_S + CLOCK_SLACK_S:
                return None
        return Code(row[0], row[1], row[2], row[3], bool(row[4]), row[5])

    def redeem(self, code: str, resource: str) -> Issued | None:
        """Tokens for a code, once; a second time, even at the same moment, is None and ends the first one's tokens."""
        with self._writing() as db:
            known = self.code(code)
            if known is None:
                return None
            db.execute("UPDATE codes SET redeemed = 1 WHERE hash = ?", (_hash(code),))
            now = self._now()
            db.execute(
                "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?)",
                (known.grant_id, known.client_id, known.client_name, known.redirect_uri, now, now),
            )
            return self._issue(db, known.grant_id, known.client_id, resource)

    def refresh(self, token: str) -> Issued | None:
        """New tokens for a refresh token. A retry within the grace gets its own; a later one ends the whole grant.

        Clients repeat a refresh whose answer was lost, and several processes share one token.
        """
        with self._writing() as db:
            row = self._row(db, token, "refresh")
            if row is None:
                return None
            rotated: float | None = row[4]
            if rotated is not None and abs(self._now() - rotated) > self._refresh_grace_s:
                db.execute("DELETE FROM grants WHERE id = ?", (row[0],))
                return None
            if rotated is None:
                db.execute("UPDATE tokens SET rotated = ? WHERE hash = ?", (self._now(), _hash(token)))
            db.execute("UPDATE grants SET used = ? WHERE id = ?", (self._now(), row[0]))
            self._forget_expired(db)
            return self._issue(db, row[0], row[1], row[2])

    def find(self, token: str, kind: str) -> Token | None:
        """The token if it is of that kind and good."""
        with self._turn:
            row = self._row(self._db, token, kind)
        return Token(kind, row[0], row[1], row[2], row[3]) if row else None

    def grants(self) -> list[Grant]:
        """Connected apps, the latest used first."""
        with self._turn:
            rows = self._db.execute(
                "SELECT id, client_name, redirect_uri, created, used FROM grants ORDER BY used DESC"
            ).fetchall()
        return [Grant(*row) for row in rows]

    def revoke(self, grant_id: str) -> None:
        """End a grant and all its tokens; an unknown one is none."""
        with self._writing() as db:
            db.execute("DELETE FROM grants WHERE id = ?", (grant_id,))

    def _issue(self, db: sqlite3.Connection, grant_id: str, client_id: str, resource: str) -> Issued:
        issued = Issued(ACCESS_PREFIX + secrets.token_urlsafe(32), REFRESH_PREFIX + secrets.token_urlsafe(32))
        for token, kind in ((issued.access, "access"), (issued.refresh, "refresh")):
            values = (_hash(token), kind, grant_id, client_id, resource, self._now() + _TTL_S[kind])
            db.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, NULL)", values)
        return issued

    def _row(self, db: sqlite3.Connection, token: str, kind: str) -> tuple[str, str, str, float, float | None] | None:
        row: tuple[str, str, str, float, float | None] | None = db.execute(
            "SELECT grant_id, client_id, resource, expires, rotated FROM tokens"
            " WHERE hash = ? AND kind = ? AND expires > ? AND expires <= ?",
            (_hash(token), kind, self._now(), self._now() + _TTL_S[kind] + CLOCK_SLACK_S),
        ).fetchone()
        return row

    def _forget_expired(self, db: sqlite3.Connection) -> None:
        now = self._now()
        # A redeemed code is kept as long as its tokens, so that a replay is still known for one.
        db.execute("DELETE FROM codes WHERE expires < ? AND grant_id NOT IN (SELECT id FROM grants)", (now,))
        db.execute("DELETE FROM tokens WHERE expires < ?", (now,))
        db.execute("DELETE FROM grants WHERE id NOT IN (SELECT grant_id FROM tokens)")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, nested calls within the same one. Raises StorageError."""
        with self._turn:
            if self._db.in_transaction:
                yield self._db
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise StorageError(f"the sign-ins of remote clients cannot be stored: {error}") from error

    def _secret(self, name: str, make: Callable[[], bytes]) -> bytes:
        with self._writing() as db:
            db.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, make()))
            value: bytes = db.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()[0]
        return value

    def _revoke_all_if_changed(self, password: str) -> None:
        """Who changes the password wants everybody out; what is stored of it is slow to guess from."""
        salt = self._secret("salt", lambda: os.urandom(16))
        current = hashlib.scrypt(password.encode("utf-8"), salt=salt, n=2**14, r=8, p=1)
        if self._secret("password", lambda: current) == current:
            return
        with self._writing() as db:
            db.execute("DELETE FROM grants")
            db.execute("DELETE FROM codes")
            db.execute("UPDATE secrets SET value = ? WHERE name = 'password'", (current,))


def _open(path: Path) -> sqlite3.Connection:
    """The file, made if need be. One that is no database is set aside: people sign in again, nothing else is lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    try:
        return _connect(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        logger.error("%s is damaged (%s); it is now %s, and remote clients have to sign in again", path, error, aside)
        path.touch(mode=0o600)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.executescript(_SCHEMA)
    except BaseException:
        db.close()
        raise
    return db


def _hash(token: str) -> bytes:
    """Tokens have 256 random bits, so a plain hash cannot be reversed by guessing."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
