"""An embedder that is still getting ready: the process answers health checks while the model loads or downloads."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from passageway.embedder import Embedder, EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError, PassagewayError

logger = logging.getLogger(__name__)

RETRY_S = 30
"""Seconds between attempts after one failed: the network or the disk may be back by then."""

WAIT_S = 20
"""Seconds a caller waits for a model that is loading; a download takes longer, and its callers are told."""


class DeferredEmbedder:
    """The embedder that `make` returns, made in a thread of its own and made again after a failure.

    Until it is there, `info` and `embed` wait a while and then raise EmbedderError with what stands in the way.
    """

    def __init__(self, make: Callable[[], Embedder], *, wait_s: float = WAIT_S, retry_s: float = RETRY_S) -> None:
        """Start making the embedder at once; `make` may raise as often as it likes."""
        self._make = make
        self._wait_s = wait_s
        self._retry_s = retry_s
        self._embedder: Embedder | None = None
        self._problem = "the embedding model is still being loaded"
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="load the model", daemon=True)
        self._thread.start()

    def info(self) -> EmbedderInfo:
        """As Embedder.info."""
        return self.ready().info()

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """As Embedder.embed."""
        return self.ready().embed(texts, kind)

    def close(self) -> None:
        """Close the embedder; one that is still being made is closed when it is done."""
        self._closed.set()
        with self._changed:
            embedder, self._embedder = self._embedder, None
            self._failed, self._problem = True, "the embedder is closed"
            self._changed.notify_all()
        if embedder is not None:
            embedder.close()

    def ready(self) -> Embedder:
        """The embedder itself, waited for. Raises EmbedderError with what stands in the way."""
        deadline = time.monotonic() + self._wait_s
        with self._changed:
            while self._embedder is None:
                remaining = deadline - time.monotonic()
                if self._failed or remaining <= 0:
                    raise EmbedderError(self._problem)
                self._changed.wait(remaining)
            return self._embedder

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                embedder = self._make()
            except Exception as error:
                known = isinstance(error, PassagewayError)
                logger.error(
                    "the embedder cannot start, next try in %g s: %s", self._retry_s, error, exc_info=not known
                )
                with self._changed:
                    self._failed, self._problem = True, str(error) if known else f"internal error: {error!r}"
                    self._changed.notify_all()
                self._closed.wait(self._retry_s)
                continue
            with self._changed:
                if not self._closed.is_set():
                    self._embedder = embedder
                    self._changed.notify_all()
                    return
            embedder.close()
