"""Records that go out and come back unchanged or not at all: signed, so nothing has to be stored for a stranger."""

import base64
import hmac
import json
from collections.abc import Mapping
from typing import Any

from passageway_query.guard import same_secret

# 144 bits; the whole 256 would only make addresses longer.
_SIGNATURE_BYTES = 18


class Seal:
    """Signs records for one purpose; what was sealed for another does not open."""

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key = key
        self._purpose = f"{purpose}:".encode()

    def close(self, record: Mapping[str, Any]) -> str:
        """The record as text that fits an address."""
        payload = _base64(json.dumps(record, separators=(",", ":")).encode("utf-8"))
        return f"{payload}.{self._signature(payload)}"

    def open(self, text: str) -> dict[str, Any] | None:
        """The record again; None when the text was not made by `close` with this key and purpose."""
        payload, _, signature = text.partition(".")
        if not text.isascii() or not same_secret(signature, self._signature(payload)):
            return None
        record: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return record

    def _signature(self, payload: str) -> str:
        digest = hmac.digest(self._key, self._purpose + payload.encode("utf-8"), "sha256")
        return _base64(digest[:_SIGNATURE_BYTES])


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
