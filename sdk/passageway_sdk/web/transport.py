"""httpx, loaded when it is first needed, and the trust its connections have."""

import ssl
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

_PORTS = {"http": 80, "https": 443}


def http_library() -> "ModuleType":
    """The module httpx, without its command line.

    `import httpx` tries that too, and with it rich, click and pygments: 50 of the 110 ms the import takes with its
    bytecode cached. None in sys.modules makes the attempt fail, which httpx is prepared for.
    """
    command_line = "httpx._main"
    if "httpx" not in sys.modules:
        sys.modules[command_line] = None  # type: ignore[assignment]
    try:
        import httpx
    finally:
        if sys.modules.get(command_line, ...) is None:
            del sys.modules[command_line]
    return httpx


def open_http(headers: Mapping[str, str], timeout_s: float, verify_tls: bool) -> "httpx.Client":
    """A client that trusts what the operating system trusts; with `verify_tls` off, any server."""
    import truststore

    context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    client: httpx.Client = http_library().Client(
        headers=dict(headers), timeout=timeout_s, verify=context, follow_redirects=False
    )
    return client


def is_web_address(url: str) -> bool:
    """Whether the address has a host and a port that http or https can reach."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return parts.scheme in _PORTS and host.split() == [host] and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host in small letters, with the port unless it is the usual one: `example.org`, `example.org:8443`."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return host if parts.port in (None, _PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def same_host(url: str, target: str) -> bool:
    """Whether the target is at the same host and port and does not give up encryption."""
    here, there = urlsplit(url), urlsplit(target)
    if here.hostname != there.hostname:
        return False
    here_port = here.port or _PORTS.get(here.scheme)
    there_port = there.port or _PORTS.get(there.scheme)
    if here.scheme == there.scheme:
        return here_port == there_port
    return (here.scheme, there.scheme) == ("http", "https") and there_port in (here_port, 443)


def certificate_problem(error: BaseException) -> str | None:
    """What is wrong with the server's certificate when that is what an error comes from, else None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate could not be verified ({cause.verify_message or 'no reason given'})"
        cause = cause.__cause__ or cause.__context__
    return None
