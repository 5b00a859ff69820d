"""Who is signed in: random tokens in a cookie, kept here as hashes, gone with the process or after twelve hours."""

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from passageway.settings import Settings

MAX_AGE_S = 12 * 3600
MAX_SESSIONS = 100


class Sessions:
    """Open sessions, the newest hundred. Thread-safe; `clock` counts seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: OrderedDict[bytes, float] = OrderedDict()

    def open(self) -> str:
        """The token of a new session."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._opened[_digest(token)] = self._clock()
            while len(self._opened) > MAX_SESSIONS:
                self._opened.popitem(last=False)
        return token

    def is_open(self, token: str) -> bool:
        """Whether the token is of a session that was opened and not closed since."""
        with self._lock:
            opened = self._opened.get(_digest(token))
            return opened is not None and self._clock() - opened < MAX_AGE_S

    def close(self, token: str) -> None:
        """End a session; an unknown one is none."""
        with self._lock:
            self._opened.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


class Cookie:
    """One cookie of ours. Cookies know no ports, so the port in its name keeps two instances on one machine apart.

    At the public https address it is bound to the host and sent over https alone.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = f"passageway-{name}-{settings.port}"
        public = urlsplit(settings.base_url or "")
        self._secure_host = public.netloc.lower() if public.scheme == "https" else None

    def _secure(self, request: Request) -> bool:
        """Whether the browser is at the public address. A proxy may pass its own idea of Host, but says https."""
        if self._secure_host is None:
            return False
        return request.url.scheme == "https" or request.headers.get("host", "").lower() == self._secure_host

    def name(self, request: Request) -> str:
        """The cookie's name for this request."""
        return f"__Host-{self._name}" if self._secure(request) else self._name

    def read(self, request: Request) -> str:
        """Its value, empty when it was not sent."""
        return request.cookies.get(self.name(request), "")

    def write(self, request: Request, response: Response, value: str, max_age_s: int) -> None:
        """Set it on the response; no script can read it and no other site's form sends it."""
        response.set_cookie(
            self.name(request),
            value,
            max_age=max_age_s,
            path="/",
            secure=self._secure(request),
            httponly=True,
            samesite="lax",
        )

    def drop(self, request: Request, response: Response) -> None:
        """Have the browser forget it."""
        response.delete_cookie(
            self.name(request), path="/", secure=self._secure(request), httponly=True, samesite="lax"
        )
