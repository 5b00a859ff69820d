"""What a reader of the rendered page does not see: comments, and files embedded as base64."""

import re

_OPENING = re.compile(r"\\[\s\S]|`+|<!--|(?<!\d)%%|\{/\*")
_CLOSING = {"<!--": "-->", "%%": "%%", "{/*": "*/}"}
_EMBEDDED = re.compile(r"(data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,)[A-Za-z0-9+/=]{200,}")
_MARKS = ("<!--", "%%", "{/*", ";base64,")


def may_hide(text: str) -> bool:
    """Whether there is anything for the functions below to remove."""
    return any(mark in text for mark in _MARKS)


def without_hidden(text: str, *, is_mdx: bool = False) -> str:
    """Inline text without its comments, code spans kept: HTML, `%%` of Obsidian and, in MDX, braces.

    A comment that is not closed is text.
    """
    kept = []
    position = 0
    closers = _Closers(text)
    while opening := _OPENING.search(text, position):
        mark = opening.group()
        kept.append(text[position : opening.start()])
        position = opening.end()
        if mark[0] == "`":
            end = closers.end_of_code(opening.start(), opening.end())
        elif mark in _CLOSING and (is_mdx or mark != "{/*"):
            # `<!-->` is a whole comment, so the end may share the dashes.
            end = closers.end_of(_CLOSING[mark], opening.start() + 2 if mark == "<!--" else opening.end())
        else:
            end = None
        if end is None:
            kept.append(mark)
        else:
            kept.append(text[opening.start() : end] if mark[0] == "`" else "")
            position = end
    kept.append(text[position:])
    return "".join(kept)


def without_html_comments(block: str) -> str:
    """A block of HTML without its comments; one that is not closed reaches to the end, as in a browser."""
    return re.sub(r"<!--(?:-?>|[\s\S]*?(?:-->|\Z))", "", block)


def without_percent_comment(block: str) -> str:
    """What stands behind a block comment on its last line."""
    return block.split("%%", 2)[2]


def without_embedded_files(line: str) -> str:
    """The line with `…` for the data of `data:` addresses."""
    return _EMBEDDED.sub(r"\1…", line) if ";base64," in line else line


class _Closers:
    """Finds where things end, and remembers what is not there, so that a text of openings takes linear time."""

    def __init__(self, text: str):
        self._text = text
        self._missing: set[str] = set()
        self._code_ends: dict[int, list[int]] | None = None

    def end_of(self, closing: str, start: int) -> int | None:
        """Where the next `closing` from `start` on ends."""
        if closing in self._missing:
            return None
        found = self._text.find(closing, start)
        if found == -1:
            self._missing.add(closing)
            return None
        return found + len(closing)

    def end_of_code(self, start: int, end: int) -> int | None:
        """Where the code span ends that the backticks from `start` to `end` open: at the next run of that length."""
        if self._code_ends is None:
            self._code_ends = {}
            for run in re.finditer("`+", self._text):
                self._code_ends.setdefault(len(run.group()), []).append(run.end())
            for ends in self._code_ends.values():
                ends.reverse()
        ends = self._code_ends.get(end - start, [])
        while ends and ends[-1] <= end:
            ends.pop()
        return ends[-1] if ends else None
