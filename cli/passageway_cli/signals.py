"""SIGTERM and SIGINT, from the program's first lines to its last: whenever one comes, the exit code is 0."""

import contextlib
import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # half of what the program imports before it can obey a signal
    import asyncio

logger = logging.getLogger(__name__)

LEAVE_S = 8
"""Seconds from a stop to the end of the process, come what may. Docker kills after 10; nothing stored is at risk."""

_asked = threading.Event()
_ended = threading.Event()
_leaving = threading.Event()


def end_at_once() -> None:
    """Let both signals end the program here and now, as long as nothing runs that would have to be finished."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    _asked.set()
    _ended.set()
    ignore_further()
    sys.exit(0)


def was_ended_at_once() -> bool:
    """Whether a signal came before `ask_to_stop`: what was raised since is that end, whatever it looks like.

    A `SystemExit` in the middle of an import may come out as another error; pydantic's compiled part makes one of it.
    """
    return _ended.is_set()


def ask_to_stop(loop: "asyncio.AbstractEventLoop", stop: "asyncio.Event") -> None:
    """Let both signals set `stop` from now on, also one that came already; further ones change nothing."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        _asked.set()
        leave_in_time(0)
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(stop.set)

    # Not the loop's own handlers: when it closes they are gone, and a second signal would end the process by force.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    if _asked.is_set():
        stop.set()


def ignore_further() -> None:
    """From here on the program only ends: Python gives handlers back before it is gone, and a signal would kill it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def leave_in_time(code: int) -> None:
    """End the process with this code after `LEAVE_S`, if it has not ended by then: a thread may hang in a call."""
    if not _leaving.is_set():
        _leaving.set()
        timer = threading.Timer(LEAVE_S, _leave, (code,))
        timer.daemon = True
        timer.start()


def _leave(code: int) -> None:
    here = (threading.main_thread(), threading.current_thread())
    busy = sorted({thread.name for thread in threading.enumerate() if thread not in here})
    logger.warning("leaving %d s after the stop although this has not ended: %s", LEAVE_S, ", ".join(busy))
    logging.shutdown()
    os._exit(code)
