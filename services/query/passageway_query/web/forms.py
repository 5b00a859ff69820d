"""Forms that only our own pages can send: bounded bodies, a token bound to a cookie, and the page's own origin."""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from passageway_query.guard import same_secret
from passageway_query.replies import Refusal, bounded

MAX_FORM_BYTES = 256 * 1024
_MAX_FIELDS = 20


class FormKey:
    """Makes and checks the tokens of forms. Its key is random, so a restart makes open forms stale."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def token(self, cookie: str) -> str:
        """What a form must carry when it is sent along with this cookie."""
        return hmac.new(self._key, cookie.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def matches(self, token: str, cookie: str) -> bool:
        """Whether a form's token belongs to the cookie."""
        return bool(cookie) and same_secret(token, self.token(cookie))


async def read_form(request: Request, public_url: str | None) -> dict[str, str]:
    """The fields of a form, each once. Raises Refusal 403 for a foreign page, 400 for a body that is not a form."""
    refuse_foreign_page(request, public_url)
    body = await bounded(request.stream(), MAX_FORM_BYTES)
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Refusal(400, "bad_form", "that is not a form of this page") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Refusal(400, "bad_form", "a field was sent twice")
    return fields


def refuse_foreign_page(request: Request, public_url: str | None) -> None:
    """Nothing for a form of our own page. Raises Refusal 403 when the browser says that it is another page's."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = {request.headers.get("host", "").lower(), urlsplit(public_url or "").netloc.lower()} - {""}
    foreign = origin is not None and origin.lower().partition("://")[2] not in own
    if foreign or site not in (None, "same-origin", "none"):
        raise Refusal(403, "foreign_origin", "forms are taken from this server's own pages only")
