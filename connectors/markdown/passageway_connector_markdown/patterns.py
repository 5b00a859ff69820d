"""Glob patterns for INCLUDE and EXCLUDE."""

import re
import unicodedata
from dataclasses import dataclass

_WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class Patterns:
    """Alternatives that match paths relative to the folder, `/` between the parts.

    `*` and `?` stay within one part, `**` crosses folders. A pattern without `/` is about the file's name at any
    depth; one with `/` starts at the folder. Case counts, Unicode form does not.
    """

    files: re.Pattern[str]
    folders: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> "Patterns":
        """The patterns in `text`, separated by `|`; none when it holds none."""
        patterns = [_anchored(part.strip()) for part in unicodedata.normalize("NFC", text).split("|") if part.strip()]
        whole_folders = [pattern.removesuffix("/**") for pattern in patterns if pattern.endswith("/**")]
        return cls(_any_of(patterns), _any_of(whole_folders))

    def match(self, path: str) -> bool:
        """Whether a pattern matches the file."""
        return self.files.fullmatch(unicodedata.normalize("NFC", path)) is not None

    def match_all_in(self, folder: str) -> bool:
        """Whether a pattern such as `drafts/**` matches every file below the folder."""
        return self.folders.fullmatch(unicodedata.normalize("NFC", folder)) is not None


def _anchored(pattern: str) -> str:
    if "/" not in pattern:
        return f"**/{pattern}"
    pattern = pattern.removeprefix("./").lstrip("/")
    return f"{pattern}**" if pattern.endswith("/") else pattern


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(_regex(pattern) for pattern in patterns) or r"(?!)", re.DOTALL)


def _regex(pattern: str) -> str:
    # `**/**/` says no more than `**/`, and as a regular expression it would backtrack.
    pattern = re.sub(r"(\*\*/)+", "**/", pattern)
    parts = []
    position = 0
    for wildcard in _WILDCARD.finditer(pattern):
        parts += [re.escape(pattern[position : wildcard.start()]), _MEANING[wildcard.group()]]
        position = wildcard.end()
    return "".join([*parts, re.escape(pattern[position:])])
