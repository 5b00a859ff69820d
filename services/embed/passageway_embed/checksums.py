"""SHA-256 of files."""

import hashlib
from pathlib import Path

from passageway.errors import ModelError


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hexadecimal. Raises ModelError when it cannot be read.

    Not cached: the default model's 100 MB take 0.1 s, and a sum that was right last week says nothing about today.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
