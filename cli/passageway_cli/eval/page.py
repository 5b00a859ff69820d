"""The marked block of a page that a run rewrites, and nothing else of that page."""

import io
import re
from dataclasses import dataclass
from pathlib import Path

from passageway.errors import SettingsError

START = "<!-- passageway:results:start -->"
END = "<!-- passageway:results:end -->"

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_MARGIN = 4
"""Spaces from which Markdown reads a line as code (CommonMark 4.4); a tab is as good."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page split around its block; line endings and everything outside the markers stay as they are."""

    path: Path
    before: str
    after: str
    newline: str

    def with_block(self, block: str) -> str:
        """The whole page with this block between the markers."""
        lines = ["", *block.strip("\n").splitlines(), ""]
        return self.before + "".join(f"{line}{self.newline}" for line in lines) + self.after


def load_page(path: Path) -> Page:
    """The page, found fit to be written. Raises SettingsError for one that is missing, not UTF-8 or without markers."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return split_page(path, file.read())
    except FileNotFoundError as error:
        raise SettingsError(f"{path} does not exist; --write changes a page that has the two markers") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error


def split_page(path: Path, text: str) -> Page:
    """The page split at its markers: each once, alone on its line, in order, outside code. Raises SettingsError."""
    lines = list(io.StringIO(text, newline=""))
    places = {marker: _places(lines, marker) for marker in (START, END)}
    for marker, found in places.items():
        if len(found) != 1:
            seen = "no line" if not found else f"lines {' and '.join(str(place + 1) for place in found)}"
            raise SettingsError(f"{path}: {seen} with {marker} alone and outside code, expected exactly one")
    start, end = places[START][0], places[END][0]
    if end < start:
        raise SettingsError(f"{path}: {END} in line {end + 1} comes before {START} in line {start + 1}")
    newline = lines[start][len(lines[start].rstrip("\r\n")) :]
    return Page(path, "".join(lines[: start + 1]), "".join(lines[end:]), newline)


def write_page(page: Page, block: str) -> None:
    """Write the page with the block. Raises SettingsError when the file cannot be written."""
    try:
        with page.path.open("w", encoding="utf-8", newline="") as file:
            file.write(page.with_block(block))
    except OSError as error:
        raise SettingsError(f"{page.path} cannot be written: {error}") from error


def _places(lines: list[str], marker: str) -> list[int]:
    """Numbers of the lines that are the marker, from 0, outside fenced and indented code."""
    found: list[int] = []
    fence = ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line.rstrip("\r\n"))
        if fence:
            # A fence closes with the same character, at least as long, and nothing after it (CommonMark 4.5).
            closes = match and match["mark"].startswith(fence) and not match["rest"].strip()
            fence = "" if closes else fence
        elif match and not (match["mark"][0] == "`" and "`" in match["rest"]):
            fence = match["mark"]
        elif line.lstrip("\ufeff").strip() == marker and not _is_indented(line):
            found.append(number)
    return found


def _is_indented(line: str) -> bool:
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    return "\t" in margin or len(margin) >= _MARGIN
