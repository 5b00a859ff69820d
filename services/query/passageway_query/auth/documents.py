"""Client id metadata documents: a client whose id is the https address of a JSON document about it.

The address is a stranger's choice, so reading it must not reach what only this machine can reach: the name is resolved
once, every one of its addresses has to be public, and the connection goes to the address that was looked at. No
redirect is followed, and size, time, number and pace of the documents are bounded.
"""

import ipaddress
import json
import logging
import socket
import ssl
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import truststore

from passageway_query.auth.clients import Client, RegistrationError, client_name, redirect_uris

logger = logging.getLogger(__name__)

MAX_ADDRESS_CHARS = 500
MAX_BYTES = 5 * 1024
"""What the draft (draft-ietf-oauth-client-id-metadata-document) advises."""
TIMEOUT_S = 5.0
FRESH_S = 3600.0
FAILED_S = 60.0
"""For so long a document that could not be read is not asked for again."""
MAX_KEPT = 100
MAX_FETCHES_A_MINUTE = 30
MAX_FETCHES_AT_ONCE = 4
HTTPS = 443

NOT_PUBLIC = "its address is not one on the internet"
"""One text for every address that is not ours to reach, so that it cannot be used to ask what there is inside."""

Resolve = Callable[[str], Awaitable[Sequence[str]]]

# Global by the registry, and still not a host on the internet: relays and protocol anycast.
_SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16")))
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class DocumentError(Exception):
    """A document that cannot be had or cannot be used; the text may be shown to anybody."""


def is_document_address(client_id: str) -> bool:
    """Whether a client id is the address of a document: https, a host name, a path, and nothing else in it."""
    if len(client_id) > MAX_ADDRESS_CHARS or not client_id.isascii() or not client_id.startswith("https://"):
        return False
    if any(not letter.isprintable() or letter in ' "<>\\^`{|}#' for letter in client_id):
        return False
    try:
        parts = urlsplit(client_id)
        _ = parts.port
    except ValueError:
        return False
    host = parts.hostname or ""
    plain = "@" not in parts.netloc and not parts.query and len(parts.path) > 1
    dots = any(segment in (".", "..") for segment in parts.path.lower().replace("%2e", ".").split("/"))
    return plain and not dots and "." in host.strip(".") and not _is_address(host)


def is_public(address: str) -> bool:
    """Whether an address is a host's on the internet: no private, local, shared, multicast or translated one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed not in _GLOBAL_UNICAST:
        return False
    special = any(parsed in network for network in _SPECIAL if network.version == parsed.version)
    return parsed.is_global and not (special or parsed.is_multicast or parsed.is_reserved)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # `0x7f.1` and `127.1` are addresses to some resolvers; no top-level domain is a number.
        return host.rstrip(".").rpartition(".")[2][:1].isdigit()
    return True


async def resolved(host: str) -> Sequence[str]:
    """Every address of a host."""
    found = await anyio.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a fetch reaches. The default is the internet; a test has one of its own."""

    resolve: Resolve = resolved
    is_public: Callable[[str], bool] = is_public
    port: int = HTTPS


@dataclass(slots=True)
class _Kept:
    client: Client | None
    problem: str
    until: float


