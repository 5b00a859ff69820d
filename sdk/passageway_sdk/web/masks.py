"""What messages may show of addresses and of text that may hold a secret."""

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit, urlunsplit

MASK = "***"


def masked(text: str, secrets: Sequence[str]) -> str:
    """The text with every secret replaced, also where some or all of its letters are percent-encoded or escaped."""
    spellings = (spelling for secret in secrets for spelling in (secret, repr(secret)[1:-1]) if spelling)
    # Longest first: one secret may be the start of another.
    for spelling in sorted(set(spellings), key=len, reverse=True):
        text = re.sub("".join(_letter(letter) for letter in spelling), MASK, text)
    return text


def _letter(letter: str) -> str:
    encoded = "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "replace"))
    ways = [re.escape(letter), f"(?i:{encoded})", *(["\\+"] if letter == " " else [])]
    return f"(?:{'|'.join(ways)})"


def shown_address(url: str) -> str:
    """The address without user name, password and fragment; a query becomes `?…`, since it may hold a key."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "the address"
    bare = urlunsplit((parts.scheme, host, quote(parts.path, safe="/%:@!$&'()*+,;=~-._"), "", ""))
    return f"{bare}?…" if parts.query else bare
