"""Who a request is from, as far as its Authorization header tells."""

from dataclasses import dataclass

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from passageway_query.auth.login import Login
from passageway_query.guard import Guard, Ruling, address
from passageway_query.replies import Refusal, throttled

REALM = 'realm="passageway"'


def bearer(headers: Headers) -> bytes | None:
    """The token of `Authorization: Bearer …` as it was sent; None when there is none, or more than one header."""
    values = headers.getlist("authorization")
    if len(values) != 1:
        return None
    scheme, _, token = values[0].strip().partition(" ")
    # Headers arrive as Latin-1; this gives back the bytes the client sent, UTF-8 in practice.
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" and token.strip() else None


@dataclass(frozen=True, slots=True)
class Access:
    """The password's doors, and the one that a remote client's token opens too."""

    guard: Guard
    login: Login | None = None

    def ruling(self, connection: HTTPConnection) -> Ruling:
        """What the guard says of the request's bearer; a request without one is not a try."""
        token = bearer(connection.headers)
        return Ruling(False) if token is None else self.guard.rule(token, address(connection))

    def require_password(self, connection: HTTPConnection, challenge: str = REALM) -> None:
        """Nothing when the request carries the password. Raises Refusal 401, or 429 with the time to wait."""
        ruling = self.ruling(connection)
        if ruling.admitted:
            return
        if ruling.retry_after_s:
            raise throttled(ruling.retry_after_s)
        if bearer(connection.headers) is None:
            raise _unauthorized("send Authorization: Bearer and the login password", challenge)
        raise _unauthorized("that is not the password", f'error="invalid_token", {challenge}')

    async def require_client(self, connection: HTTPConnection) -> None:
        """Nothing when the request carries the password or, with the login on, a good token. Raises Refusal.

        An expired token is no guess: the large clients send theirs from a few shared addresses.
        """
        token = bearer(connection.headers)
        if self.login is None:
            self.require_password(connection)
        elif token is None or not self.login.is_token(token):
            self.require_password(connection, self.login.challenge)
        elif not await anyio.to_thread.run_sync(self.login.admits, token):
            raise _unauthorized(
                "the access token has expired or was revoked", f'error="invalid_token", {self.login.challenge}'
            )


def _unauthorized(message: str, challenge: str) -> Refusal:
    return Refusal(401, "unauthorized", message, {"WWW-Authenticate": f"Bearer {challenge}"})
