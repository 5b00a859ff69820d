"""The settings of the connector, read from its environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from passageway_sdk.web import number, required, web_address, whole_number

DEFAULT_TIMEOUT_S = 30.0
DEFAULT_MAX_NOTE_BYTES = 1024 * 1024
"""A quarter of the longest line that the core accepts: as JSON, a byte of text can become three."""

_API = "/etapi"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where Trilium is and how it is read. Addresses have no `/` at their end, and no `/etapi`."""

    url: str
    web_url: str
    token: str = field(repr=False)
    timeout_s: float
    max_note_bytes: int


def read_settings(env: Mapping[str, str]) -> Settings:
    """The settings in `env`. Raises SettingsError naming the one that is missing or wrong."""
    url = _address(required(env, "URL", "the address of your Trilium server, such as http://trilium:8080"), "URL")
    return Settings(
        url=url,
        web_url=_address(env.get("WEB_URL", "").strip() or url, "WEB_URL"),
        token=required(env, "TOKEN", "an ETAPI token (Options › ETAPI), as a secret reference"),
        timeout_s=number(env, "TIMEOUT", DEFAULT_TIMEOUT_S, least=0.1),
        max_note_bytes=whole_number(env, "MAX_NOTE_BYTES", DEFAULT_MAX_NOTE_BYTES, least=1),
    )


def _address(value: str, name: str) -> str:
    return web_address(value, name).removesuffix(_API).rstrip("/")
