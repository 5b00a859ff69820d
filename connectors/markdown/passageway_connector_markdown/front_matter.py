"""The block of metadata at the start of a file: YAML between `---` lines, or TOML between `+++` lines."""

import re
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NamedTuple

MAX_BLOCK_CHARACTERS = 65536
"""A longer block is no front matter. Real ones hold a few hundred characters; parsers take seconds for megabytes."""

MAX_WEIGHT = 2.0

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"[\"']?\w[\w.$ -]{0,80}[\"']?[ \t]*:(?:[ \t]|$)")
_ADDRESS = re.compile(r"(?!(?:javascript|data|vbscript):)[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)

Values = dict[str, "str | list[str | None] | None"]
"""A key's text, a list of texts, or None for a null or a nested value. All scalars stay as they are written."""


class Block(NamedTuple):
    """The source of the front matter and where the document behind it starts; `syntax` is "yaml" or "toml"."""

    syntax: str
    source: str
    end: int


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the keys say. None, or nothing, where a key is missing or unusable; `problems` says which were."""

    title: str | None = None
    url: str | None = None
    updated: str | None = None
    id: str | None = None
    labels: tuple[str, ...] = ()
    weight: float = 1.0
    is_drawing: bool = False
    """An Excalidraw drawing, whose file holds its compressed data beside the words."""
    end: int = 0
    """Where the document starts in the text."""
    problems: list[str] = field(default_factory=list)


class _Invalid(Exception):
    """The block cannot be parsed, and why."""


def find_block(text: str) -> Block | None:
    """The block the text starts with, or None."""
    for syntax, pattern in (("yaml", _YAML), ("toml", _TOML)):
        found = pattern.match(text)
        if found and found.end(1) - found.start(1) <= MAX_BLOCK_CHARACTERS:
            return Block(syntax, found.group(1), found.end())
    return None


def read_front_matter(text: str) -> FrontMatter:
    """What the front matter of the text says, defaults when it has none."""
    block = find_block(text)
    if block is None:
        return FrontMatter()
    try:
        values = _parse_toml(block.source) if block.syntax == "toml" else _parse_yaml(block.source)
    except _Invalid as error:
        if block.syntax == "yaml" and not _starts_with_key(block.source):
            return FrontMatter()
        return FrontMatter(
            end=block.end, problems=[f"front matter is not valid {block.syntax.upper()} and not used: {error}"]
        )
    return FrontMatter() if values is None else _interpret(values, block.end)


def declared_id(text: str) -> str | None:
    """The `id` in the front matter of the text, or None. Costs a parse only where the word stands in the block."""
    block = find_block(text)
    return read_front_matter(text).id if block and re.search(r"\bid\b", block.source) else None


def _starts_with_key(source: str) -> bool:
    """Whether a block that is no YAML was meant to be: prose between two rules seldom starts with `word:`."""
    lines = (line.strip() for line in source.split("\n"))
    return _KEY.match(next((line for line in lines if line and not line.startswith("#")), "")) is not None


def _interpret(values: Values, end: int) -> FrontMatter:
    problems: list[str] = []
    url = _text(values, "url", problems)
    if url is not None and not _ADDRESS.fullmatch(url):
        problems.append(f"url is {url!r}, expected an address such as https://example.org/page; it is not used")
        url = None
    return FrontMatter(
        title=_text(values, "title", problems),
        url=url,
        updated=_text(values, "updated", problems),
        id=_text(values, "id", problems),
        labels=tuple(dict.fromkeys(_labels(values, "tags", problems) + _labels(values, "tag", problems))),
        weight=_weight(values, problems),
        is_drawing="excalidraw-plugin" in values,
        end=end,
        problems=problems,
    )


def _text(values: Values, key: str, problems: list[str]) -> str | None:
    value = values.get(key)
    if isinstance(value, list):
        problems.append(f"{key} is a list, expected a text; it is not used")
        return None
    return " ".join(value.split()) or None if value else None


def _labels(values: Values, key: str, problems: list[str]) -> list[str]:
    value = values.get(key)
    parts = value.split(",") if isinstance(value, str) else value or []
    if None in parts:
        problems.append(f"{key} holds something that is no text; that entry is not used")
    labels = [" ".join(part.split()).lstrip("#").strip() for part in parts if part is not None]
    return [label for label in labels if label]


def _weight(values: Values, problems: list[str]) -> float:
    text = _text(values, "weight", problems)
    if text is None:
        return 1.0
    try:
        weight = float(text)
    except ValueError:
        weight = float("nan")
    if isfinite(weight) and 0 <= weight <= MAX_WEIGHT:
        return weight
    problems.append(f"weight is {text!r}, expected a number from 0 to 2; the default of 1 is used")
    return 1.0


def _parse_yaml(source: str) -> Values | None:
    """The mapping in a YAML block, or None when it is another kind of text, such as prose between two rules."""
    # Imported here because a folder without front matter has no use for the 20 ms it takes.
    import yaml  # type: ignore[import-untyped]

    try:
        node = yaml.compose(source, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise _Invalid(_yaml_problem(error)) from error
    except RecursionError as error:
        raise _Invalid("it is nested too deeply") from error
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        return None
    return {key.value: _yaml_value(value) for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _yaml_problem(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).split("\n")[0]
    # The block's first line is the second one of the file.
    return f"line {mark.line + 2}: {problem}" if mark else problem


def _yaml_value(node: Any) -> str | list[str | None] | None:
    if node.id == "scalar":
        return _yaml_text(node)
    if node.id == "sequence":
        return [_yaml_text(entry) if entry.id == "scalar" else None for entry in node.value if not _is_null(entry)]
    return None


def _yaml_text(node: Any) -> str | None:
    # An escape may name half of a surrogate pair, which no encoding of a record can hold.
    text: str = node.value.encode("utf-8", "replace").decode("utf-8")
    return None if _is_null(node) else text


def _is_null(node: Any) -> bool:
    """Whether it is an empty value or an unquoted null of YAML's core schema."""
    return node.id == "scalar" and not node.style and node.value in {"", "~", "null", "Null", "NULL"}


def _parse_toml(source: str) -> Values:
    try:
        return {key: _toml_value(value) for key, value in tomllib.loads(source, parse_float=str).items()}
    except ValueError as error:  # TOMLDecodeError is one; so is a number of more digits than Python writes
        raise _Invalid(str(error)) from error
    except RecursionError as error:
        raise _Invalid("it is nested too deeply") from error


def _toml_value(value: Any) -> str | list[str | None] | None:
    if isinstance(value, list):
        return [_toml_text(entry) for entry in value]
    return _toml_text(value)


def _toml_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, str | int) else None
