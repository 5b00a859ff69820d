"""A model in this process, with two queues: questions have a thread of their own and never wait behind passages.

Passages are embedded one a run by one or two further threads at a lower priority. A question's 95th percentile then
stays at 1.1 times (two threads: 1.3 times) that of an idle machine, while 12.7 (22.3) passages of 350 tokens a second
go through; measured on two cores.
"""

import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError

if TYPE_CHECKING:  # onnxruntime takes a while to load, and an embedder that is a program needs none
    from passageway_embed.onnx import OnnxModel

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 1024
"""Questions that may wait: 4 s of work at 4 ms each."""

MAX_PASSAGES = 256
"""Passages that may wait: 20 s of work at 80 ms each."""

NICENESS = 12
"""Added to the priority number of passage threads (Linux): a question's thread is preferred, both go on."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Texts that are queued, not counting those a thread works on."""

    questions: int
    passages: int


class Engine:
    """An Embedder over one loaded model. Thread-safe."""

    def __init__(
        self,
        model: "OnnxModel",
        *,
        workers: int = 1,
        niceness: int = NICENESS,
        min_similarity: float | None = None,
    ) -> None:
        """Start the threads; `workers` of them embed passages, at a priority lowered by `niceness`.

        The gate is the model's own unless one is given.
        """
        gate = model.min_similarity if min_similarity is None else min_similarity
        self._model = model
        self._info = EmbedderInfo(model.name, model.dimension, gate)
        self._questions = Lane("question", MAX_QUESTIONS, partial(self._run, "query"))
        self._passages = Lane("passage", MAX_PASSAGES, partial(self._run, "passage"), workers, niceness)

    @property
    def provider(self) -> str:
        """What onnxruntime computes with."""
        return self._model.provider

    def info(self) -> EmbedderInfo:
        """As Embedder.info."""
        return self._info

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """As Embedder.embed."""
        return self.submit(texts, kind).result()

    def submit(self, texts: Sequence[str], kind: Kind) -> "Future[Vectors]":
        """The vectors to come, as `embed` returns them; cancelling takes the texts out of the queue.

        Returns once all texts are queued, so it blocks while there is no room for them.
        """
        job = Job(tuple(texts), np.empty((len(texts), self._info.dimension), np.float32))
        (self._questions if kind == "query" else self._passages).put(job)
        return job.future

    def waiting(self) -> Waiting:
        """How long the queues are."""
        return Waiting(len(self._questions), len(self._passages))

    def close(self) -> None:
        """End the threads; whoever waits gets EmbedderError."""
        self._questions.close()
        self._passages.close()

    def _run(self, kind: Kind, job: "Job", index: int) -> None:
        job.vectors[index] = self._model.vector(job.texts[index], kind)


class Job:
    """Texts that were handed in together, and the vectors they become. Texts of one job may run on several threads."""

    def __init__(self, texts: tuple[str, ...], vectors: Vectors) -> None:
        self.texts = texts
        self.vectors = vectors
        self.future: Future[Vectors] = Future()
        self._left = len(texts)
        self._lock = threading.Lock()
        if not texts:
            self.future.set_result(vectors)

    def one_done(self) -> None:
        """Note that one more text has its vector; the last one fulfils the future."""
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last and self.future.set_running_or_notify_cancel():
            self.future.set_result(self.vectors)

    def fail(self, error: BaseException) -> None:
        """End the job with the error, unless it has ended."""
        with self._lock:
            if not self.future.done() and self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)


class Lane:
    """A bounded queue of texts and the threads that work on them, first come first served."""

    def __init__(
        self, name: str, capacity: int, run: Callable[[Job, int], None], threads: int = 1, niceness: int = 0
    ) -> None:
        self.capacity = capacity
        self._run = run
        self._niceness = niceness
        self._queue: deque[tuple[Job, int]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"embed {name} {number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, job: Job) -> None:
        """Queue the job's texts one by one as room comes, until the job ends. Raises EmbedderError when closed."""
        job.future.add_done_callback(lambda future: self._forget(job) if future.cancelled() else None)
        for index in range(len(job.texts)):
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._queue) < self.capacity)
                if self._closed:
                    raise EmbedderError("the embedder is closed")
                if job.future.done():
                    return
                self._queue.append((job, index))
                self._changed.notify_all()

    def close(self) -> None:
        """End the threads after the text they are at; fail what waits. Safe to call twice."""
        with self._changed:
            self._closed = True
            left = {id(job): job for job, _ in self._queue}
            self._queue.clear()
            self._changed.notify_all()
        for job in left.values():
            job.fail(EmbedderError("the embedder was closed"))
        for thread in self._threads:
            thread.join()

    def _forget(self, job: Job) -> None:
        with self._changed:
            self._queue = deque(entry for entry in self._queue if entry[0] is not job)
            self._changed.notify_all()

    def _work(self) -> None:
        _lower_priority(self._niceness)
        while (entry := self._next()) is not None:
            job, index = entry
            if job.future.done():  # cancelled or failed while this text waited
                continue
            try:
                self._run(job, index)
            except Exception as error:  # where a text ends: its caller gets the error, the thread goes on
                self._forget(job)
                job.fail(error if isinstance(error, EmbedderError) else EmbedderError(f"embedding failed: {error!r}"))
            else:
                job.one_done()

    def _next(self) -> tuple[Job, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._queue)
            if not self._queue:
                return None
            entry = self._queue.popleft()
            self._changed.notify_all()
            return entry


def _lower_priority(niceness: int) -> None:
    if niceness and sys.platform == "linux":  # elsewhere a priority is the whole process's
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + niceness)
        except OSError as error:
            logger.debug("passages keep the priority of questions: %s", error)
