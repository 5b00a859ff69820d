"""Environment variables: one table that the program, the docs page and its test all read."""

import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from passageway import __version__
from passageway.errors import SettingsError

DEFAULT_PRESET_FOLDER = "e5-small"
INSTANCE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable as the documentation shows it."""

    name: str
    default: str
    help: str


VARIABLES = (
    Variable("PASSAGEWAY_LOGIN_PASSWORD", "required", "The bearer password of every door, and of the login page"),
    Variable(
        "PASSAGEWAY_LOGIN_PASSWORD_FILE",
        "unset",
        "A file that holds the password; read when the variable above is unset",
    ),
    Variable("PASSAGEWAY_INSTANCE", "unset", "The instance to run, as `--instance NAME` does; the option wins"),
    Variable("PASSAGEWAY_CONFIG", "`~/.config/passageway/passageway.toml`", "The configuration file"),
    Variable(
        "PASSAGEWAY_BASE_URL",
        "unset",
        "The public https address; setting it turns on the OAuth login for `/mcp`",
    ),
    Variable(
        "PASSAGEWAY_DATA_DIR",
        "`~/Library/Application Support/passageway` on macOS, `~/.local/share/passageway` elsewhere",
        "Where the index files and the login state are",
    ),
    Variable("PASSAGEWAY_MODEL_DIR", "`<data dir>/models/e5-small`", "The folder of the default model"),
    Variable("PASSAGEWAY_MODEL_HUB", "`https://huggingface.co`", "A mirror of the model hub"),
    Variable("PASSAGEWAY_HOST", "`127.0.0.1`", "The address to listen on"),
    Variable("PASSAGEWAY_PORT", "`8082`", "The port to listen on"),
    Variable("PASSAGEWAY_ALLOWED_HOSTS", "unset", "Further host names a request may be for, separated by commas"),
    Variable(
        "PASSAGEWAY_TRUSTED_PROXIES",
        "unset",
        "Addresses or networks of proxies, separated by commas; their word for a client's address is taken",
    ),
    Variable("PASSAGEWAY_EMBED_PORT", "`8182`", "The loopback port of `passageway embed`"),
    Variable("PASSAGEWAY_EMBED_WORKERS", "`1`", "Threads that embed passages: 1, or 2 for a first import"),
    Variable("PASSAGEWAY_POLL_SECONDS", "`60`", "Seconds between two polls for changes"),
    Variable("PASSAGEWAY_RECONCILE_SECONDS", "`1800`", "Seconds between two full comparisons with the source"),
    Variable(
        "PASSAGEWAY_REFRESH_GRACE_SECONDS",
        "`60`",
        "How long a remote client may repeat a refresh of its sign-in; longer where several programs share one",
    ),
    Variable("PASSAGEWAY_TOOL_DESCRIPTION", "neutral text", "What a model reads about the `recall` tool"),
    Variable(
        "PASSAGEWAY_INSTRUCTIONS",
        "neutral text",
        "What a client reads when it connects, cut at 2,048 characters",
    ),
    Variable(
        "PASSAGEWAY_CLIENT_DOCUMENTS",
        "`off`",
        "`on` lets clients sign in by the address of a document about them, which the server then fetches",
    ),
    Variable(
        "PASSAGEWAY_CHATGPT_TOOLS",
        "`off`",
        "`on` adds the tools `search` and `fetch` in the form that ChatGPT asks for",
    ),
    Variable("PASSAGEWAY_LOG_LEVEL", "`INFO`", "DEBUG, INFO, WARNING or ERROR"),
    Variable("APP_VERSION", "the installed version", "The version that `/health` and `status` report"),
)

_SWITCHES = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
_LONGEST_S = 366 * 86_400
"""A year between two polls or comparisons is never; no timer of Python's takes an infinity."""

_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\Z")
_LONGEST_HOST = 253
"""Characters of a name in the DNS (RFC 1035)."""
_DEFAULT_PORTS = {"https": 443, "http": 80}

