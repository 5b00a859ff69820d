"""The embedder protocol: a request a line on stdin, an answer a line on stdout."""

import json
import sys
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

from passageway_embedder_openai.service import Service, ServiceError
from passageway_embedder_openai.settings import Settings

PROBE = "passageway"
"""The word that is embedded to learn how long a vector is, when DIMENSIONS does not say."""


def serve(requests: Iterable[str], stdout: TextIO, settings: Settings, service: Service) -> None:
    """Answer every request until there are no more."""
    try:
        answers = _Answers(settings, service)
        for line in requests:
            if line.strip():
                stdout.write(json.dumps(answers.to(line)) + "\n")
                stdout.flush()
    finally:
        service.close()


class _Answers:
    def __init__(self, settings: Settings, service: Service) -> None:
        self._name = settings.name
        self._dimension = settings.dimensions
        self._service = service

    def to(self, line: str) -> dict[str, Any]:
        """The answer to a request, `{"error": …}` when it failed."""
        try:
            return self._answer(json.loads(line))
        except ServiceError as error:
            return {"error": str(error)}
        except Exception as error:  # a bug ends this request, not the program
            traceback.print_exc(file=sys.stderr)
            return {"error": f"{type(error).__name__} while answering; the log has the place"}

    def _answer(self, request: Any) -> dict[str, Any]:
        match request:
            case {"op": "info"}:
                return {"name": self._name, "dim": self._known_dimension(), "protocol": "1"}
            case {"op": "embed", "kind": "query" | "passage" as kind, "texts": [*texts]}:
                return {"vectors": self._service.embed(texts, kind) if texts else []}
            case _:
                return {"error": "the request is none of embedder protocol 1"}

    def _known_dimension(self) -> int:
        if self._dimension is None:
            (vector,) = self._service.embed([PROBE], "passage")
            self._dimension = len(vector)
        return self._dimension
