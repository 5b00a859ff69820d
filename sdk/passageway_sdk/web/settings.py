"""Settings that network connectors have in common, read from the environment; each raises SettingsError by name."""

import math
from collections.abc import Mapping
from urllib.parse import urlsplit

from passageway_sdk.errors import SettingsError

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})


def required(env: Mapping[str, str], name: str, meaning: str) -> str:
    """The value without blanks at its ends; `meaning` says in the error what is expected."""
    value = env.get(name, "").strip()
    if not value:
        raise SettingsError(f"{name} is missing: set it to {meaning}")
    return value


def pipe_list(env: Mapping[str, str], name: str, default: str = "") -> tuple[str, ...]:
    """The entries between `|`, without blanks and each once."""
    entries = (entry.strip() for entry in env.get(name, default).split("|"))
    return tuple(dict.fromkeys(entry for entry in entries if entry))


def number(env: Mapping[str, str], name: str, default: float, least: float = 0.0) -> float:
    """A finite number of `least` or more."""
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < least:
        raise SettingsError(f"{name} is {text!r}, expected a number of {least:g} or more, such as {default:g}")
    return value


def whole_number(env: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    """A whole number of `least` or more."""
    text = env.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise SettingsError(f"{name} is {text!r}, expected a whole number of {least} or more, such as {default}")
    return int(text)


def flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    """`true` or `false` in any of their usual spellings."""
    text = env.get(name, "").strip().lower()
    if not text:
        return default
    if text in _YES | _NO:
        return text in _YES
    raise SettingsError(f"{name} is {text!r}, expected true or false")


def web_address(value: str, name: str) -> str:
    """The http or https address, without `/` at its end. The error does not repeat an address that holds a password."""
    try:
        parts = urlsplit(value)
        credentials = parts.username is not None or parts.password is not None
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        credentials, usable = "@" in value, False
    if credentials:
        raise SettingsError(f"{name} holds a user name or password, which links and messages would show; leave it out")
    if not usable or any(letter.isspace() for letter in value):
        raise SettingsError(f"{name} is {value!r}, expected an address such as https://wiki.example.org")
    return value.rstrip("/")
