"""Who a request is from, as far as its Authorization header tells."""

from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from passageway_query.guard import Guard, Ruling
from passageway_query.replies import Refusal, throttled

REALM = 'Bearer realm="passageway"'


def bearer(headers: Headers) -> bytes | None:
    """The token of `Authorization: Bearer …` as it was sent; None when there is none, or more than one header."""
    values = headers.getlist("authorization")
    if len(values) != 1:
        return None
    scheme, _, token = values[0].strip().partition(" ")
    # Headers arrive as Latin-1; this gives back the bytes the client sent, UTF-8 in practice.
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" and token.strip() else None


def address(connection: HTTPConnection) -> str:
    """The address a request came from; behind a proxy that uvicorn is told to trust, the client's own."""
    return connection.client.host if connection.client else "unknown"


@dataclass(frozen=True, slots=True)
class Access:
    """The password's door: for routes that only the password opens."""

    guard: Guard

    def ruling(self, connection: HTTPConnection) -> Ruling:
        """What the guard says of the request's bearer; a request without one is not a try."""
        token = bearer(connection.headers)
        return Ruling(False) if token is None else self.guard.rule(token, address(connection))

    def require_password(self, connection: HTTPConnection) -> None:
        """Nothing when the request carries the password. Raises Refusal 401, or 429 with the time to wait."""
        ruling = self.ruling(connection)
        if ruling.admitted:
            return
        if ruling.retry_after_s:
            raise throttled(ruling.retry_after_s)
        wrong = bearer(connection.headers) is not None
        message = "that is not the password" if wrong else "send Authorization: Bearer and the login password"
        challenge = f'{REALM}, error="invalid_token"' if wrong else REALM
        raise Refusal(401, "unauthorized", message, {"WWW-Authenticate": challenge})
