"""The service behind its HTTP API: a request, tried again for as long as its time allows."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from passageway_embedder_openai.settings import Settings
from passageway_embedder_openai.wire import Kind, ReplyError, Vector, problem_in, request_body, vectors_in

if TYPE_CHECKING:
    import httpx

CONNECT_S = 10.0
"""For one attempt to connect. A service on the other side of the world answers within half a second."""

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
"""Between attempts: the first wait, doubled after each, and where the doubling ends. `Retry-After` may ask for more."""

MAX_REPLY_BYTES = 128 * 1024 * 1024
"""1,024 vectors of 4,096 numbers are about 90 MB as JSON."""

SHOWN_CHARACTERS = 300
"""Of what the service says went wrong: some answer with a whole page."""


class ServiceError(Exception):
    """A request failed for good. The message names the service, and never holds the key."""


class _TryAgain(Exception):
    """A failure that may pass: the wait is what the service asked for, if it did."""

    def __init__(self, problem: str, wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.wait_s = wait_s


class Service:
    """Vectors from the service of the settings. One request at a time."""

    def __init__(self, settings: Settings, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._settings = settings
        self._sleep = sleep
        self._where = urlsplit(settings.url).netloc
        # One loop for the life of the program, so that connections are kept.
        self._runner = asyncio.Runner()
        self._client: httpx.AsyncClient | None = None

    def embed(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text, as the service gives it. Raises ServiceError."""
        body = json.dumps(request_body(self._settings, texts, kind)).encode("ascii")
        try:
            return self._runner.run(self._embed(body, len(texts)))
        except ServiceError as error:
            raise ServiceError(self._masked(f"{self._where}: {error}")) from None

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._runner.run(self._client.aclose())
        self._runner.close()

    async def _embed(self, body: bytes, count: int) -> list[Vector]:
        timeout_s = self._settings.timeout_s
        deadline = asyncio.get_running_loop().time() + timeout_s
        attempt = 0
        while True:
            attempt += 1
            try:
                async with asyncio.timeout_at(deadline):
                    return vectors_in(self._settings, await self._post(body), count)
            except TimeoutError:
                # Not tried again: a paid service may have charged for it already.
                raise ServiceError(f"no answer within {timeout_s:g} s (TIMEOUT)") from None
            except ReplyError as error:
                raise ServiceError(str(error)) from None
            except _TryAgain as trouble:
                wait_s = max(trouble.wait_s, min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S))
                if asyncio.get_running_loop().time() + wait_s >= deadline:
                    tries = f"{attempt} tries" if attempt > 1 else "the first try"
                    raise ServiceError(
                        f"{trouble}; gave up after {tries}, as another {wait_s:g} s of waiting is more than "
                        f"the {timeout_s:g} s of TIMEOUT allow"
                    ) from None
                await self._sleep(wait_s)

    async def _post(self, body: bytes) -> bytes:
        """The body of a successful reply. Raises _TryAgain or ServiceError."""
        import httpx  # loaded with the first request, which `info` with DIMENSIONS is none

        if self._client is None:
            self._client = self._make_client()
        try:
            async with self._client.stream("POST", self._settings.url, content=body) as response:
                reply = await _read(response)
        except httpx.InvalidURL as error:
            raise ServiceError(f"BASE_URL is no address: {error}") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            problem = str(error) or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in problem:
                raise ServiceError(f"its certificate is not trusted by this machine: {problem}") from None
            raise _TryAgain(f"cannot reach it: {problem}") from None
        if response.is_success:
            return reply
        # Cut once the key is masked: half of one would not be recognised.
        problem = _problem(response, self._masked(problem_in(reply))[:SHOWN_CHARACTERS])
        if response.status_code == 429 or response.is_server_error:
            raise _TryAgain(problem, _asked_wait_s(response.headers.get("Retry-After", "")))
        raise ServiceError(problem)

    def _make_client(self) -> "httpx.AsyncClient":
        import httpx
        import truststore

        headers = {"User-Agent": "passageway-embedder-openai", "Content-Type": "application/json"}
        if self._settings.api_key is not None:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        try:
            return httpx.AsyncClient(
                headers=headers,
                timeout=httpx.Timeout(None, connect=CONNECT_S),
                verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise ServiceError(f"the address of the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {error}") from None

    def _masked(self, text: str) -> str:
        key = self._settings.api_key
        forms = {key, quote(key), quote(key, safe=""), json.dumps(key)[1:-1]} if key else set()
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "***")
        return text


async def _read(response: "httpx.Response") -> bytes:
    reply = bytearray()
    async for chunk in response.aiter_bytes():
        reply += chunk
        if len(reply) > MAX_REPLY_BYTES:
            raise ServiceError(f"its reply is longer than {MAX_REPLY_BYTES:,} bytes")
    return bytes(reply)


def _problem(response: "httpx.Response", said: str) -> str:
    problem = f"it answered {response.status_code} {response.reason_phrase}" + (f": {said}" if said else "")
    if response.is_redirect:
        return f"{problem}, to {response.headers.get('Location', 'nowhere')}; set BASE_URL to the address in the end"
    if response.status_code in (401, 403):
        return f"{problem}; check API_KEY"
    if response.status_code == 404:
        return f'{problem}; check BASE_URL and MODEL, and use PROVIDER = "ollama" for an Ollama without /v1/embeddings'
    return problem


def _asked_wait_s(header: str) -> float:
    """The seconds in a Retry-After header, which holds them or a date; 0 for anything else."""
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())
