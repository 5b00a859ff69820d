"""The whole login as one thing: made from the settings when there is a public address, and asked by the door of MCP."""

from dataclasses import dataclass

from fastapi import APIRouter

from passageway.settings import Settings
from passageway_query.auth.addresses import SCOPE, Addresses
from passageway_query.auth.clients import Registry
from passageway_query.auth.consent import Consent
from passageway_query.auth.documents import Documents
from passageway_query.auth.endpoints import Endpoints
from passageway_query.auth.server import Server
from passageway_query.auth.store import ACCESS_PREFIX, FILE_NAME, REFRESH_PREFIX, TokenStore
from passageway_query.guard import Guard


@dataclass(frozen=True, slots=True)
class Login:
    """Tokens and the routes by which clients get them."""

    addresses: Addresses
    store: TokenStore
    routers: tuple[APIRouter, ...]

    @property
    def challenge(self) -> str:
        """What a refusal at `/mcp` adds, so that a client finds the login."""
        return f'resource_metadata="{self.addresses.resource_metadata}", scope="{SCOPE}"'

    def is_token(self, bearer: bytes) -> bool:
        """Whether a bearer looks like one of ours; an expired one is no guess at the password."""
        return bearer.startswith((ACCESS_PREFIX.encode(), REFRESH_PREFIX.encode()))

    def admits(self, bearer: bytes) -> bool:
        """Whether a bearer is a good access token for this server. Blocks on the file."""
        token = self.store.find(bearer.decode("utf-8", "replace"), "access")
        return token is not None and token.resource == self.addresses.resource


def make_login(settings: Settings, guard: Guard, documents: Documents | None = None) -> Login | None:
    """The login, or None without a public address or a password. Raises StorageError.

    `documents` take the place of those of the internet, which the settings have to ask for.
    """
    if settings.base_url is None or not settings.password:
        return None
    addresses = Addresses(settings.base_url)
    store = TokenStore(settings.data_dir / FILE_NAME, settings.password, refresh_grace_s=settings.refresh_grace_s)
    if documents is None and settings.client_documents:
        documents = Documents()
    server = Server(addresses, Registry(store.key), store, documents)
    return Login(addresses, store, (Endpoints(server).router(), Consent(server, guard, settings).router()))
