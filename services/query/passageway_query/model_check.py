"""Whether the embedding model answers, without ever waiting long for one that does not."""

import threading
from collections.abc import Callable

from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError
from passageway_query.wire import EmbedderHealth

WAIT_S = 2.0
"""A health check gives up after a few seconds itself."""


class ModelCheck:
    """Asks for the model in a thread of its own, one at a time, and reports what is known by now. Thread-safe."""

    def __init__(self, ask: Callable[[], EmbedderInfo], *, wait_s: float = WAIT_S) -> None:
        self._ask = ask
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._answered: threading.Event | None = None
        self._health = EmbedderHealth(state="loading")

    def health(self) -> EmbedderHealth:
        """The model as it is now: `loading` until it first answered, `failing` when it does not or raises."""
        with self._lock:
            if self._answered is None:
                self._answered = threading.Event()
                threading.Thread(target=self._run, args=(self._answered,), name="model check", daemon=True).start()
            answered = self._answered
        if answered.wait(self._wait_s) or self._health.state == "loading":
            return self._health
        before = f"; before that: {self._health.error}" if self._health.error else ""
        return EmbedderHealth(state="failing", error=f"the model did not answer within {self._wait_s:g} s{before}")

    def _run(self, answered: threading.Event) -> None:
        health = EmbedderHealth(state="failing", error="the model could not be asked")
        try:
            info = self._ask()
            health = EmbedderHealth(
                state="ok", name=info.name, dimension=info.dimension, min_similarity=info.min_similarity
            )
        except EmbedderError as error:
            health = EmbedderHealth(state="failing", error=str(error))
        finally:
            with self._lock:
                self._health, self._answered = health, None
            answered.set()
