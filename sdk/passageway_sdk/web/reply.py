"""One answer of a server, read whole, and the question whether it is a page for people instead of data."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from passageway_sdk.web.errors import SignInError, WebError

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_HTML_START = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_SIGN_IN_PATH = re.compile(r"(?:^|[/._-])(?:login|log-in|signin|sign-in|sso|saml2?|oauth2?|auth)(?:$|[/._-])", re.I)
_SIGN_IN_FORM = re.compile(rb"<input\b[^>]*\btype\s*=\s*[\"']?password", re.I)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# A byte order mark decides over any declaration (encoding.spec.whatwg.org/#decode).
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sent. `url` is where the last redirect led, `shown_url` the same as messages may show it."""

    url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Names in small letters."""
    body: bytes = field(repr=False)
    shown_url: str = ""

    @property
    def content_type(self) -> str:
        """The media type in small letters without its parameters, or an empty string."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body by its byte order mark, else the declared character set, else UTF-8.

        Bytes that fit neither become U+FFFD; a declared set that does not exist counts as UTF-8.
        """
        for mark, encoding in _MARKS:
            if self.body.startswith(mark):
                return self.body[len(mark) :].decode(encoding, "replace")
        declared = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(declared.group(1) if declared else "utf-8", "replace")
        except (LookupError, UnicodeError):
            return self.body.decode("utf-8", "replace")

    @property
    def is_html(self) -> bool:
        """Whether this is a page for a browser: declared as HTML, or a body that starts like one."""
        return self.content_type in ("text/html", "application/xhtml+xml") or bool(_HTML_START.match(self.body[:4096]))

    @property
    def is_sign_in(self) -> bool:
        """Whether an HTML page asks to sign in: by a password field or by the address the redirects ended at."""
        return self.is_html and bool(_SIGN_IN_FORM.search(self.body) or _SIGN_IN_PATH.search(urlsplit(self.url).path))

    def json(self) -> Any:
        """The body as JSON. Raises SignInError for a page, WebError for a body that is not JSON; both say what came."""
        if self.is_html:
            raise SignInError(self.page_problem("JSON"))
        try:
            value = json.loads(self.body, parse_constant=_no_number)
            return _repaired(value) if _SURROGATE.search(self.body) else value
        except (ValueError, RecursionError) as error:
            raise WebError(
                f"{self.shown_url}: expected JSON, got {len(self.body)} bytes of {self.content_type or 'no type'} "
                f"that are not: {_where(error)}"
            ) from None

    def page_problem(self, expected: str) -> str:
        """The sentence that says an HTML page came instead of what was `expected`, and what to do."""
        if self.is_sign_in:
            return (
                f"{self.shown_url} answers with a sign-in page instead of {expected}: "
                "the token or session is missing, wrong or expired; check it"
            )
        return (
            f"{self.shown_url} answers with an HTML page instead of {expected} (HTTP {self.status}): "
            "a sign-in page, an app shell or another address than meant; open it in a browser to see which"
        )


def _where(error: Exception) -> str:
    """The problem without the text it was found in."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at byte {error.pos}"
    return "too deeply nested" if isinstance(error, RecursionError) else "not UTF-8"


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _repaired(value: Any) -> Any:
    """The value with each half of a surrogate pair replaced by U+FFFD: JSON can spell it, UTF-8 has no bytes for it."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_repaired(entry) for entry in value]
    if isinstance(value, dict):
        return {_repaired(key): _repaired(entry) for key, entry in value.items()}
    return value
