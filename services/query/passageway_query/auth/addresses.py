"""Addresses of this server as OAuth names them, and the addresses that a client may be sent back to."""

from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from passageway_query.hosts import LOOPBACK_NAMES

SCOPE = "recall"
_DEFAULT_PORTS = {"https": 443, "http": 80}

# Where people of the well-known clients come back to. Any other host gets a warning on the consent page.
KNOWN_HOSTS = frozenset({"claude.ai", "claude.com", "chatgpt.com"})
KNOWN_SCHEMES = frozenset({"cursor", "vscode", "vscode-insiders"})
# Schemes that run code, read files or mean something to a browser; no application can own them.
_FORBIDDEN_SCHEMES = frozenset(
    {"about", "blob", "chrome", "data", "file", "filesystem", "ftp", "intent", "javascript", "mailto", "sms", "tel"}
    | {"vbscript", "view-source", "ws", "wss"}
)

MAX_REDIRECT_URIS = 10
MAX_REDIRECT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Addresses:
    """The public addresses, from the configuration alone: what a request says of itself may be a proxy's or a lie."""

    issuer: str

    @property
    def resource(self) -> str:
        """The MCP server that tokens are for."""
        return f"{self.issuer}/mcp"

    @property
    def resource_metadata(self) -> str:
        """Where a client that was refused reads on."""
        return f"{self.issuer}/.well-known/oauth-protected-resource/mcp"

    def is_ours(self, resource: str | None) -> bool:
        """Whether a `resource` parameter (RFC 8707) means this server; clients before 2025-06-18 send none.

        A trailing slash, the case of scheme and host and a default port that is spelled out do not matter; some clients
        send the origin alone.
        """
        if not resource:
            return True
        try:
            given, own = urlsplit(resource), urlsplit(self.resource)
            same_origin = _origin(given) == _origin(own)
        except ValueError:
            return False
        return same_origin and not given.fragment and given.path.rstrip("/") in ("", own.path)


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    """Scheme, user and host, port. Raises ValueError for a port that is none."""
    scheme = parts.scheme.lower()
    port = parts.port
    host = parts.netloc.lower()
    return scheme, host.removesuffix(f":{port}"), port or _DEFAULT_PORTS.get(scheme)


def _split(uri: str) -> SplitResult | None:
    """The parts of an absolute address without user, fragment or odd characters; None for anything else."""
    if not uri.isascii() or any(not letter.isprintable() or letter in ' "<>\\^`{|}' for letter in uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    if not parts.scheme or "#" in uri or parts.username is not None or parts.password is not None:
        return None
    return parts


def may_be_registered(uri: str) -> bool:
    """Whether a client may name this redirect address: https, loopback http, or a scheme of its own (RFC 8252)."""
    parts = _split(uri)
    if parts is None:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in LOOPBACK_NAMES
    return parts.scheme not in _FORBIDDEN_SCHEMES


def matches(registered: str, given: str) -> bool:
    """Whether a redirect address is the registered one: exactly, but for the port of a loopback address (RFC 8252)."""
    if registered == given:
        return True
    parts, own = _split(given), _split(registered)
    if parts is None or own is None or parts.scheme != "http" or parts.hostname not in LOOPBACK_NAMES:
        return False
    same = ("scheme", "hostname", "path", "query")
    return all(getattr(parts, name) == getattr(own, name) for name in same)


def is_known(uri: str) -> bool:
    """Whether an error may be sent there before anybody consented: a well-known client's page or this computer."""
    parts = _split(uri)
    if parts is None:
        return False
    if parts.scheme in KNOWN_SCHEMES:
        return True
    return is_loopback(uri) or (parts.scheme == "https" and parts.hostname in KNOWN_HOSTS)


def is_loopback(uri: str) -> bool:
    """Whether the address is an application's on this computer."""
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES


def shown_target(uri: str) -> str:
    """Where a person will be sent, in the words of the consent page."""
    parts = urlsplit(uri)
    # An app's own address may have a host in it that is nobody's: `myapp://claude.ai/`.
    return parts.netloc if parts.scheme in ("http", "https") else f"an application on this computer ({parts.scheme}:)"


def with_parameters(uri: str, **parameters: str | None) -> str:
    """The address with further query parameters, those that are None left out."""
    parts = urlsplit(uri)
    query = parse_qsl(parts.query, keep_blank_values=True)
    query += [(name, value) for name, value in parameters.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode(query)))
