"""The settings of the connector, read from its environment."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from passageway_sdk import SettingsError
from passageway_sdk.web import flag, number, pipe_list, required, web_address, whole_number

DATA_CENTER, CLOUD = "datacenter", "cloud"
DEFAULT_MAX_PAGES = 5000
DEFAULT_TIMEOUT_S = 30.0
_CLOUD_PATH = "/wiki"


@dataclass(frozen=True, slots=True)
class Settings:
    """Which pages of which site, and how it is asked. `url` ends before `/rest`, so it holds the context path."""

    kind: str
    url: str
    authorization: str = field(repr=False)
    """The value of the request header."""
    secrets: tuple[str, ...] = field(repr=False)
    """What no message may show."""
    spaces: tuple[str, ...]
    include_labels: frozenset[str]
    exclude_labels: frozenset[str]
    """Labels in small letters, as Confluence keeps them."""
    max_pages: int
    timeout_s: float
    pause_s: float
    verify_tls: bool

    @property
    def is_cloud(self) -> bool:
        """Whether the site is Atlassian Cloud."""
        return self.kind == CLOUD


def read_settings(env: Mapping[str, str]) -> Settings:
    """The settings in `env`. Raises SettingsError naming the one that is missing or wrong."""
    kind = _kind(env)
    url = web_address(required(env, "URL", "the address of your site, such as https://wiki.example.org"), "URL")
    if kind == CLOUD:
        url = f"{url.removesuffix(_CLOUD_PATH)}{_CLOUD_PATH}"
    spaces = pipe_list(env, "SPACES")
    if not spaces:
        raise SettingsError("SPACES is missing: set it to the keys of the spaces to index, such as OPS|HR")
    authorization, secrets = _credentials(env, kind)
    return Settings(
        kind=kind,
        url=url,
        authorization=authorization,
        secrets=secrets,
        spaces=spaces,
        include_labels=frozenset(label.lower() for label in pipe_list(env, "INCLUDE_LABELS")),
        exclude_labels=frozenset(label.lower() for label in pipe_list(env, "EXCLUDE_LABELS")),
        max_pages=whole_number(env, "MAX_PAGES", DEFAULT_MAX_PAGES, least=1),
        timeout_s=number(env, "TIMEOUT", DEFAULT_TIMEOUT_S, least=0.1),
        pause_s=number(env, "PAUSE_SECONDS", 0.0),
        verify_tls=flag(env, "VERIFY_TLS", True),
    )


def _kind(env: Mapping[str, str]) -> str:
    kind = env.get("KIND", "").strip().lower() or DATA_CENTER
    if kind not in (DATA_CENTER, CLOUD):
        raise SettingsError(f"KIND is {kind!r}, expected {DATA_CENTER} (also for Server) or {CLOUD}")
    return kind


def _credentials(env: Mapping[str, str], kind: str) -> tuple[str, tuple[str, ...]]:
    """(the value of the header, what is secret about it)"""
    if kind == DATA_CENTER:
        token = required(env, "TOKEN", "a personal access token, as a secret reference")
        return f"Bearer {token}", (token,)
    email = required(env, "EMAIL", "the e-mail address of the account the API token belongs to, as a secret reference")
    token = required(env, "TOKEN", "an API token of that account, as a secret reference")
    both = b64encode(f"{email}:{token}".encode()).decode("ascii")
    return f"Basic {both}", (both, token, email)
