"""What a program writes to stderr: masked into the log line by line, and its end kept for the error message."""

import logging
import os
import re
import selectors
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import IO

from passageway.secrets import mask

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
_LINE_CHARACTERS = 2_000
"""A longer line is cut. A traceback's lines are under 200."""

_LOG_BYTES_A_MINUTE = 64 * 1024
"""About 500 lines. A program that writes more is read on, so that it does not block, but the log is spared."""

_LAST_LINES = 3
"""Of a Python traceback: where it was, the statement, the error."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class ErrorOutput:
    """Reads the pipe to its end on a thread of its own; a full pipe would stop the program."""

    def __init__(self, pipe: IO[bytes], owner: str, secrets: Sequence[str]) -> None:
        self._pipe = pipe
        self._owner = owner
        self._secrets = secrets
        self._room_bytes = _LINE_CHARACTERS * 4 + 4 * max(map(len, secrets), default=0)
        self._line = bytearray()
        self._cut = False
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._minute = -1.0
        self._logged_bytes = 0
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._read_all, name=f"stderr of {owner}", daemon=True)
        self._thread.start()

    def last_words(self) -> str:
        """The last lines in one, or an empty text."""
        return " | ".join(list(self._last))

    def close(self) -> None:
        """Read what is there and stop, even if a stray process still holds the pipe; safe to call twice."""
        if self._pipe.closed:
            return
        os.close(self._stop_write)
        self._thread.join()
        os.close(self._stop_read)
        self._pipe.close()

    def _read_all(self) -> None:
        with selectors.PollSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            selector.register(self._stop_read, selectors.EVENT_READ)
            stopping = False
            while not stopping and self._pipe in selector.get_map():
                stopping = any(key.fileobj == self._stop_read for key, _ in selector.select())
                if self._read_what_is_there():
                    selector.unregister(self._pipe)
        self._end_line()

    def _read_what_is_there(self) -> bool:
        """Whether that was the end. At most one pipe full, so that a flood cannot keep `close` waiting."""
        try:
            chunk = os.read(self._pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return False
        first, *others = chunk.split(b"\n")
        self._extend_line(first)
        for piece in others:
            self._end_line()
            self._extend_line(piece)
        return not chunk

    def _extend_line(self, piece: bytes) -> None:
        room = self._room_bytes - len(self._line)
        self._cut = self._cut or len(piece) > room
        self._line += piece[:room]

    def _end_line(self) -> None:
        text = mask(self._line.decode("utf-8", "replace"), self._secrets)
        if self._cut:
            # The end may hold the first half of a secret, which no mask recognises: leave out as much as one is long.
            text = text[: len(text) - max(map(len, self._secrets), default=0)]
        text = _CONTROLS.sub("\ufffd", text[:_LINE_CHARACTERS]).rstrip()
        self._line.clear()
        self._cut = False
        if text:
            self._last.append(text)
            self._log(text)

    def _log(self, text: str) -> None:
        now = time.monotonic()
        if self._minute < 0 or now - self._minute > 60:
            self._minute, self._logged_bytes = now, 0
        before = self._logged_bytes
        self._logged_bytes += len(text)
        if self._logged_bytes <= _LOG_BYTES_A_MINUTE:
            logger.info("%s: %s", self._owner, text)
        elif before <= _LOG_BYTES_A_MINUTE:
            logger.info("%s: writes too much to stderr; the rest of this minute is left out", self._owner)
