"""From the bytes of a file to its text."""

import codecs

from passageway_connector_markdown.folder import File

_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27})
"""C0 control characters that text has no use for; backspace and escape appear in recorded terminal output."""

_MAX_CONTROLS = 0.1
"""Share of such characters above which a file is binary: text has none or a stray one, random ASCII a fifth."""


class Unusable(Exception):
    """The file cannot be indexed; the message is the reason, in words that follow "skipped: "."""


def read_bytes(file: File, max_bytes: int) -> bytes:
    """The file's content. Raises Unusable when it is too big, OSError when it cannot be read."""
    if file.size_bytes > max_bytes:
        raise Unusable(f"it has {file.size_bytes} bytes, more than MAX_FILE_BYTES = {max_bytes}")
    with open(file.path, "rb") as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Unusable(f"it has grown over MAX_FILE_BYTES = {max_bytes}")
    return data


def decode(data: bytes) -> str:
    """The text with `\\n` line ends and without a byte order mark. Raises Unusable when it is no UTF-8 text."""
    if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Unusable("it holds binary data (a zero byte)")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable(f"it is not UTF-8 text (byte {error.start + 1}); save it as UTF-8") from None
    if len(data) - len(data.translate(None, _CONTROLS)) > len(data) * _MAX_CONTROLS:
        raise Unusable("it holds binary data (control characters)")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
