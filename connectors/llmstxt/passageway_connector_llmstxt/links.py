"""The links of an index, in whichever form it writes them."""

import re
from collections.abc import Iterator
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from passageway_sdk import strip_code

_LINK = re.compile(
    r"""
    (?P<image>!?)\[(?:[^\[\]]|\[[^\[\]]*\])*\]          # [text], brackets in it allowed
    \(\s*(?:<(?P<pointed>[^<>\n]*)>|(?P<plain>(?:[^()\s]|\([^()\s]*\))+))(?:\s[^()\n]*)?\)
    | ^[ ]{0,3}\[[^\[\]\n]+\]:\s*<?(?P<defined>[^\s<>]+)
    | (?P<bare>https?://(?:\[[\da-fA-F:.]+\]|[^\s<>()\[\]"'`])[^\s<>()\[\]"'`]*(?:\([^\s<>()]*\)[^\s<>()\[\]"'`]*)*)
    """,
    re.X | re.M,
)
_AFTER_A_SENTENCE = ".,;:!?*_"


def links_of(text: str, base: str) -> Iterator[str]:
    """The web addresses that an index links to, without fragments, each once, in their order.

    `base` is where the index was read in the end, after redirects: relative links start from there.
    """
    seen = {urldefrag(base).url}
    for match in _LINK.finditer(strip_code(text)):
        if match["image"]:
            continue
        target = match["pointed"] or match["plain"] or match["defined"]
        address = resolved(target or (match["bare"] or "").rstrip(_AFTER_A_SENTENCE), base)
        if address and address not in seen:
            seen.add(address)
            yield address


def resolved(target: str, base: str) -> str | None:
    """The web address a link means, written in one way; None when it is none."""
    try:
        parts = urlsplit(urldefrag(urljoin(base, target.strip())).url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            return None
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        if parts.port not in (None, {"http": 80, "https": 443}[parts.scheme]):
            host = f"{host}:{parts.port}"
    except ValueError:
        return None
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~-._") or "/"
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return parts._replace(netloc=host, path=path, query=query).geturl()
