"""What a connector of a source behind HTTP shares with its neighbours; needs `passageway-sdk[web]`.

Importing this loads neither httpx nor lxml: the first request and the first page do, so that a call which needs
neither starts fast.
"""

from passageway_sdk.web.client import Client
from passageway_sdk.web.cut import MAX_SECTION_TOKENS, cut_sections, cut_text, estimated_tokens
from passageway_sdk.web.errors import RedirectRefusedError, SignInError, StatusError, TooLargeError, WebError
from passageway_sdk.web.html import Page, page_of
from passageway_sdk.web.parse import attribute, name_of, parse_html, parse_xhtml
from passageway_sdk.web.reply import Reply
from passageway_sdk.web.settings import flag, number, pipe_list, required, web_address, whole_number

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
