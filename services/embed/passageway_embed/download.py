"""Fetches pinned files from the model hub or a mirror: resumed where it was cut, compared before it counts."""

import fcntl
import logging
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx
import truststore

from passageway.errors import ModelError
from passageway_embed.checksums import sha256_of
from passageway_embed.presets import Pin, PinnedFile

logger = logging.getLogger(__name__)

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, its bytes so far and all its bytes, whenever some have arrived."""

ATTEMPTS = 5
"""Tries in a row that bring no new byte before a download is given up."""

PAUSE_S = 1.0
"""Before the second try; doubled before each further one."""

WITHOUT_HUB = (
    "PASSAGEWAY_MODEL_HUB names a mirror; a model folder copied from another machine does as well, and so does the "
    "package passageway-model-e5, which makes the default model"
)

_TIMEOUT = httpx.Timeout(30, connect=15)
_RANGE = re.compile(r"bytes (\d+)-")


class _Cut(Exception):
    """The transfer broke off in a way that another try may mend."""


def fetch(
    file: PinnedFile, pin: Pin, folder: Path, hub: str, progress: Progress | None = None, *, pause_s: float = PAUSE_S
) -> Path:
    """The file in the folder, with the pinned SHA-256; one that is there already is not fetched again.

    Bytes arrive in `<name>.part`, which a later call continues. Raises ModelError naming the address and what it said.
    """
    target = folder / file.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        with part.open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # a second process waits here, then finds the file
            if target.is_file() and sha256_of(target) == file.sha256:
                part.unlink(missing_ok=True)
                return target
            try:
                _complete(file, address(file, pin, hub), stream, progress, pause_s)
            finally:
                if stream.seek(0, os.SEEK_END) == 0:
                    part.unlink()
            part.replace(target)
    except OSError as error:
        raise ModelError(f"{target} cannot be written: {error.strerror or error}") from error
    logger.info("fetched %s, SHA-256 as pinned", target)
    return target


def address(file: PinnedFile, pin: Pin, hub: str) -> str:
    """Where the hub serves the file. Raises ModelError when the hub's own address is none."""
    try:
        base = httpx.URL(hub)
    except httpx.InvalidURL:
        base = httpx.URL()
    if base.scheme not in ("http", "https") or not base.host:
        raise ModelError("PASSAGEWAY_MODEL_HUB is not a web address; expected one such as https://huggingface.co")
    return f"{hub.rstrip('/')}/{pin.repository}/resolve/{pin.revision}/{file.path}"


def _complete(file: PinnedFile, url: str, stream: IO[bytes], progress: Progress | None, pause_s: float) -> None:
    """Fill the stream until its sum is the pinned one. A part that was resumed and is wrong is fetched anew once."""
    resumed = stream.tell() > 0
    _transfer(file, url, stream, progress, pause_s)
    if (seen := _sum(stream)) == file.sha256:
        return
    stream.truncate(0)
    if resumed:
        logger.warning("%s: the part that was there did not fit; fetching the whole file", _shown(url))
        _complete(file, url, stream, progress, pause_s)
        return
    raise ModelError(
        f"{_shown(url)} sent a file with SHA-256 {seen}, expected {file.sha256}; nothing was kept. "
        "If PASSAGEWAY_MODEL_HUB names a mirror, it serves another version"
    )


def _sum(stream: IO[bytes]) -> str:
    stream.flush()
    return sha256_of(Path(stream.name))


def _transfer(file: PinnedFile, url: str, stream: IO[bytes], progress: Progress | None, pause_s: float) -> None:
    """Try until the stream holds all bytes, going on where the last try was cut."""
    failures = 0
    with httpx.Client(verify=_tls(), timeout=_TIMEOUT, follow_redirects=True) as client:
        while stream.seek(0, os.SEEK_END) < file.size_bytes:
            before = stream.tell()
            try:
                _receive(client, file, url, stream, progress)
            except (httpx.RequestError, _Cut) as error:
                failures = 1 if stream.seek(0, os.SEEK_END) > before else failures + 1
                if failures >= ATTEMPTS:
                    raise ModelError(
                        f"{_shown(url)}: {_reason(error)}; gave up after {ATTEMPTS} tries. {WITHOUT_HUB}"
                    ) from error
                logger.warning("%s: %s; trying again", _shown(url), _reason(error))
                time.sleep(pause_s * 2 ** (failures - 1))


def _receive(client: httpx.Client, file: PinnedFile, url: str, stream: IO[bytes], progress: Progress | None) -> None:
    start = stream.seek(0, os.SEEK_END)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with _response(client, url, headers) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            stream.truncate(0)
            raise _Cut("the server cannot continue the part that is here")
        done_bytes = _start_of(response, start)
        stream.truncate(done_bytes)
        for chunk in response.iter_raw():
            if done_bytes + len(chunk) > file.size_bytes:
                raise ModelError(f"{_shown(url)} sends more than the {file.size_bytes:,} bytes of the pinned file")
            stream.write(chunk)
            done_bytes += len(chunk)
            if progress is not None:
                progress(file.path, done_bytes, file.size_bytes)
        stream.flush()
    if done_bytes < file.size_bytes:
        raise _Cut(f"ended after {done_bytes:,} of {file.size_bytes:,} bytes")


@contextmanager
def _response(client: httpx.Client, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
    with client.stream("GET", url, headers=headers) as response:
        status = response.status_code
        if status >= 500 or status in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.REQUEST_TIMEOUT):
            raise _Cut(f"answered {status}")
        if response.is_error and status != httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise ModelError(
                f"{_shown(url)} answered {status} {response.reason_phrase}; expected the file. {WITHOUT_HUB}"
            )
        yield response


def _start_of(response: httpx.Response, asked: int) -> int:
    """Where the body belongs in the file: a server may ignore the range and send everything."""
    if response.status_code != httpx.codes.PARTIAL_CONTENT:
        return 0
    match = _RANGE.match(response.headers.get("Content-Range", ""))
    if match is None or int(match.group(1)) != asked:
        raise _Cut(f"sent {response.headers.get('Content-Range')!r}, expected the bytes from {asked}")
    return asked


def _tls() -> ssl.SSLContext:
    """Certificates are checked against the trust store of the operating system."""
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _shown(url: str) -> str:
    """The address without the credentials that a mirror's may hold."""
    return str(httpx.URL(url).copy_with(userinfo=b""))


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
