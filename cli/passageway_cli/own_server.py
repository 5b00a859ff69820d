"""The server of this machine as its own commands reach it: its address, a client for it, and what opens it."""

import os
import re
from collections.abc import Callable

import httpx

from passageway.settings import Settings
from passageway_cli.init import PASSWORD_FILE
from passageway_cli.service import ENV_FILE

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def local_url(settings: Settings) -> httpx.URL:
    """Where the server of these settings listens, as seen from this machine."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    return httpx.URL(f"http://{f'[{host}]' if ':' in host else host}:{settings.port}")


def own_client(timeout_s: float) -> httpx.Client:
    """A client for the loopback or the owner's own address: no proxy on the way, no certificate store to load."""
    return httpx.Client(timeout=timeout_s, trust_env=False)


def own_password(settings: Settings) -> str | None:
    """The password of the environment, else of the file that `init` wrote beside the configuration; None without."""
    if settings.password:
        return settings.password
    try:
        return (settings.config_path.parent / PASSWORD_FILE).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def own_environment(settings: Settings) -> dict[str, str]:
    """The environment, and beneath it the tokens of the file that a service is given."""
    try:
        lines = (settings.config_path.parent / ENV_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    return {**{match[1]: match[2] for line in lines if (match := _SETTING.fullmatch(line))}, **os.environ}


def with_password(settings: Settings) -> Callable[[httpx.Request], httpx.Request]:
    """An `auth` for httpx that adds the password to a request; without one the request stays as it is."""
    password = own_password(settings)

    def authorized(request: httpx.Request) -> httpx.Request:
        if password:
            # Set on the request, a header may hold any character; in a constructor it has to be ASCII.
            request.headers["Authorization"] = f"Bearer {password}"
        return request

    return authorized