_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the environment says. Times in seconds; `model_dir` is None unless the environment names one."""

    instance: str | None
    config_path: Path
    data_dir: Path
    models_dir: Path
    model_dir: Path | None
    model_hub: str
    password: str | None
    host: str
    port: int
    base_url: str | None
    allowed_hosts: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    embed_port: int
    embed_workers: int
    poll_s: float
    reconcile_s: float
    refresh_grace_s: float
    tool_description: str | None
    instructions: str | None
    client_documents: bool
    chatgpt_tools: bool
    log_level: str
    version: str

    @property
    def embed_url(self) -> str:
        """Where `passageway embed` listens: loopback only."""
        return f"http://127.0.0.1:{self.embed_port}"


def config_root(environ: Mapping[str, str]) -> Path:
    """The folder that holds `passageway/` and `passageway-<instance>/` configuration folders."""
    return Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config")


def data_root(environ: Mapping[str, str]) -> Path:
    """The folder that holds `passageway/` and `passageway-<instance>/` data folders."""
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")


def folder_name(instance: str | None) -> str:
    """`passageway`, or `passageway-<instance>`."""
    return "passageway" if instance is None else f"passageway-{instance}"


def instances(environ: Mapping[str, str] | None = None) -> list[str]:
    """Names of the instances that `init` created, sorted."""
    root = config_root(os.environ if environ is None else environ)
    names = (entry.name.removeprefix("passageway-") for entry in root.glob("passageway-*") if entry.is_dir())
    return sorted(name for name in names if INSTANCE_NAME.match(name))


def load_settings(environ: Mapping[str, str] | None = None, instance: str | None = None) -> Settings:
    """The settings in `environ` (the process's own by default); `instance` overrides PASSAGEWAY_INSTANCE.

    Raises SettingsError naming the variable, what it holds and what was expected. The password is read, not required:
    commands that serve ask for it with `require_password`.
    """
    environ = os.environ if environ is None else environ
    instance = check_instance_name(instance or environ.get("PASSAGEWAY_INSTANCE") or None)
    folder = folder_name(instance)
    data_dir = _path(environ, "PASSAGEWAY_DATA_DIR") or data_root(environ) / folder
    model_dir = _path(environ, "PASSAGEWAY_MODEL_DIR")
    # Models are shared by all instances, so that a second one downloads nothing.
    models_dir = (data_dir if instance is None else data_root(environ) / folder_name(None)) / "models"
    log_level = (environ.get("PASSAGEWAY_LOG_LEVEL") or "INFO").upper()
    if log_level not in _LOG_LEVELS:
        raise SettingsError(f"PASSAGEWAY_LOG_LEVEL is {log_level!r}, expected one of {', '.join(_LOG_LEVELS)}")
    return Settings(
        instance=instance,
        config_path=_path(environ, "PASSAGEWAY_CONFIG") or config_root(environ) / folder / "passageway.toml",
        data_dir=data_dir,
        models_dir=models_dir,
        model_dir=model_dir,
        model_hub=(environ.get("PASSAGEWAY_MODEL_HUB") or "https://huggingface.co").rstrip("/"),
        password=_password(environ),
        host=environ.get("PASSAGEWAY_HOST") or "127.0.0.1",
        port=_port(environ, "PASSAGEWAY_PORT", 8082),
        base_url=_base_url(environ),
        allowed_hosts=_hosts(environ, "PASSAGEWAY_ALLOWED_HOSTS"),
        trusted_proxies=_networks(environ, "PASSAGEWAY_TRUSTED_PROXIES"),
        embed_port=_port(environ, "PASSAGEWAY_EMBED_PORT", 8182),
        embed_workers=_whole_number(environ, "PASSAGEWAY_EMBED_WORKERS", 1, low=1, high=2),
        poll_s=_number(environ, "PASSAGEWAY_POLL_SECONDS", 60, low=0.05),
        reconcile_s=_number(environ, "PASSAGEWAY_RECONCILE_SECONDS", 1800, low=0.05),
        refresh_grace_s=_number(environ, "PASSAGEWAY_REFRESH_GRACE_SECONDS", 60, low=0, high=30 * 86_400),
        tool_description=environ.get("PASSAGEWAY_TOOL_DESCRIPTION") or None,
        instructions=environ.get("PASSAGEWAY_INSTRUCTIONS") or None,
        client_documents=_switch(environ, "PASSAGEWAY_CLIENT_DOCUMENTS"),
        chatgpt_tools=_switch(environ, "PASSAGEWAY_CHATGPT_TOOLS"),
        log_level=log_level,
        version=environ.get("APP_VERSION") or __version__,
    )


def require_password(settings: Settings) -> str:
    """The login password. Raises SettingsError when none is set."""
    if not settings.password:
        raise SettingsError(
            "no password: set PASSAGEWAY_LOGIN_PASSWORD, or PASSAGEWAY_LOGIN_PASSWORD_FILE to a file that holds it "
            "(`passageway init` writes one)"
        )
    return settings.password


def check_instance_name(name: str | None) -> str | None:
    """The name unchanged. Raises SettingsError when it could not be part of a folder's name."""
    if name is not None and not INSTANCE_NAME.match(name):
        raise SettingsError(f"instance {name!r}: expected a name of a-z, 0-9, _ and -, starting with a letter or digit")
    return name


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name)
    return Path(value).expanduser().absolute() if value else None


