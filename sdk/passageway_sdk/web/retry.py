"""How long to wait before asking again: growing waits, what the server asks for, and when to give up."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
LONGEST_RETRY_AFTER_S = 300.0
TOTAL_WAIT_S = 900.0
"""Fifteen minutes for one request, all its waits together."""
SAID_WAIT_S = 10.0
"""A wait of this length is said as it starts, so that a call which waits does not look hung."""

TRANSIENT_STATUSES: Collection[int] = frozenset({429, *range(500, 600)})
"""Too many requests, and whatever the server blames on itself."""


@dataclass(slots=True)
class Waits:
    """The waits of one request so far."""

    attempts: int = 1
    waited_s: float = 0.0

    def next_s(self, retry_after_s: float = 0.0) -> float | None:
        """Seconds to wait before the next attempt, counted as waited; None when the total is used up.

        They double from 1 to 60; a longer `Retry-After` counts up to 300; the last wait is what is left of the total.
        """
        left = TOTAL_WAIT_S - self.waited_s
        if left <= 0:
            return None
        growing = min(FIRST_WAIT_S * 2.0 ** min(self.attempts - 1, 10), LONGEST_WAIT_S)
        wait = min(max(growing, min(retry_after_s, LONGEST_RETRY_AFTER_S)), left)
        self.attempts += 1
        self.waited_s += wait
        return wait


def retry_after_s(header: str | None, now: float) -> float:
    """Seconds a `Retry-After` asks for, in either of its forms (RFC 9110, 10.2.3); 0 when there is none to be read.

    `now` is the time in seconds since 1970. A date has whole seconds, so the wait to it is rounded up.
    """
    value = (header or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    instant = date if date.tzinfo else date.replace(tzinfo=UTC)
    try:
        return float(max(0, math.ceil((instant - datetime.fromtimestamp(now, UTC)).total_seconds())))
    except (OverflowError, ValueError, OSError):
        return 0.0
