"""Formulas in plain text extracts: MediaWiki leaves each as a column of single letters before its TeX source."""

import re

MAX_FORMULA_CHARS = 300
"""A longer one tells a reader little and fills a passage."""

_START = re.compile(r"\{\\(?:display|text|script|scriptscript)style\b ?")
_BRACE = re.compile(r"\\.|[{}]|\n\s*\n", re.S)
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*")
# What a formula without a TeX source leaves: indented lines of at most two letters.
_COLUMN = re.compile(r"(?:^[ \t]++\S{0,2}[ \t]*+\n|^\n){3,}", re.M)
_BLANKS = re.compile(r"\n(?:[ \t]*+\n){2,}")


def with_plain_formulas(text: str) -> str:
    """The text with each formula as its TeX source alone: in its sentence or, where it stood apart, on its own line."""
    parts: list[str] = []
    position = 0
    while match := _START.search(text, position):
        parts.append(_before(text[position : match.start()]))
        end = _closing_brace(text, match.start())
        source = " ".join(text[match.end() : end].split())
        parts.append(source if len(source) <= MAX_FORMULA_CHARS else "[formula]")
        separator, position = _after(text, end + 1 if text.startswith("}", end) else end)
        parts.append(separator)
    parts.append(text[position:])
    return _BLANKS.sub("\n\n", _COLUMN.sub("\n", "".join(parts))).strip("\n").rstrip()


def _before(text: str) -> str:
    """The text without the column at its end, and what parts it from the formula."""
    lines = text.split("\n")
    if lines[-1].strip():
        return text
    while lines and (not lines[-1].strip() or lines[-1].startswith("  ")):
        lines.pop()
    kept = "\n".join(lines).rstrip()
    if not kept:
        return ""
    return f"{kept}\n" if text[len(kept) :].startswith("\n\n") else f"{kept} "


def _after(text: str, position: int) -> tuple[str, int]:
    """What parts the formula that ends at `position` from the text after it, and where that text starts."""
    blank = _BLANK_LINES.match(text, position)
    start = blank.end() if blank else position
    gap = text[position:start]
    if text.startswith(" ", start) and not text.startswith("  ", start):
        start += 1
        gap += " "
    if "\n\n" in gap:
        return "\n", start
    return " " if gap and text[start : start + 1] not in tuple(".,;:!?)]") else "", start


def _closing_brace(text: str, opening: int) -> int:
    """Where the brace at `opening` closes, or the end of the paragraph when it never does."""
    depth = 0
    for match in _BRACE.finditer(text, opening):
        if match[0].isspace():
            return match.start()
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(text)