def _number(environ: Mapping[str, str], name: str, default: float, *, low: float, high: float = _LONGEST_S) -> float:
    value = environ.get(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise SettingsError(f"{name} is {value!r}, expected a number from {low:g} to {high:,.10g}")
    return number


def _whole_number(environ: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    number = _number(environ, name, default, low=low, high=high)
    if number != int(number):
        raise SettingsError(f"{name} is {environ[name]!r}, expected a whole number from {low} to {high}")
    return int(number)


def _listed(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in environ.get(name, "").split(",") if entry.strip())


def _networks(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    for entry in (entries := _listed(environ, name)):
        try:
            ipaddress.ip_network(entry)
        except ValueError as error:
            raise SettingsError(f"{name}: {error}; expected addresses such as 127.0.0.1 or 172.16.0.0/12") from error
    return entries


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = (environ.get(name) or "off").lower()
    if value not in _SWITCHES:
        raise SettingsError(f"{name} is {value!r}, expected on or off")
    return _SWITCHES[value]


def _port(environ: Mapping[str, str], name: str, default: int) -> int:
    value = environ.get(name)
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 65535:
        raise SettingsError(f"{name} is {value!r}, expected a port from 1 to 65535")
    return int(value)


def _password(environ: Mapping[str, str]) -> str | None:
    if environ.get("PASSAGEWAY_LOGIN_PASSWORD"):
        return environ["PASSAGEWAY_LOGIN_PASSWORD"]
    path = _path(environ, "PASSAGEWAY_LOGIN_PASSWORD_FILE")
    if path is None:
        return None
    try:
        password = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"PASSAGEWAY_LOGIN_PASSWORD_FILE: {str(path)!r} cannot be read ({error}); "
            "the user that passageway runs as must be able to"
        ) from error
    if not password:
        raise SettingsError(
            f"no password: {str(path)!r}, which PASSAGEWAY_LOGIN_PASSWORD_FILE names, is empty; "
            "put the password there, or set PASSAGEWAY_LOGIN_PASSWORD"
        )
    return password


def _base_url(environ: Mapping[str, str]) -> str | None:
    """The public address as clients write it: lower case, no default port, no slash at its end."""
    value = (environ.get("PASSAGEWAY_BASE_URL") or "").strip()
    if not value:
        return None
    try:
        parts = urlsplit(value)
        host, port = _authority(parts)
    except ValueError as error:
        raise SettingsError(
            f"PASSAGEWAY_BASE_URL is {value!r} ({error}), expected an address such as https://passages.example.org"
        ) from error
    loopback = host in ("127.0.0.1", "localhost", "[::1]")
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise SettingsError(
            f"PASSAGEWAY_BASE_URL is {value!r}, expected an address such as https://passages.example.org"
        )
    if "@" in parts.netloc or parts.path.strip("/") or "?" in value or "#" in value:
        raise SettingsError(f"PASSAGEWAY_BASE_URL: expected scheme, host and port alone, such as https://{host}")
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, _DEFAULT_PORTS[parts.scheme]) else "")


def _hosts(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    for entry in (entries := _listed(environ, name)):
        try:
            parts = urlsplit(f"//{f'[{entry}]' if entry.count(':') > 1 and '[' not in entry else entry}")
            _authority(parts)
            if parts.path or "@" in entry or "?" in entry or "#" in entry:
                raise ValueError("more than a host name")
        except ValueError as error:
            raise SettingsError(
                f"{name}: {entry!r} ({error}); expected host names such as nas.local, separated by commas"
            ) from error
    return entries


def _authority(parts: SplitResult) -> tuple[str, int | None]:
    """Host and port. Raises ValueError for what is none."""
    after_brackets = parts.netloc.rpartition("]")[2] if "[" in parts.netloc else ""
    if after_brackets[:1] not in ("", ":"):
        raise ValueError("that is no host name")
    return _host(parts.hostname or ""), parts.port


def _host(host: str) -> str:
    """A host as addresses hold it: a name in lower case, IPv6 in brackets. Raises ValueError for what is none."""
    name = host.lower().removesuffix(".")
    if ":" in name:
        return f"[{ipaddress.IPv6Address(name)}]"
    if not name.isascii():
        raise ValueError("write the host in the letters of the DNS, xn--…")
    if not _HOST_NAME.match(name) or len(name) > _LONGEST_HOST:
        raise ValueError("that is no host name")
    return name
