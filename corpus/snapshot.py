"""Write a corpus of Wikipedia articles: one markdown file an article, with the revision it was taken from.

Make one, then take the same articles anew:

    OUT=sails CATEGORIES=Sailing LIMIT=30 .venv/bin/python corpus/snapshot.py
    OUT=sails TITLES="$(paste -sd'|' sails/titles.txt)" FORCE=1 .venv/bin/python corpus/snapshot.py

The settings are those of the Wikipedia connector and three more: OUT is the folder to write, LIMIT keeps the longest
articles only, FORCE=1 allows to replace a folder that is there. A run that fails leaves the old files as they were.
"""

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passageway_connector_wikipedia import Wikipedia
from passageway_sdk import SettingsError, SourceError
from passageway_sdk.web import flag, required, whole_number

LICENCE = "CC BY-SA 4.0"
TITLES, ATTRIBUTION = "titles.txt", "ATTRIBUTION.txt"

_PLAIN_VALUE = re.compile(r"[^\W\d_](?:[\w ()/&+.'’–-]*[\w)])?")
_YAML_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
# A line that belongs to the one above it: of a table, a list, code.
_BLOCK_LINE = re.compile(r"\s*(?:\||[-*] |\d+\. |```)|\s{2,}")
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "ł": "l", "đ": "d"})


@dataclass(frozen=True, slots=True)
class Article:
    """An article as the corpus keeps it."""

    title: str
    url: str
    revision: str
    updated: str
    """The day of the revision, such as 2026-11-30, or an empty string."""
    body: str


def main(env: Mapping[str, str]) -> int:
    """The exit code: 0, 1 when the wiki failed, 2 when a setting is wrong."""
    try:
        out = Path(required(env, "OUT", "the folder to write"))
        limit = whole_number(env, "LIMIT", 0)
        _raise_unless_replaceable(out, force=flag(env, "FORCE", False))
        articles = _longest(_articles(env), limit)
        _replace(out, articles)
    except (SettingsError, SourceError) as error:
        print(f"snapshot: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{out}: {len(articles)} articles, {sum(len(article.body.split()) for article in articles)} words")
    return 0


def _articles(env: Mapping[str, str]) -> list[Article]:
    wiki = Wikipedia(env)
    ids = list(wiki.versions())
    return [_article(item) for item in wiki.fetch(ids)]


def _article(item: Mapping[str, Any]) -> Article:
    return Article(
        title=item["title"],
        url=item["url"],
        revision=item["version"],
        updated=item.get("updated", "")[:10],
        body="\n\n".join(_body(item["title"], item["sections"])),
    )


def _body(title: str, sections: Sequence[Mapping[str, str | None]]) -> Iterator[str]:
    """The blocks of the file below its front matter. Sections of one heading in a row are the pieces of a long one."""
    yield f"# {title}"
    above: list[str] = []
    for section in sections:
        trail = (section["heading"] or "").split(" › ") if section["heading"] else []
        shared = 0
        while shared < min(len(trail), len(above)) and trail[shared] == above[shared]:
            shared += 1
        for depth in range(shared, len(trail)):
            yield f"{'#' * (depth + 2)} {trail[depth]}"
        above = trail
        yield "\n".join(_paragraphs(section["text"] or ""))


def _paragraphs(text: str) -> Iterator[str]:
    """The lines with a blank one between paragraphs, of which an extract has one a line."""
    previous = ""
    fenced = False
    for line in text.split("\n"):
        in_block = fenced or _BLOCK_LINE.match(line) is not None
        if previous.strip() and line.strip() and not in_block and not _BLOCK_LINE.match(previous):
            yield ""
        yield f"\\{line}" if re.match(r"#{1,6}(?: |$)|---+$", line) and not fenced else line
        fenced ^= line.lstrip().startswith("```")
        previous = line


def _longest(articles: Sequence[Article], limit: int) -> list[Article]:
    """The longest ones, as many as the limit says, by title; a limit of 0 keeps all."""
    kept = sorted(articles, key=lambda article: -len(article.body))[: limit or None]
    return sorted(kept, key=lambda article: article.title.casefold())


def _raise_unless_replaceable(out: Path, *, force: bool) -> None:
    """A folder is replaced as a whole, so it must be one that this script could have written."""
    if not out.exists():
        return
    if not out.is_dir():
        raise SettingsError(f"OUT is {str(out)!r}, which is a file; expected a folder")
    names = sorted(path.name for path in out.iterdir())
    strange = [name for name in names if not (name.endswith(".md") or name in (TITLES, ATTRIBUTION))]
    if strange:
        raise SettingsError(
            f"OUT is {str(out)!r}, which holds more than a corpus ({strange[0]!r}); name another folder"
        )
    if names and not force:
        raise SettingsError(f"OUT is {str(out)!r}, which is not empty; set FORCE=1 to replace what is in it")


def _replace(out: Path, articles: Sequence[Article]) -> None:
    """Write beside the folder first, then change places."""
    fresh, old = out.with_name(f"{out.name}.new"), out.with_name(f"{out.name}.old")
    for left_over in (fresh, old):
        if left_over.exists():
            raise SettingsError(
                f"{str(left_over)!r} is in the way, left by a run that was cut short; look and remove it"
            )
    fresh.mkdir(parents=True)
    try:
        _write(fresh, articles)
        if out.exists():
            out.rename(old)
        fresh.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write(folder: Path, articles: Sequence[Article]) -> None:
    taken: set[str] = set()
    for article in articles:
        name = _file_name(article.title, taken)
        taken.add(name)
        (folder / name).write_text(_file(article), encoding="utf-8", newline="\n")
    titles = "".join(f"{article.title}\n" for article in articles)
    (folder / TITLES).write_text(titles, encoding="utf-8", newline="\n")
    (folder / ATTRIBUTION).write_text(_attribution(articles), encoding="utf-8", newline="\n")


def _file(article: Article) -> str:
    front = {"title": article.title, "url": article.url, "revision": article.revision}
    front |= {"updated": article.updated} if article.updated else {}
    front |= {"licence": LICENCE}
    lines = [f"{key}: {_yaml(value)}" for key, value in front.items()]
    return "\n".join(["---", *lines, "---", article.body]).rstrip() + "\n"


def _yaml(value: str) -> str:
    """The value as a YAML reader takes it for text; JSON's strings are YAML's too. Dates and numbers stay bare."""
    bare = _PLAIN_VALUE.fullmatch(value) and value.lower() not in _YAML_WORDS
    if bare or re.fullmatch(r"https?://[^\s#]+|[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _attribution(articles: Sequence[Article]) -> str:
    lines = [f"{article.title}: {article.url}, revision {article.revision}" for article in articles]
    head = f"Articles of Wikipedia by its authors, who are named in each article's history. Licence: {LICENCE}."
    return "\n".join([head, "", *lines]) + "\n"


def _file_name(title: str, taken: set[str]) -> str:
    """`backpropagation.md`: the title in small ASCII letters, with a number when another article has that name."""
    decomposed = unicodedata.normalize("NFKD", title.lower().translate(_LETTERS))
    letters = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-") or "article"
    name, number = f"{slug}.md", 1
    while name in taken:
        number += 1
        name = f"{slug}-{number}.md"
    return name


if __name__ == "__main__":
    sys.exit(main(os.environ))
