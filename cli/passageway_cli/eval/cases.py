"""The cases file: questions, the answers that count as right, and the targets. Checked key by key."""

import difflib
import logging
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from passageway.errors import SettingsError
from passageway_cli.eval.targets import Target, target

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Case:
    """One question. Without `expect` and `expect_id` it is one that must stay unanswered. `number` counts from 1."""

    number: int
    query: str
    expect: tuple[str, ...] = ()
    expect_id: tuple[str, ...] = ()
    group: str | None = None

    @property
    def answerable(self) -> bool:
        """Whether some answer is accepted at all."""
        return bool(self.expect or self.expect_id)

    def accepts(self, item_id: str, texts: Iterable[str | None]) -> bool:
        """Whether the id is listed, or a listed text is part of one of `texts` (title, address, heading)."""
        if item_id in self.expect_id:
            return True
        folded = [folded_text(text) for text in texts if text]
        return any(part in text for part in self.folded_expect() for text in folded)

    def folded_expect(self) -> tuple[str, ...]:
        """The listed texts as they are compared with others."""
        return tuple(folded_text(part) for part in self.expect)


@dataclass(frozen=True, slots=True)
class CasesFile:
    """A whole cases file, in its order."""

    cases: tuple[Case, ...]
    targets: tuple[Target, ...] = ()


def folded_text(text: str) -> str:
    """The text as it is compared: case and the two ways to write an accented letter make no difference."""
    return unicodedata.normalize("NFC", text).casefold()


def load_cases(path: Path) -> CasesFile:
    """The cases in the file. Raises SettingsError when it is missing, not UTF-8 or wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SettingsError(f"{path} does not exist; it should be a TOML file with one [[case]] a question") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    return parse_cases(text, str(path))


def parse_cases(text: str, where: str = "cases.toml") -> CasesFile:
    """The cases in TOML text. Raises SettingsError with every problem, by number of the case and never quoting one."""
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{where}: not valid TOML: {error}") from error
    try:
        file = _File.model_validate(tables)
    except ValidationError as error:
        problems = "; ".join(_problem(detail["loc"], detail["msg"], detail["type"]) for detail in error.errors())
        raise SettingsError(f"{where}: {problems}") from None
    if not file.case:
        raise SettingsError(f"{where}: no [[case]] in it, so there is nothing to ask")
    cases = tuple(
        Case(number, table.query, tuple(table.expect or ()), tuple(table.expect_id or ()), table.group)
        for number, table in enumerate(file.case, 1)
    )
    _warn_of_repeats(cases, where)
    return CasesFile(cases, _targets(file.targets, where))


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def _some(texts: list[str]) -> list[str]:
    if not texts:
        raise ValueError("is empty; leave the key out when nothing should be found")
    return texts


_Text = Annotated[str, AfterValidator(_not_blank)]
_Texts = Annotated[list[_Text], AfterValidator(_some)]


class _Case(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query: _Text
    expect: _Texts | None = None
    expect_id: _Texts | None = None
    group: _Text | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    targets: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
    case: list[_Case] = []


_EXPECTED = {
    "missing": "missing",
    "string_type": "expected a text in quotes",
    "list_type": "expected a list of texts in brackets",
    "model_type": "expected a table",
    "dict_type": "expected a table",
}
"""What to say of a wrong type, in the words of a TOML file."""


def _problem(place: tuple[int | str, ...], message: str, kind: str) -> str:
    """`case 3: expct: unknown key, did you mean 'expect'?`"""
    parts: list[str] = []
    for key in place:
        if isinstance(key, int):
            parts[-1:] = [f"{parts[-1]} {key + 1}"]
        else:
            parts.append(key)
    if place == ("case",) and kind == "list_type":
        return "case: expected [[case]] for each question, with two brackets"
    if kind == "extra_forbidden":
        known = (_Case if len(parts) > 1 else _File).model_fields
        near = difflib.get_close_matches(parts[-1], list(known), 1)
        message = f"unknown key, did you mean {near[0]!r}?" if near else f"unknown key, expected {', '.join(known)}"
    return f"{': '.join(parts)}: {_EXPECTED.get(kind, message.removeprefix('Value error, '))}"


def _targets(values: Mapping[str, float], where: str) -> tuple[Target, ...]:
    try:
        return tuple(target(name, value) for name, value in values.items())
    except SettingsError as error:
        raise SettingsError(f"{where}: targets: {error}") from None


def _warn_of_repeats(cases: tuple[Case, ...], where: str) -> None:
    first: dict[str, int] = {}
    for case in cases:
        earlier = first.setdefault(folded_text(case.query.strip()), case.number)
        if earlier != case.number:
            logger.warning("%s: case %d asks what case %d asks; it counts twice", where, case.number, earlier)
