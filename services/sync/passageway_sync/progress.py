"""How far a long build is, for whoever reads the log."""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

EVERY_S = 60
"""A first build may take hours; most syncs end before the first line."""


class ProgressLog:
    """Called with (done, of) as work goes on, says so once a minute. `now` gives seconds."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._of: int | None = None
        self._last_s = 0.0

    def __call__(self, done: int, of: int) -> None:
        """Note how far the work is; a start, or another `of`, begins the minute anew."""
        now_s = self._now()
        if done == 0 or of != self._of:
            self._of, self._last_s = of, now_s
        if now_s - self._last_s >= EVERY_S:
            logger.info("%s: %d of %d done", self._name, done, of)
            self._last_s = now_s
