"""Any embedding model behind a program that speaks embedder protocol v1 over stdin and stdout."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from passageway.embed_turns import Abandoned, Turns
from passageway.embedder import DEFAULT_MIN_SIMILARITY, EmbedderInfo, Kind, Vectors
from passageway.embedder_messages import (
    PROTOCOL_VERSION,
    FailedRequest,
    WrongReply,
    embed_request,
    info_request,
    parse_info,
    parse_vectors,
)
from passageway.errors import EmbedderError
from passageway.process import Deadline, Program
from passageway.process_start import checked_command

logger = logging.getLogger(__name__)

_REPLY_BYTES = 64 * 1024
"""For all of a reply but its numbers."""

_NUMBER_BYTES = 32
"""A double prints as 24 characters at the most; the rest is a comma and a generous printer's spaces."""

_SHOWN_CHARACTERS = 1_000
"""Of an error that the program reports: a gateway may answer with a whole page."""

_GRACE_S = 1.0
"""For a program that gives back a GPU when its input ends."""

_PROOF = "Is anybody there?"
"""Embedded after a failed request to tell whether that was the text's fault or the program still does not work."""

_LONGEST_DISPROOF_S = 5.0
"""How long a failed proof counts at the most, else as long as it took: all who wait for a turn ask for one."""

_Reply = TypeVar("_Reply")


