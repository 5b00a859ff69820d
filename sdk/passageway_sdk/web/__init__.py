"""What a connector of a source behind HTTP shares with its neighbours; needs `passageway-sdk[web]`.

Importing this loads neither httpx nor lxml nor what reads pages: the first request and the first page do, because the
core starts a connector every minute, mostly to hear that nothing has changed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from passageway_sdk.web.client import Client
from passageway_sdk.web.errors import RedirectRefusedError, SignInError, StatusError, TooLargeError, WebError
from passageway_sdk.web.reply import Reply
from passageway_sdk.web.settings import flag, number, pipe_list, required, web_address, whole_number
from passageway_sdk.web.transport import host_of

if TYPE_CHECKING:
    from passageway_sdk.web.cut import MAX_SECTION_TOKENS, cut_sections, cut_text, estimated_tokens
    from passageway_sdk.web.html import Page, page_of
    from passageway_sdk.web.parse import attribute, name_of, parse_html, parse_xhtml

__all__ = [
    "Client",
    "MAX_SECTION_TOKENS",
    "Page",
    "RedirectRefusedError",
    "Reply",
    "SignInError",
    "StatusError",
    "TooLargeError",
    "WebError",
    "attribute",
    "cut_sections",
    "cut_text",
    "estimated_tokens",
    "flag",
    "host_of",
    "name_of",
    "number",
    "page_of",
    "parse_html",
    "parse_xhtml",
    "pipe_list",
    "required",
    "web_address",
    "whole_number",
]

_HOMES = {
    **dict.fromkeys(("MAX_SECTION_TOKENS", "cut_sections", "cut_text", "estimated_tokens"), "cut"),
    **dict.fromkeys(("Page", "page_of"), "html"),
    **dict.fromkeys(("attribute", "name_of", "parse_html", "parse_xhtml"), "parse"),
}


def __getattr__(name: str) -> Any:
    """What is defined in a module that is loaded when one of its names is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
