"""How a request can fail. Every class is a SourceError, so one that is not caught ends the call with exit code 1.

SourceError
└── WebError              the request failed: no connection, no answer in time, given up after waiting
    ├── StatusError       the server answered with a status that is an error; `reply` is what it said
    ├── SignInError       an HTML page came instead of the data: a sign-in form or an app shell
    ├── RedirectRefusedError   a redirect that would leave the host
    └── TooLargeError     the body is over the limit

No message holds a secret that the client was told about, nor a user name or password of an address.
"""

from typing import TYPE_CHECKING

from passageway_sdk.errors import SourceError

if TYPE_CHECKING:
    from passageway_sdk.web.reply import Reply


class WebError(SourceError):
    """The request failed, and asking again would not help or did not help for as long as the client may wait."""


class StatusError(WebError):
    """The server refused; `status` is 401, 404 and so on, `reply` holds its answer."""

    def __init__(self, message: str, reply: "Reply") -> None:
        super().__init__(message)
        self.reply = reply

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.reply.status


class SignInError(WebError):
    """A page for people came where data was expected, mostly because a token is missing, wrong or expired."""


class RedirectRefusedError(WebError):
    """The server sends the request to another host, where a credential or this connector has no business."""


class TooLargeError(WebError):
    """The body is larger than the caller allowed; nothing past the limit was read."""