class Documents:
    """Clients by the addresses of their documents, the last hundred of them kept for an hour."""

    def __init__(self, reach: Reach | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._reach = reach or Reach()
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._started: deque[float] = deque()
        self._running = 0

    def known(self, client_id: str) -> Client | None:
        """The client if its document was read before."""
        kept = self._kept.get(client_id)
        return kept.client if kept else None

    async def read(self, client_id: str) -> Client:
        """The client that a document describes. Raises DocumentError.

        A document that is gone for now is used as it was, while it is still kept.
        """
        kept = self._kept.get(client_id)
        if kept is None or self._clock() > kept.until:
            kept = await self._renewed(client_id, kept.client if kept else None)
        if kept.client is None:
            raise DocumentError(kept.problem)
        return kept.client

    async def _renewed(self, client_id: str, before: Client | None) -> _Kept:
        self._take_turn()
        try:
            kept = _Kept(await self._fetched(client_id), "", self._clock() + FRESH_S)
        except DocumentError as error:
            logger.info("oauth: the document of a client could not be read: %s", error)
            kept = _Kept(before, str(error), self._clock() + FAILED_S)
        finally:
            self._running -= 1
        self._kept[client_id] = kept
        self._kept.move_to_end(client_id)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return kept

    def _take_turn(self) -> None:
        """Count one more fetch. Raises DocumentError when there are too many: anybody can cause them."""
        now = self._clock()
        while self._started and self._started[0] < now - 60:
            self._started.popleft()
        if len(self._started) >= MAX_FETCHES_A_MINUTE or self._running >= MAX_FETCHES_AT_ONCE:
            raise DocumentError("too many apps are being looked up; try again in a minute")
        self._started.append(now)
        self._running += 1

    async def _fetched(self, client_id: str) -> Client:
        try:
            with anyio.fail_after(TIMEOUT_S):
                body = await self._body(client_id)
        except TimeoutError:
            raise DocumentError(f"it did not come within {TIMEOUT_S:g} seconds") from None
        return client_of(client_id, body)

    async def _body(self, client_id: str) -> bytes:
        parts = urlsplit(client_id)
        host, port = parts.hostname or "", parts.port or HTTPS
        address = await self._address(host, port)
        authority = f"[{address}]" if ":" in address else address
        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        headers = {"Host": parts.netloc, "Accept": "application/json", "User-Agent": "passageway"}
        # No proxy of the environment: it would resolve the name for itself, and perhaps otherwise.
        try:
            async with (
                httpx.AsyncClient(verify=context, trust_env=False, timeout=TIMEOUT_S) as http,
                http.stream(
                    "GET",
                    f"https://{authority}:{port}{parts.path}",
                    headers=headers,
                    extensions={"sni_hostname": host},
                ) as reply,
            ):
                return await _bounded_body(reply)
        except (httpx.HTTPError, OSError) as error:
            raise DocumentError("there is no answer at its address") from error

    async def _address(self, host: str, port: int) -> str:
        """The address to connect to, once all of the host's are known to be public."""
        try:
            addresses = await self._reach.resolve(host)
        except (OSError, UnicodeError) as error:
            raise DocumentError(NOT_PUBLIC) from error
        if port != self._reach.port or not addresses or not all(map(self._reach.is_public, addresses)):
            raise DocumentError(NOT_PUBLIC)
        return next((address for address in addresses if ":" not in address), addresses[0])


async def _bounded_body(reply: httpx.Response) -> bytes:
    if reply.status_code != 200:
        raise DocumentError(f"its address answered {reply.status_code}")
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise DocumentError("what is at its address is not JSON")
    body = bytearray()
    # Undecoded, since a few compressed bytes can stand for many.
    async for chunk in reply.aiter_raw():
        body += chunk
        if len(body) > MAX_BYTES:
            raise DocumentError(f"it is over {MAX_BYTES:,} bytes")
    return bytes(body)


def client_of(client_id: str, body: bytes) -> Client:
    """The client that a document at that address describes. Raises DocumentError."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise DocumentError("what is at its address is not JSON") from None
    if not isinstance(document, dict) or document.get("client_id") != client_id:
        raise DocumentError("what is at its address describes another app")
    # A secret cannot be kept in a document that anybody reads, and keys of clients are not looked at here.
    if document.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in document:
        raise DocumentError("it asks for another way to prove itself than the one there is, none")
    try:
        uris = redirect_uris(document.get("redirect_uris"))
    except RegistrationError as error:
        raise DocumentError(str(error)) from None
    return Client(client_id, client_name(document.get("client_name")), uris)
