"""An HTTP client for connectors: GET requests, one after the other, that wait, give up and fail in one way."""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urldefrag, urlencode, urljoin

from passageway_sdk.errors import SettingsError
from passageway_sdk.web.errors import RedirectRefusedError, StatusError, TooLargeError, WebError
from passageway_sdk.web.masks import masked, shown_address
from passageway_sdk.web.reply import Reply
from passageway_sdk.web.retry import SAID_WAIT_S, TOTAL_WAIT_S, TRANSIENT_STATUSES, Waits, retry_after_s
from passageway_sdk.web.transport import (
    certificate_problem,
    host_of,
    http_library,
    is_web_address,
    open_http,
    same_host,
)

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 10
MAX_BODY_BYTES = 32 * 1024 * 1024
"""Half of what one connector call may print by default."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """What one request wants, its redirects and repetitions included."""

    url: str
    headers: Mapping[str, str]
    accepted: Collection[int]
    busy: Callable[[Reply], str | None]
    max_bytes: int
    hosts: Collection[str] | None


class _TryAgain(Exception):
    """The server is busy or the network failed; the message says which."""

    def __init__(self, reason: str, retry_after: str | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def _never_busy(reply: Reply) -> str | None:
    return None


class Client:
    """Asks one source. Use it in a `with` block, so that its connections are closed.

    `headers` go with every request. `secrets` are values that no message may show; with any of them the client follows
    no redirect to another host. `timeout_s` bounds connecting and each read, `pause_s` is slept between requests.
    `sleep` and `now` (seconds since 1970) are the clock, `say` takes the messages about waiting.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        timeout_s: float = 30.0,
        pause_s: float = 0.0,
        verify_tls: bool = True,
        max_bytes: int = MAX_BODY_BYTES,
        retry_statuses: Collection[int] = TRANSIENT_STATUSES,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
        say: Callable[[str], object] | None = None,
    ) -> None:
        self._name = user_agent.partition("/")[0]
        self._headers = {"User-Agent": user_agent, **(headers or {})}
        for name, value in self._headers.items():
            _raise_for_header(name, value)
        self._secrets = tuple(secret for secret in secrets if secret)
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._verify_tls = verify_tls
        self._max_bytes = max_bytes
        self._retry_statuses = frozenset(retry_statuses)
        self._sleep = sleep
        self._now = now
        self._say = say or self._to_stderr
        self._http: httpx.Client | None = None
        self._asked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The client opens new ones when it is asked again."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def get(
        self,
        url: str,
        params: Mapping[str, str | int] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        accepted: Collection[int] = (),
        busy: Callable[[Reply], str | None] = _never_busy,
        max_bytes: int | None = None,
        hosts: Collection[str] | None = None,
    ) -> Reply:
        """The answer, read whole: its status is 2xx or one of `accepted`.

        A status to be retried, a network failure, and an answer that `busy` gives a reason for are asked again with
        growing waits. A redirect may lead to `hosts` only (`example.org`, `example.org:8443`); None is any.
        Raises StatusError, RedirectRefusedError, TooLargeError, or WebError after 15 minutes of waiting.
        """
        query = urlencode(params) if params else ""
        address = f"{url}{'&' if '?' in url else '?'}{query}" if query else url
        if not is_web_address(address):
            raise WebError(f"{self.shown(url)}: not an address that can be asked over http or https")
        ask = _Ask(address, headers or {}, accepted, busy, max_bytes or self._max_bytes, hosts)
        waits = Waits()
        while True:
            try:
                return self._attempt(ask)
            except _TryAgain as problem:
                self._wait(ask, waits, problem)

    def json(self, url: str, params: Mapping[str, str | int] | None = None, **options: Any) -> Any:
        """The answer of `get` as JSON. Raises SignInError when a page came instead, WebError when it is not JSON."""
        return self.get(url, params, headers={"Accept": "application/json"}, **options).json()

    def _attempt(self, ask: _Ask) -> Reply:
        """One attempt, redirects followed. Raises _TryAgain or a WebError."""
        url = ask.url
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._exchange(ask, url)
            if reply.status in ask.accepted:
                return reply
            if reply.status in self._retry_statuses:
                raise _TryAgain(f"HTTP {reply.status}", reply.headers.get("retry-after"))
            if reply.status // 100 != 3 or not reply.headers.get("location"):
                return self._settled(ask, reply)
            url = self._redirected(ask, url, reply.headers["location"])
        raise WebError(f"{self.shown(ask.url)}: more than {MAX_REDIRECTS} redirects, the last to {self.shown(url)}")

    def _settled(self, ask: _Ask, reply: Reply) -> Reply:
        if reply.status // 100 != 2:
            raise StatusError(f"{reply.shown_url}: {self._status_sentence(reply.status)}", reply)
        if reason := ask.busy(reply):
            raise _TryAgain(masked(reason, self._secrets), reply.headers.get("retry-after"))
        return reply

    def _status_sentence(self, status: int) -> str:
        if status == 401:
            return "HTTP 401, not signed in: the token is missing, wrong or expired; check it"
        if status == 403:
            return "HTTP 403, refused: whoever this connector signs in as may not read it"
        return f"HTTP {status}"

    def _redirected(self, ask: _Ask, url: str, location: str) -> str:
        try:
            target = urldefrag(urljoin(url, location)).url
        except ValueError:
            target = ""
        if not is_web_address(target):
            raise WebError(f"{self.shown(url)}: redirects to something that is no http or https address")
        if self._secrets and not same_host(url, target):
            raise RedirectRefusedError(
                f"{self.shown(url)}: redirects to another host, {self.shown(target)}: the token is missing, wrong or "
                "expired, or the address in the settings is not the site's own"
            )
        if ask.hosts is not None and host_of(target) not in ask.hosts:
            raise RedirectRefusedError(f"{self.shown(url)}: redirects to another host, {self.shown(target)}")
        return target

    def _exchange(self, ask: _Ask, url: str) -> Reply:
        """One request and its whole answer. Raises _TryAgain or a WebError."""
        if self._asked and self._pause_s > 0:
            self._sleep(self._pause_s)
        self._asked = True
        with self._network_failures(url), self._client().stream("GET", url, headers=dict(ask.headers)) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            wanted = response.status_code // 100 == 2 or response.status_code in ask.accepted
            body = self._body(response, url, ask.max_bytes) if wanted else b""
            return Reply(str(response.url), response.status_code, headers, body, self.shown(str(response.url)))

    def _body(self, response: "httpx.Response", url: str, max_bytes: int) -> bytes:
        parts: list[bytes] = []
        size_bytes = 0
        for part in response.iter_bytes():
            size_bytes += len(part)
            if size_bytes > max_bytes:
                raise TooLargeError(f"{self.shown(url)}: larger than the {max_bytes} bytes that are read")
            parts.append(part)
        return b"".join(parts)

    @contextmanager
    def _network_failures(self, url: str) -> Iterator[None]:
        httpx = http_library()
        try:
            yield
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError):
            # Their texts repeat the address or the header, so they are not passed on.
            raise WebError(f"{self.shown(url)}: not an address that can be asked over http or https") from None
        except httpx.RequestError as error:
            if certificate := certificate_problem(error):
                raise WebError(
                    f"{self.shown(url)}: {certificate}; if the site's certificate comes from an authority of your own, "
                    "add that authority to the operating system's trust store"
                ) from None
            text = masked(str(error), self._secrets)
            raise _TryAgain(f"{type(error).__name__}{': ' if text else ''}{text}") from None

    def _wait(self, ask: _Ask, waits: Waits, problem: _TryAgain) -> None:
        already_s = waits.waited_s
        attempts = waits.attempts
        wait_s = waits.next_s(retry_after_s(problem.retry_after, self._now()))
        if wait_s is None:
            raise WebError(
                f"{self.shown(ask.url)}: {problem}; gave up after {attempts} attempts and {already_s:.0f} s of waiting"
            )
        if wait_s >= SAID_WAIT_S:
            self._say(
                f"{problem} from {self.shown(ask.url)}, waiting {wait_s:.0f} s "
                f"({already_s:.0f} s of {TOTAL_WAIT_S:.0f} s waited)"
            )
        self._sleep(wait_s)

    def _client(self) -> "httpx.Client":
        if self._http is None:
            self._http = open_http(self._headers, self._timeout_s, self._verify_tls)
        return self._http

    def shown(self, url: str) -> str:
        """The address as messages may show it: without user name, query and secrets."""
        return masked(shown_address(url), self._secrets)

    def _to_stderr(self, message: str) -> None:
        print(f"{self._name}: {message}", file=sys.stderr)


def _raise_for_header(name: str, value: str) -> None:
    """Refuse what HTTP cannot carry here, because the library's own error would repeat the value."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise SettingsError(
            f"the setting that goes into the request header {name!r} holds a line break, a blank at its end "
            "or a letter outside ASCII; check it"
        )
