"""The files of a folder: which ones count, and what stood in the way."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from passageway_connector_markdown.settings import Settings
from passageway_sdk import SourceError


@dataclass(frozen=True, slots=True)
class File:
    """A file to index. `name` is its path below the folder, `/` between the parts."""

    name: str
    path: str
    size_bytes: int
    modified_s: float
    """Of the content, in seconds since 1970."""
    changed_s: float
    """The latest of: content modified, file moved or copied here, one of its folders moved here."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a walk found. Messages in `skipped` name a file and the reason; those in `unreadable` a folder."""

    files: list[File] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder that is still to be read: `prefix` is its name with a `/` behind it, empty for the top."""

    path: str
    prefix: str
    moved_s: float


def list_files(settings: Settings) -> Listing:
    """The files INCLUDE matches and EXCLUDE does not, in order of their names.

    Raises SourceError when the folder itself cannot be read; a folder below it that cannot is in `unreadable`.
    """
    listing = Listing()
    places = [_Place(str(settings.folder), "", 0.0)]
    while places:
        place = places.pop()
        try:
            places += _read_place(place, settings, listing)
        except FileNotFoundError as error:
            if not place.prefix:
                raise SourceError(f"FOLDER {place.path!r} is gone: {error.strerror}") from error
        except OSError as error:
            if not place.prefix:
                raise SourceError(f"FOLDER {place.path!r} cannot be read: {error.strerror}") from error
            listing.unreadable.append(f"folder {place.prefix!r} cannot be read: {error.strerror}")
    listing.files.sort(key=lambda file: file.name)
    return listing


def _read_place(place: _Place, settings: Settings, listing: Listing) -> Iterator[_Place]:
    """The folders in this one; its files go to the listing."""
    with os.scandir(place.path) as entries:
        found = list(entries)
    for entry in found:
        if _is_hidden(entry.name):
            continue
        name = place.prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if not settings.exclude.match_all_in(name):
                yield _Place(entry.path, f"{name}/", max(place.moved_s, _moved_s(entry)))
        elif settings.include.match(name) and not settings.exclude.match(name):
            _add_file(entry, name, place, settings.folder, listing)


def _is_hidden(part: str) -> bool:
    return part.startswith(".") or part == "node_modules"


def _moved_s(entry: os.DirEntry[str]) -> float:
    """When the folder was moved here, or 0.

    A move changes a folder's inode and not its entries, so its change time is later than its modification time; the
    files in it keep theirs.
    """
    status = entry.stat(follow_symlinks=False)
    return status.st_ctime if status.st_ctime > status.st_mtime else 0.0


def _add_file(entry: os.DirEntry[str], name: str, place: _Place, folder: Path, listing: Listing) -> None:
    placed_s = place.moved_s
    if entry.is_symlink():
        if os.path.isdir(entry.path):
            return
        if reason := _link_problem(entry.path, folder):
            listing.skipped.append(f"{name!r} skipped: {reason}")
            return
        placed_s = max(placed_s, entry.stat(follow_symlinks=False).st_ctime)
    try:
        status = entry.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        listing.skipped.append(f"{name!r} skipped: it is not a regular file")
    elif not _is_utf8(name):
        listing.skipped.append(f"{name!r} skipped: its name is not UTF-8 text")
    else:
        changed_s = max(status.st_mtime, status.st_ctime, placed_s)
        listing.files.append(File(name, entry.path, status.st_size, status.st_mtime, changed_s))


def _is_utf8(name: str) -> bool:
    """Whether the bytes of the name were UTF-8; Python keeps others as lone surrogates (PEP 383)."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _link_problem(path: str, folder: Path) -> str | None:
    """Why a symbolic link does not count, or None."""
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(folder):
        return "it is a link that leaves FOLDER"
    if not os.path.exists(target):
        return "it is a link to nothing"
    if any(_is_hidden(part) for part in target.relative_to(folder).parts):
        return "it is a link to a hidden file"
    return None
