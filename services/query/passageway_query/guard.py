"""The one password of every door: compared in constant time, and never guessed at speed.

A minute allows five wrong guesses from one address and thirty from everywhere together. Past that the answer is "wait",
for the right password too, since an answer would tell which guess was right. A program that goes on sending one
outdated password guesses nothing: its repeats are refused without locking out its neighbours.
"""

import hashlib
import hmac
import ipaddress
import logging
import math
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import HTTPConnection

logger = logging.getLogger(__name__)

WINDOW_S = 60.0
MAX_PER_ADDRESS = 5
MAX_EVERYWHERE = 30
# Bounds on what is remembered; an attacker with more addresses than this meets the limit for everywhere first.
_MAX_ADDRESSES = 4096
_MAX_ADMITTED = 1024
_MAX_ADDRESS_CHARS = 64
"""No address is longer; what a proxy passes on as one may be."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether the password was right, or how long to wait before the next try is looked at (0: no wait)."""

    admitted: bool
    retry_after_s: int = 0


def same_secret(presented: str | bytes, secret: str) -> bool:
    """Whether both are equal, in a time that tells nothing: hashes have one length, whatever was presented."""
    return hmac.compare_digest(_digest(presented), _digest(secret))


def address(connection: HTTPConnection) -> str:
    """The address a request came from; behind a proxy that uvicorn is told to trust, the client's own."""
    return connection.client.host[:_MAX_ADDRESS_CHARS] if connection.client else "unknown"


def address_group(address: str) -> str:
    """The address, or its /64 network for IPv6, of which one host has as many addresses as it likes."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


@dataclass(slots=True)
class _Guess:
    digest: bytes
    first: float
    times: int = 1


class Guard:
    """Rules on passwords and remembers wrong ones for a minute. Thread-safe.

    Without a password nothing is ever admitted. `clock` counts seconds.
    """

    def __init__(self, password: str | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._password = password
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: OrderedDict[str, list[_Guess]] = OrderedDict()
        self._everywhere: deque[float] = deque()
        self._admitted: OrderedDict[str, None] = OrderedDict()

    def rule(self, presented: str | bytes, address: str, *, typed: bool = False) -> Ruling:
        """The ruling on one try. `typed` counts every try, as of a person at a form; else a repeat is no new guess."""
        group = address_group(address)
        with self._lock:
            now = self._clock()
            wait = self._wait(group, now)
            if wait:
                return Ruling(False, wait)
            if self._password and same_secret(presented, self._password):
                self._remember_admitted(group)
                return Ruling(True)
            wait = self._note_wrong(group, now, os.urandom(16) if typed else _digest(presented))
        if wait:
            logger.warning("the same wrong password keeps coming from %s", address)
        return Ruling(False, wait)

    def _wait(self, group: str, now: float) -> int:
        guesses = [guess for guess in self._wrong.get(group, []) if guess.first > now - WINDOW_S]
        if guesses:
            self._wrong[group] = guesses
        else:
            self._wrong.pop(group, None)
        while self._everywhere and self._everywhere[0] <= now - WINDOW_S:
            self._everywhere.popleft()
        if len(guesses) >= MAX_PER_ADDRESS:
            return _until(guesses[0].first, now)
        # Who was admitted before is not locked out by what strangers do elsewhere.
        if len(self._everywhere) >= MAX_EVERYWHERE and group not in self._admitted:
            return _until(self._everywhere[0], now)
        return 0

    def _note_wrong(self, group: str, now: float, digest: bytes) -> int:
        guesses = self._wrong.setdefault(group, [])
        self._wrong.move_to_end(group)
        while len(self._wrong) > _MAX_ADDRESSES:
            self._wrong.popitem(last=False)
        for guess in guesses:
            if guess.digest == digest:
                guess.times += 1
                return _until(guess.first, now) if guess.times > MAX_PER_ADDRESS else 0
        guesses.append(_Guess(digest, now))
        self._everywhere.append(now)
        return 0

    def _remember_admitted(self, group: str) -> None:
        self._admitted[group] = None
        self._admitted.move_to_end(group)
        while len(self._admitted) > _MAX_ADMITTED:
            self._admitted.popitem(last=False)


def _digest(presented: str | bytes) -> bytes:
    raw = presented.encode("utf-8", "surrogatepass") if isinstance(presented, str) else presented
    return hashlib.sha256(raw).digest()


def _until(start: float, now: float) -> int:
    return max(1, math.ceil(start + WINDOW_S - now))
