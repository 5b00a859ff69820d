"""What the environment says about which files of which sites to read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urldefrag, urlsplit

from passageway_sdk import SettingsError
from passageway_sdk.web import pipe_list, web_address, whole_number

FULL_FILE, INDEX_FILE = "llms-full.txt", "llms.txt"


@dataclass(frozen=True, slots=True)
class Source:
    """A configured file, or an index whose links are followed."""

    address: str
    is_index: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """The files to read and how much of them."""

    sources: tuple[Source, ...]
    max_bytes: int
    max_pages: int
    """Followed from one index."""
    weights: tuple[tuple[str, float], ...]
    """(start of a page's path, weight); the first that fits counts."""


def read_settings(env: Mapping[str, str]) -> Settings:
    """The settings in the environment. Raises SettingsError."""
    addresses = dict.fromkeys(file_address(entry) for entry in pipe_list(env, "URLS"))
    if not addresses:
        raise SettingsError("URLS is missing: set it to addresses of sites or files, separated by |")
    return Settings(
        sources=tuple(Source(address, is_index(address)) for address in addresses),
        max_bytes=whole_number(env, "MAX_BYTES", 20_000_000, least=1),
        max_pages=whole_number(env, "MAX_PAGES", 500, least=1),
        weights=_weights(env.get("WEIGHTS", "")),
    )


def file_address(entry: str) -> str:
    """The file that an entry of URLS means: itself, or the llms-full.txt of a site."""
    address = urldefrag(web_address(entry, "URLS")).url
    parts = urlsplit(address)
    names_a_file = "." in parts.path.rpartition("/")[2] or parts.query
    return address if names_a_file else f"{address.rstrip('/')}/{FULL_FILE}"


def is_index(address: str) -> bool:
    """Whether the address is that of an `llms.txt`."""
    return urlsplit(address).path.rpartition("/")[2].lower() == INDEX_FILE


def _weights(value: str) -> tuple[tuple[str, float], ...]:
    rules = []
    for entry in filter(None, (entry.strip() for entry in value.split(","))):
        prefix, _, text = (part.strip() for part in entry.rpartition("="))
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not prefix or not math.isfinite(weight) or weight <= 0:
            raise SettingsError(
                f"WEIGHTS: {entry!r} is not of the form prefix=weight with a weight above 0, such as changelog=0.5"
            )
        rules.append((prefix.lstrip("/"), weight))
    return tuple(rules)
