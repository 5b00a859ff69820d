"""Which Host and Origin headers are ours: what keeps a foreign web page from reaching a server on this machine.

A page can make a browser resolve its own name to 127.0.0.1 and so reach a local port (DNS rebinding). The request then
carries the page's name as Host, which nobody configured here. An address written as numbers cannot be rebound, so it is
always accepted.
"""

import ipaddress
import logging
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from passageway.settings import Settings
from passageway_query.replies import refusal

logger = logging.getLogger(__name__)

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Web clients that call an MCP server from their own pages.
CLIENT_ORIGINS = frozenset({"https://claude.ai", "https://claude.com", "https://chatgpt.com"})


_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^][@/?#:\s]+))(?::[0-9]*)?")


def host_name(authority: str) -> str | None:
    """The name in `name:port`, lower case, without brackets; None for what is not a host at all."""
    matched = _AUTHORITY.fullmatch(authority.lower())
    return (matched[1] or matched[2]).rstrip(".") if matched else None


@dataclass(frozen=True, slots=True)
class HostRules:
    """The names this server answers to and the origins whose pages may call it."""

    names: frozenset[str]
    origins: frozenset[str]

    def host_is_ours(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = host_name(host)
        return name is not None and (name in self.names or _is_address(name))

    def origin_is_ours(self, origin: str, host: str) -> bool:
        """Whether a page of that origin may send requests here: our own, a loopback one or a known client's."""
        if origin in self.origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:  # such as `http://[`, which no browser sends
            return False
        if parts.scheme not in ("http", "https") or parts.path:
            return False
        name = host_name(parts.netloc)
        return name is not None and (parts.netloc.lower() == host.lower() or name in self.names)


def host_rules(settings: Settings) -> HostRules:
    """The rules that follow from the configured address, public URL and further host names."""
    configured = (settings.host, urlsplit(settings.base_url or "").netloc, *settings.allowed_hosts)
    names = {name for name in map(host_name, map(_bracketed, configured)) if name is not None}
    origins = CLIENT_ORIGINS | ({settings.base_url} if settings.base_url else frozenset())
    return HostRules(LOOPBACK_NAMES | names, frozenset(origins))


def _bracketed(host: str) -> str:
    """An IPv6 address as an authority: `::1` is `[::1]` there."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class HostCheck:
    """ASGI middleware: 421 for a Host that is not ours, 403 for a foreign Origin, before anything else looks.

    `open_paths` take any Origin: addresses that do the same for everybody, whatever a browser adds of its own.
    """

    def __init__(self, app: ASGIApp, rules: HostRules, open_paths: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._rules = rules
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._rules.host_is_ours(host):
            logger.warning("refused a request for host %r; PASSAGEWAY_ALLOWED_HOSTS adds names", host[:200])
            message = f"{host[:200]!r} is not a name of this server; add it to PASSAGEWAY_ALLOWED_HOSTS if it is"
            await refusal(421, "misdirected", message)(scope, receive, send)
            return
        checked = None if scope["path"] in self._open_paths else origin
        if checked is not None and not self._rules.origin_is_ours(checked, host):
            logger.warning("refused a request from a page of %r", checked[:200])
            await refusal(403, "foreign_origin", "requests from that web page are not taken")(scope, receive, send)
            return
        await self._app(scope, receive, send)