class CommandEmbedder:
    """One long-lived program. Thread-safe: requests take turns, and questions go before passages.

    The program starts with the first call, and again after it has ended. `secrets` are the values themselves. `name` is
    what messages call it; the index knows the model by the name the program gives.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        batch_size: int = 32,
        timeout_s: float = 60.0,
        min_similarity: float | None = None,
    ) -> None:
        self._owner = f"embedder {name!r}"
        self._command = checked_command(command)
        self._env = dict(env or {})
        self._secrets = dict(secrets or {})
        self._batch_size = batch_size
        self._timeout_s = timeout_s
        self._min_similarity = min_similarity
        self._turns = Turns()
        self._program: Program | None = None
        self._identified = False
        self._info: EmbedderInfo | None = None
        self._failed = False
        self._disproof = _Disproof("", 0.0)
        self._closed = threading.Event()

    def info(self) -> EmbedderInfo:
        """The model of a program that works, as far as its last answers tell. Raises EmbedderError when it does not.

        A program that has ended is started again. After a failed request a short text is embedded first.
        """
        if (known := self._well_known()) is not None:
            return known
        with self._turns.take("query"):
            started_s = time.monotonic()
            if self._failed and started_s < self._disproof.counts_until_s:
                raise EmbedderError(self._disproof.message)
            try:
                return self._surviving_death(_Call(), self._proved)
            except EmbedderError as error:
                now_s = time.monotonic()
                self._disproof = _Disproof(str(error), now_s + min(now_s - started_s, _LONGEST_DISPROOF_S))
                raise

    def embed(self, texts: Sequence[str], kind: Kind, *, gone: threading.Event | None = None) -> Vectors:
        """Unit vectors, one row a text, float32 (len(texts), dimension). Raises EmbedderError.

        `gone` is set by whoever called when nobody waits for the rest any more: what has not begun is left out then.
        """
        call = _Call()
        starts = range(0, len(texts), self._batch_size)
        try:
            batches = [self._embed_batch(texts[start : start + self._batch_size], kind, call, gone) for start in starts]
        except Abandoned:
            raise EmbedderError(f"{self._owner}: nobody waits for the vectors any more") from None
        return np.concatenate(batches) if batches else np.empty((0, self.info().dimension), np.float32)

    def close(self) -> None:
        """End the program, and a request that is running with an error; safe to call twice."""
        self._closed.set()
        program = self._program
        if program is not None and self._turns.taken:
            program.kill()
        with self._turns.take("query"):
            self._stop(_GRACE_S)

    def _well_known(self) -> EmbedderInfo | None:
        """The model while nothing speaks against its program, which is at work or waits for the next request."""
        program = self._program
        running = program is not None and program.is_running()
        well = self._identified and not self._failed and (self._turns.taken or running)
        return self._info if well else None

    def _proved(self, program: Program, info: EmbedderInfo) -> EmbedderInfo:
        if self._failed:
            self._vectors(program, info, [_PROOF], "query")
            self._failed = False
        return info

    def _embed_batch(self, texts: Sequence[str], kind: Kind, call: "_Call", gone: threading.Event | None) -> Vectors:
        with self._turns.take(kind, gone):
            try:
                vectors = self._surviving_death(call, lambda program, info: self._vectors(program, info, texts, kind))
            except EmbedderError:
                self._failed = True
                raise
            self._failed = False
            return vectors

    def _vectors(self, program: Program, info: EmbedderInfo, texts: Sequence[str], kind: Kind) -> Vectors:
        max_bytes = _REPLY_BYTES + len(texts) * info.dimension * _NUMBER_BYTES
        request = embed_request(texts, kind)
        return self._ask(program, request, max_bytes, lambda line: parse_vectors(line, len(texts), info.dimension))

    def _surviving_death(self, call: "_Call", ask: Callable[[Program, EmbedderInfo], _Reply]) -> _Reply:
        """The answer of a running program, which is started again at most once in a call. Needs the turn."""
        while True:
            try:
                program = self._running_program()
                return ask(program, self._identity(program))
            except _Died as death:
                self._stop()
                if not call.may_restart or self._closed.is_set():
                    raise EmbedderError(str(death)) from None
                call.may_restart = False
                logger.warning("%s; it is started again", death)

    def _running_program(self) -> Program:
        if self._program is not None and self._program.has_ended():
            raise _Died(self._program.message(self._program.ending()))
        if self._closed.is_set():
            raise EmbedderError(f"{self._owner}: is closed")
        if self._program is None:
            self._program = Program(
                self._command,
                env=self._env,
                secrets=self._secrets,
                protocol=PROTOCOL_VERSION,
                owner=self._owner,
                failure=EmbedderError,
            )
            if self._closed.is_set():  # meanwhile, when `close` saw no program to kill
                self._program.kill()
        return self._program

    def _identity(self, program: Program) -> EmbedderInfo:
        """What the program says it is, asked once after each start. Another model than before is stopped."""
        if self._identified and self._info is not None:
            return self._info
        name, dimension = self._ask(program, info_request(), _REPLY_BYTES, parse_info)
        if self._info is None:
            self._info = EmbedderInfo(name, dimension, self._gate(name))
        elif (name, dimension) != (self._info.name, self._info.dimension):
            self._stop()
            before = f"{self._info.name!r} with {self._info.dimension}"
            raise program.error(
                f"after a restart it is {name!r} with {dimension} numbers, before it was {before}; "
                "restart passageway to index with the new model"
            )
        self._identified = True
        return self._info

    def _gate(self, model: str) -> float:
        if self._min_similarity is not None:
            return self._min_similarity
        logger.warning(
            "%s: no min_similarity is set, so %s gets the gate of the built-in model, %g, which is hardly right for "
            "it; measure it with `passageway eval --sweep`",
            self._owner,
            model,
            DEFAULT_MIN_SIMILARITY,
        )
        return DEFAULT_MIN_SIMILARITY

    def _ask(self, program: Program, request: bytes, max_bytes: int, parse: Callable[[bytes], _Reply]) -> _Reply:
        """The reply to one request. After anything but a reply of the right shape the program is stopped."""
        try:
            if program.has_output():
                raise WrongReply("it printed a line that nobody asked for")
            program.send(request)
            return parse(self._reply_line(program, max_bytes))
        except FailedRequest as error:
            # Cut once secrets are masked: half of one would not be recognised.
            raise EmbedderError(program.message(str(error))[:_SHOWN_CHARACTERS]) from None
        except WrongReply as error:
            if program.cut_off:  # half a line is what a program leaves that dies while it answers
                raise _Died(program.message(program.ending())) from None
            self._stop()
            raise program.error(f"{error}; it was stopped") from None
        except EmbedderError:
            self._stop()
            raise

    def _reply_line(self, program: Program, max_bytes: int) -> bytes:
        deadline = Deadline.after(self._timeout_s)
        while (line := program.read_line(deadline, max_bytes)) is not None:
            if line.strip():
                return line
        raise _Died(program.message(program.ending()))

    def _stop(self, grace_s: float = 0.0) -> None:
        if self._program is not None:
            self._program.close(grace_s)
            self._program, self._identified = None, False


class _Died(Exception):
    """The program is gone; the message says how, with the owner and without secrets."""


@dataclass(frozen=True, slots=True)
class _Disproof:
    """That the program did not work when it was last tried; `counts_until_s` is of `time.monotonic()`."""

    message: str
    counts_until_s: float


@dataclass(slots=True)
class _Call:
    """One call of `info` or `embed`, of however many requests."""

    may_restart: bool = True
