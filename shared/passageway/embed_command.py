"""Any embedding model behind a program that speaks embedder protocol v1 over stdin and stdout."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

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

_GRACE_S = 1.0
"""For a program that gives back a GPU when its input ends."""

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
        self._turns = _Turns()
        self._program: Program | None = None
        self._identified = False
        self._info: EmbedderInfo | None = None
        self._closed = threading.Event()

    def info(self) -> EmbedderInfo:
        """The model, asked for once. Raises EmbedderError until the program has answered."""
        if self._info is not None:
            return self._info
        with self._turns.take("query"):
            return self._surviving_death(_Call(), lambda program, info: info)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors, one row a text, float32 (len(texts), dimension). Raises EmbedderError."""
        call = _Call()
        starts = range(0, len(texts), self._batch_size)
        batches = [self._embed_batch(texts[start : start + self._batch_size], kind, call) for start in starts]
        return np.concatenate(batches) if batches else np.empty((0, self.info().dimension), np.float32)

    def close(self) -> None:
        """End the program, and a request that is running with an error; safe to call twice."""
        self._closed.set()
        program = self._program
        if program is not None and self._turns.taken:
            program.kill()
        with self._turns.take("query"):
            self._stop(_GRACE_S)

    def _embed_batch(self, texts: Sequence[str], kind: Kind, call: "_Call") -> Vectors:
        request = embed_request(texts, kind)

        def ask(program: Program, info: EmbedderInfo) -> Vectors:
            max_bytes = _REPLY_BYTES + len(texts) * info.dimension * _NUMBER_BYTES
            return self._ask(program, request, max_bytes, lambda line: parse_vectors(line, len(texts), info.dimension))

        with self._turns.take(kind):
            return self._surviving_death(call, ask)

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
            self._identified = False
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
            raise program.error(str(error)) from None
        except WrongReply as error:
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
            self._program = None


class _Died(Exception):
    """The program is gone; the message says how, with the owner and without secrets."""


@dataclass(slots=True)
class _Call:
    """One call of `info` or `embed`, of however many requests."""

    may_restart: bool = True


class _Turns:
    """A lock under which a waiting question goes before waiting passages."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting_questions = 0
        self.taken = False

    @contextmanager
    def take(self, kind: Kind) -> Iterator[None]:
        question = kind == "query"
        with self._changed:
            self._waiting_questions += question
            self._changed.wait_for(lambda: not self.taken and (question or not self._waiting_questions))
            self._waiting_questions -= question
            self.taken = True
        try:
            yield
        finally:
            with self._changed:
                self.taken = False
                self._changed.notify_all()
