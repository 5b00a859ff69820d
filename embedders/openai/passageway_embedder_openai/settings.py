"""The settings, read from the environment that passageway gives the program."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast
from urllib.parse import SplitResult, urlsplit

Provider = Literal["openai", "voyage", "ollama"]

_BASE_URLS: Mapping[Provider, str] = {
    "openai": "https://api.openai.com/v1",
    "voyage": "https://api.voyageai.com/v1",
    "ollama": "http://localhost:11434",
}
_ENDPOINTS: Mapping[Provider, str] = {"openai": "/embeddings", "voyage": "/embeddings", "ollama": "/api/embed"}

_KEY_HOSTS = ("api.openai.com", "api.voyageai.com")
"""Hosts that refuse every request without a key."""

_MAX_DIMENSION = 65_536
"""What embedder protocol v1 allows."""


class SettingsError(Exception):
    """A setting is missing or wrong; the message names it and says what was expected."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says; `timeout_s` is for one request, retries included."""

    provider: Provider
    model: str
    url: str
    name: str
    api_key: str | None = field(repr=False)
    query_prefix: str
    passage_prefix: str
    dimensions: int | None
    timeout_s: float


def load_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in `environ`. Raises SettingsError."""
    provider = environ.get("PROVIDER") or "openai"
    if provider not in _BASE_URLS:
        raise SettingsError(f"PROVIDER is {provider!r}, expected one of {', '.join(_BASE_URLS)}")
    provider = cast(Provider, provider)
    model = environ.get("MODEL", "").strip()
    if not model:
        raise SettingsError("MODEL is not set; name the embedding model that the service serves")
    base = _base_url(environ.get("BASE_URL") or _BASE_URLS[provider], _ENDPOINTS[provider])
    api_key = environ.get("API_KEY", "").strip() or None
    if api_key is None and base.hostname in _KEY_HOSTS:
        raise SettingsError(f"API_KEY is not set, and {base.hostname} wants one; name it in the table `secrets`")
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise SettingsError("API_KEY holds characters that no HTTP header can carry")
    prefixes = environ.get("QUERY_PREFIX", ""), environ.get("PASSAGE_PREFIX", "")
    return Settings(
        provider=provider,
        model=model,
        url=base.geturl() + _ENDPOINTS[provider],
        name=environ.get("NAME", "").strip() or _default_name(provider, model, base, prefixes),
        api_key=api_key,
        query_prefix=prefixes[0],
        passage_prefix=prefixes[1],
        dimensions=_dimensions(environ.get("DIMENSIONS", "")),
        timeout_s=_timeout(environ.get("TIMEOUT") or "50"),
    )


def _base_url(text: str, endpoint: str) -> SplitResult:
    """The address without a slash or the endpoint at its end."""
    try:
        parts = urlsplit(text.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise SettingsError("BASE_URL is no address, expected one such as http://localhost:11434/v1") from None
    if parts.username is not None or parts.password is not None:
        raise SettingsError("BASE_URL holds credentials; put a key into API_KEY, named in the table `secrets`")
    if not usable or parts.query or parts.fragment:
        raise SettingsError(f"BASE_URL is {text!r}, expected an address such as http://localhost:11434/v1")
    path = parts.path.rstrip("/").removesuffix(endpoint).rstrip("/")
    return parts._replace(path=path)


def _default_name(provider: Provider, model: str, base: SplitResult, prefixes: tuple[str, str]) -> str:
    """`openai:nomic-embed-text@localhost:11434#1f0c66a2`: a prefix changes every vector, so it is part of the name."""
    digest = hashlib.sha256("\0".join(prefixes).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{provider}:{model}@{base.netloc.lower()}" + (f"#{digest}" if any(prefixes) else "")


def _dimensions(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= _MAX_DIMENSION:
        raise SettingsError(f"DIMENSIONS is {text!r}, expected a whole number from 1 to {_MAX_DIMENSION:,}")
    return int(text)


def _timeout(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SettingsError(f"TIMEOUT is {text!r}, expected seconds, such as 50")
    return seconds
