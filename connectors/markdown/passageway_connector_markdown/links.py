"""Links between notes: which notes a text may point at, and which note a link means."""

import html
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

# A destination without angle brackets holds no space, and parentheses only in pairs
# (spec.commonmark.org/0.31.2/#links); two levels of them are enough for file names.
_PLAIN = r"\\\S|[^\s()\\]"
_BARE = rf"(?!<)(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))+"
# Between a bracket and its destination there may be a line's end, and in a quotation the `>` of the next line.
_DESTINATION = rf"[\s>]*(?:<([^<>\n]*)>|({_BARE}))"
_WIKI = re.compile(r"\[\[(?=([^\[\]\n]+)\]\])")
_INLINE = re.compile(rf"\]\((?={_DESTINATION})")
_DEFINITION = re.compile(rf"^[ \t>*+-]{{0,40}}\[(?:\\.|[^\[\]\\]){{1,999}}\]:{_DESTINATION}", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_OTHER_PLACE = re.compile(r"[a-z][a-z0-9+.-]+:|//", re.IGNORECASE)

_ENDINGS = ("", ".md", ".markdown", ".mdx")
_FOLDER_NOTES = ("README.md", "index.md", "_index.md")


class Target(NamedTuple):
    """What a link names: the file name or path of a `[[wiki link]]`, or the destination of a `[text](link)`."""

    is_wiki: bool
    text: str


def wiki_target(inner: str) -> Target:
    """The target of `[[inner]]`: without the words to show and without the place inside the note."""
    # In a table the bar before the words to show is escaped.
    return Target(True, inner.split("|")[0].removesuffix("\\").split("#")[0].strip())


def candidates(text: str) -> set[Target]:
    """All that may be the target of a link in the text, quickly and without a look at what is code or a comment.

    The version of a note covers these, so that it need not be parsed to see whether it changed.
    """
    found = {wiki_target(inner) for inner in _WIKI.findall(text)}
    for pattern in (_INLINE, _DEFINITION):
        for bracketed, bare in pattern.findall(text):
            found.add(Target(False, _ESCAPE.sub(r"\1", html.unescape(bracketed or bare))))
    return found


class Names:
    """The notes of a folder by the names that links use. Unicode form never counts, case only where it must."""

    def __init__(self, ids: Iterable[tuple[str, str]]):
        """From pairs (name below the folder, id)."""
        self._ids: dict[str, str] = {}
        self._by_path: dict[str, str] = {}
        self._by_word: dict[str, list[str]] = {}
        for name, item_id in sorted(ids, key=lambda pair: (pair[0].count("/"), pair[0].casefold(), pair[0])):
            self._ids[name] = item_id
            path = _folded(name)
            self._by_path.setdefault(path, name)
            last = posixpath.basename(path)
            for word in {last, posixpath.splitext(last)[0]}:
                self._by_word.setdefault(word, []).append(name)

    def linked_ids(self, targets: Iterable[Target], name: str) -> list[str]:
        """The ids of the notes that the targets in note `name` mean: each once, in order, never its own."""
        found = (self._find(target, posixpath.dirname(name)) for target in targets)
        ids = dict.fromkeys(self._ids[other] for other in found if other is not None and other != name)
        return list(ids)

    def _find(self, target: Target, folder: str) -> str | None:
        return self._find_wiki(target.text, folder) if target.is_wiki else self._find_path(target.text, folder)

    def _find_path(self, destination: str, folder: str) -> str | None:
        """The note at the address, relative to the folder or, with a `/` first, to the top."""
        address = re.split(r"[#?]", destination, maxsplit=1)[0]
        if not address or _OTHER_PLACE.match(address):
            return None
        for path in dict.fromkeys((unquote(address), address)):
            if found := self._at(_joined(folder, path)):
                return found
        return None

    def _at(self, path: str | None) -> str | None:
        if path is None:
            return None
        spellings = [path + ending for ending in _ENDINGS]
        spellings += [posixpath.join(path, note) for note in _FOLDER_NOTES]
        return next(filter(None, map(self._spelled, spellings)), None)

    def _spelled(self, path: str) -> str | None:
        """The note of that path: the very one, else one that differs in case or Unicode form."""
        return path if path in self._ids else self._by_path.get(_folded(path))

    def _find_wiki(self, text: str, folder: str) -> str | None:
        """A path from the top, a path from here, the end of a path, or a file name: nearest note first."""
        if not text:
            return None
        if "/" in text:
            places = ("", folder) if not text.startswith(("./", "../")) else (folder,)
            for place in places:
                if found := self._at(_joined(place, text)):
                    return found
        word = _folded(text)
        named = self._by_word.get(posixpath.basename(word), [])
        if "/" in word:
            named = [name for name in named if _ends_with(_folded(name), word)]
        return min(named, key=lambda name: posixpath.dirname(name) != folder, default=None)


def _joined(folder: str, path: str) -> str | None:
    """The path from the top, or None when it leaves the folder."""
    joined = posixpath.normpath(path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path))
    if joined == ".":
        return ""
    return None if joined == ".." or joined.startswith("../") else joined


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _ends_with(path: str, end: str) -> bool:
    return any(f"/{spelling}".endswith(f"/{end}") for spelling in (path, posixpath.splitext(path)[0]))
