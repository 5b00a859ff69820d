"""A file for language models into its pages: where one starts, what it is called, where it is on the site.

Files come in four forms, told apart by what they hold outside code:

* blocks of front matter with a `url:`, each before a page (the llms plugin of VitePress);
* headings of the form `# Source: https://…`, each before a page with a heading of its own (GitBook);
* level-1 headings, with `Source: https://…` in the line below (Mintlify) or without.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from passageway_connector_llmstxt.links import resolved
from passageway_sdk.markdown import Line, scan
from passageway_sdk.web import host_of

FRONT_MATTER_LINES = 100
"""A block longer than this is text between two rules."""

_URL_KEY = re.compile(r"url:\s*(\S.*?)\s*")
_TITLE_KEY = re.compile(r"title:\s*(\S.*?)\s*")
_KEY_LINE = re.compile(r"[\w.$-]+\s*:(?:\s.*)?|\s+.*|-(?:\s.*)?|#.*|")
_SOURCE = re.compile(r"(?:source|url):\s*<?(https?://[^\s<>]+|/[^\s<>]*)>?\s*", re.I)
_NO_SLUG = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a file. `key` tells it from the others, `address` is where it is on the site, None for nowhere else."""

    key: str
    title: str
    address: str | None
    lines: Sequence[Line]

    @property
    def text(self) -> str:
        """Joined when it is asked for: all pages at once would hold a large file in memory a second time."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a page starts: its first line, and what was said about it there."""

    line: int
    url: str | None = None


def pages_of(text: str, file_address: str) -> list[Page]:
    """The pages of a file in their order, each with another key. Those without a title and text are left out."""
    lines = list(scan(text))
    front, title = _front_matter(lines)
    starts = list(_url_blocks(lines)) or list(_source_headings(lines))
    if starts:
        before = _by_heading(lines[front : starts[0].line], title or _name_of(file_address), file_address)
        found = before + [_located(page, file_address) for page in _between(lines, starts)]
    else:
        found = _by_heading(lines[front:], title or _name_of(file_address), file_address)
    return list(_with_own_keys(found))


def _front_matter(lines: Sequence[Line]) -> tuple[int, str | None]:
    """How many lines at the top are front matter without a page's address, and the title it gives."""
    end = _block_end(lines, 0)
    if end is None:
        return 0, None
    inside = [line.text for line in lines[1:end]]
    if not all(_KEY_LINE.fullmatch(line) for line in inside) or any(_URL_KEY.fullmatch(line) for line in inside):
        return 0, None
    title = next((match[1].strip("'\" ") for match in map(_TITLE_KEY.fullmatch, inside) if match), None)
    return end + 1, title


def _block_end(lines: Sequence[Line], start: int) -> int | None:
    """The line that closes the block of front matter opened at `start`, None when none is opened there."""
    if start + 1 >= len(lines) or not _is_rule(lines[start]) or not lines[start + 1].text.strip():
        return None
    last = min(start + FRONT_MATTER_LINES, len(lines))
    return next((number for number in range(start + 1, last) if _is_rule(lines[number])), None)


def _is_rule(line: Line) -> bool:
    return not line.fenced and line.text.rstrip() == "---"


def _url_blocks(lines: Sequence[Line]) -> Iterator[_Start]:
    number = 0
    while number < len(lines):
        end = _block_end(lines, number)
        inside = (line.text for line in lines[number + 1 : end]) if end is not None else ()
        url = next((match[1].strip("'\" ") for match in map(_URL_KEY.fullmatch, inside) if match), None)
        if url and end is not None:
            yield _Start(number, url)
            number = end
        number += 1


def _source_headings(lines: Sequence[Line]) -> Iterator[_Start]:
    for number, line in enumerate(lines):
        if line.level == 1 and (source := _SOURCE.fullmatch(line.title)):
            yield _Start(number, source[1])


def _between(lines: Sequence[Line], starts: Sequence[_Start]) -> Iterator[Page]:
    """The pages that run from one start to the next, however many headings they have."""
    ends = [start.line for start in starts[1:]] + [len(lines)]
    for start, end in zip(starts, ends, strict=True):
        block_end = _block_end(lines, start.line)
        body = _without_rule_at_end(lines[(start.line if block_end is None else block_end) + 1 : end])
        title = _first_heading(body)
        if title or _has_text(body):
            yield Page(start.url or "", title, start.url, body)


def _without_rule_at_end(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without the rule that parts a page from the next one."""
    end = len(lines)
    while end and (not lines[end - 1].text.strip() or _is_rule(lines[end - 1])):
        end -= 1
    return lines[:end]


def _by_heading(lines: Sequence[Line], name: str, file_address: str) -> list[Page]:
    """One page for each level-1 heading, and one for text before the first."""
    starts = [number for number, line in enumerate(lines) if line.level == 1 and line.title.strip()]
    first = lines[: starts[0]] if starts else lines
    found = []
    heading = "" if starts else _first_heading(first)
    if heading or _has_text(first):
        found.append(Page("", heading or name, None, first))
    for start, end in pairwise([*starts, len(lines)]):
        below = lines[start + 1].text.strip() if start + 1 < end else ""
        title = lines[start].title.strip()
        if source := _SOURCE.fullmatch(below):
            body = [lines[start], *lines[start + 2 : end]]
            found.append(_located(Page("", title, source[1], body), file_address))
        else:
            found.append(Page(_slug(title), title, None, lines[start:end]))
    return found


def _located(page: Page, file_address: str) -> Page:
    """The page with its whole address, which loses `.md`, and a key and a title when it has none."""
    address = resolved(page.address or "", file_address)
    if address is None:
        return replace(page, address=None, title=page.title or _name_of(file_address))
    parts = urlsplit(address)
    own = host_of(address) == host_of(file_address)
    key = page.key or (parts.path + (f"?{parts.query}" if parts.query else "") if own else address)
    path = parts.path.removesuffix(".md")
    path = path.removesuffix("index") if path.endswith("/index") else path
    title = page.title or unquote(path.rstrip("/").rpartition("/")[2]).strip() or parts.netloc
    return replace(page, address=parts._replace(path=path).geturl(), key=key, title=title)


def _with_own_keys(pages: Sequence[Page]) -> Iterator[Page]:
    taken: set[str] = set()
    for page in pages:
        key, number = page.key, 1
        while key in taken:
            number += 1
            key = f"{page.key}-{number}"
        taken.add(key)
        yield replace(page, key=key)


def _slug(title: str) -> str:
    """The heading as an anchor, the way GitHub makes one."""
    return _NO_SLUG.sub("", title.lower()).strip().replace(" ", "-") or "section"


def _name_of(address: str) -> str:
    """What to call a file without a heading: its name without the ending, or the host for an llms-full.txt."""
    parts = urlsplit(address)
    name = unquote(parts.path.rpartition("/")[2])
    return parts.netloc if name.lower() in ("", "llms-full.txt", "llms.txt") else name.rpartition(".")[0] or name


def _first_heading(lines: Sequence[Line]) -> str:
    return next((title for line in lines if (title := line.title.strip())), "")


def _has_text(lines: Sequence[Line]) -> bool:
    return any(line.text.strip() and not line.level for line in lines)
