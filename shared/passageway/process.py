"""A program that passageway runs: held to its own environment, process group, time and size.

Connectors and embedders both run here. POSIX only: a process group is what makes a hanging program's children end too.
"""

import logging
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from passageway.errors import PassagewayError
from passageway.process_output import ErrorOutput
from passageway.process_start import Guard, kill_group, start
from passageway.secrets import mask, program_environment, secret_forms

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
"""What a pipe holds on Linux (man 7 pipe)."""

_GLANCE_S = 0.1
"""How often a silent program is looked at: it may be gone while a child of its keeps the pipe open."""

_LEAVE_S = 1.0
"""Between the end of its output and the end of a program that ends: microseconds, unless it cleans up."""

_REAP_S = 5.0
"""A killed process is gone at once, unless it hangs in the kernel, as on a dead network file system."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of `time.monotonic()`, and how many seconds were given."""

    timeout_s: float
    at: float

    @classmethod
    def after(cls, timeout_s: float) -> Self:
        """The deadline that many seconds from now."""
        return cls(timeout_s, time.monotonic() + timeout_s)

    def remaining_s(self) -> float:
        """Seconds left, never less than 0."""
        return max(0.0, self.at - time.monotonic())


class Program:
    """A started program: lines go in, lines come out, and `close` leaves no process of its group behind.

    One thread talks to it; any other may call `kill`. Whatever goes wrong is raised as the class given, the owner first
    in the message and no secret in it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        secrets: Mapping[str, str],
        protocol: str,
        owner: str,
        failure: type[PassagewayError],
        max_output_bytes: int | None = None,
    ) -> None:
        self._owner = owner
        self._max_output_bytes = max_output_bytes
        self._failure = failure
        self._secrets = secret_forms(secrets.values())
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._input_ends = False
        self._output_ended = False
        self._cut_off = False
        self._group_ended = False
        self._received_bytes = 0
        self._process = self._start(command, program_environment(env, secrets, protocol))
        try:
            self._guard = Guard(self._process.pid)
            self._stdin, self._stdout, stderr = _nonblocking_pipes(self._process)
            self._selector = selectors.PollSelector()
            self._selector.register(self._stdout, selectors.EVENT_READ)
            self._error_output = ErrorOutput(stderr, owner, self._secrets)
        except BaseException:  # no descriptor or thread left: the started program must not run on unwatched
            kill_group(self._process.pid)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def message(self, text: str) -> str:
        """The text of an error: the owner first, secrets masked."""
        return mask(f"{self._owner}: {text}", self._secrets)

    def error(self, text: str) -> PassagewayError:
        """The error to raise, with that message."""
        return self._failure(self.message(text))

    def ending(self) -> str:
        """How the program ended and what it last wrote to stderr, as a piece of a message with no secret in it."""
        if not self._leaves_within(_LEAVE_S):
            return "closed its output and went on"
        self._end_group()
        self._error_output.close()
        return f"{_status_text(self._process.returncode)}: {self._error_output.last_words() or 'nothing on stderr'}"

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue data for stdin; it goes out while `read_line` waits. After the last of it stdin is closed."""
        self._outgoing += data
        self._input_ends = last
        if not self._stdin.closed:
            self._write()

    def has_output(self) -> bool:
        """Whether more than white space has been printed that nobody has read yet."""
        self._read()
        return bool(self._incoming.strip())

    @property
    def output_ended(self) -> bool:
        """Whether stdout has been read to its end."""
        return self._output_ended

    @property
    def cut_off(self) -> bool:
        """Whether the line that was read last had no end, because the output ended in it."""
        return self._cut_off

    def read_line(self, deadline: Deadline, max_bytes: int) -> bytes | None:
        """The next line of stdout without its end, or None when there is no more.

        Raises the failure at the deadline, and for a line of more than `max_bytes`.
        """
        while True:
            end = self._incoming.find(b"\n")
            if end > max_bytes or (end < 0 and len(self._incoming) > max_bytes):
                raise self.error(f"printed a line of more than {max_bytes:,} bytes")
            if end >= 0 or (self._output_ended and self._incoming):
                return self._take(end)
            if self._output_ended:
                return None
            self._wait_for_pipes(deadline)

    def wait(self, deadline: Deadline) -> int:
        """The exit status, negative for the signal that ended it. Raises the failure at the deadline."""
        try:
            status = self._process.wait(deadline.remaining_s())
        except subprocess.TimeoutExpired:
            raise self._late(deadline) from None
        self._end_group()
        return status

    def is_running(self) -> bool:
        """Whether the program itself is there; any thread may ask."""
        return self._process.poll() is None

    def has_ended(self) -> bool:
        """Whether the program itself is gone. Children it left behind are ended then."""
        if self._process.poll() is None:
            return False
        self._end_group()
        return True

    def kill(self) -> None:
        """End the whole process group now; whoever waits in `read_line` sees the end of the output."""
        if not self._group_ended:
            kill_group(self._process.pid)

    def close(self, grace_s: float = 0.0) -> None:
        """End the group and give everything back; safe to call twice.

        With a grace the program first sees the end of its input and has that many seconds to leave by itself.
        """
        if self._stdout.closed:
            return
        if grace_s and not self._stdin.closed:
            self._stdin.close()
            self._leaves_within(grace_s)
        self.kill()
        if not self._leaves_within(_REAP_S):
            logger.warning("%s: process %d does not end although it was killed", self._owner, self._process.pid)
        self._end_group()
        self._error_output.close()
        self._selector.close()
        self._stdin.close()
        self._stdout.close()

    def _start(self, command: Sequence[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        try:
            return start(command, environment)
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from error

    def _leaves_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _late(self, deadline: Deadline) -> PassagewayError:
        return self.error(f"took longer than {deadline.timeout_s:g} s and was killed; `timeout` is the limit")

    def _take(self, end: int) -> bytes:
        self._cut_off = end < 0
        line = bytes(self._incoming if self._cut_off else self._incoming[:end])
        del self._incoming[: len(line) + 1]
        return line

    def _wait_for_pipes(self, deadline: Deadline) -> None:
        remaining_s = deadline.remaining_s()
        if not remaining_s:
            raise self._late(deadline)
        ready = self._selector.select(min(remaining_s, _GLANCE_S))
        for key, _ in ready:
            if key.fileobj is self._stdin:
                self._write()
            else:
                self._read()
        if not ready and self.has_ended():
            # What it wrote is in the pipe. The pipe's end may never come: a child in a session of its own may hold it.
            while self._read():
                pass
            self._output_ended = True

    def _read(self) -> bool:
        """Whether anything was read."""
        try:
            chunk = os.read(self._stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self._incoming += chunk
        self._received_bytes += len(chunk)
        self._output_ended = not chunk
        if self._max_output_bytes is not None and self._received_bytes > self._max_output_bytes:
            raise self.error(f"printed more than {self._max_output_bytes:,} bytes in one call")
        return bool(chunk)

    def _write(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._stdin.fileno(), self._outgoing[:_CHUNK_BYTES])]
        except BlockingIOError:
            if self._stdin not in self._selector.get_map():
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            return
        except BrokenPipeError:
            # A program that wants no more input is no failure yet: its output and its exit status decide.
            self._outgoing.clear()
        if self._stdin in self._selector.get_map():
            self._selector.unregister(self._stdin)
        if self._input_ends:
            self._stdin.close()

    def _end_group(self) -> None:
        """Once the program itself is gone: no child outlives it."""
        if not self._group_ended:
            # The kernel gives the group's number to nobody else while it has members, and gives numbers out in turn.
            kill_group(self._process.pid)
            self._group_ended = True
            self._guard.close()


def _status_text(status: int) -> str:
    """`ended with exit status 3` or `was ended by SIGSEGV`."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _nonblocking_pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    for pipe in (process.stdin, process.stdout, process.stderr):
        os.set_blocking(pipe.fileno(), False)
    return process.stdin, process.stdout, process.stderr
