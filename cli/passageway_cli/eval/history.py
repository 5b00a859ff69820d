"""The runs behind a page: one JSON file beside it, one entry a day, model, threshold and version."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from passageway.errors import SettingsError
from passageway_cli.eval.measurement import Occasion, Subject

SHOWN = 10
"""Runs that the table on the page has."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run. Rates from 0 to 1, None when there was no question for them; `silence_by_group` by group label."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    date: str
    version: str
    embedder: str
    threshold: float
    questions: int
    hit_at_3: float | None
    silence: float | None
    p95_ms: float | None
    mrr: float | None = None
    false_silence: float | None = None
    near_miss: float | None = None
    silence_by_group: dict[str, float | None] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, float, str]:
        """What makes two runs the same one, done again."""
        return self.date, self.embedder, self.threshold, self.version


def history_path(page: Path) -> Path:
    """`measurements.history.json` beside `measurements.md`."""
    return page.with_name(f"{page.stem}.history.json")


def entry_of(subject: Subject, occasion: Occasion) -> Entry:
    """The line that a run leaves in the history."""
    measured, metrics = subject.measured, subject.measured.metrics
    return Entry(
        date=occasion.date,
        version=occasion.version,
        embedder=subject.label,
        threshold=measured.threshold,
        questions=metrics.questions,
        hit_at_3=_rounded(metrics.hit_at_3.value),
        silence=_rounded(metrics.silence.value),
        p95_ms=None if metrics.latency is None else round(metrics.latency.p95.value_ms, 2),
        mrr=_rounded(metrics.mrr.value),
        false_silence=_rounded(metrics.false_silence.value),
        near_miss=None if measured.near_miss is None else _rounded(measured.near_miss.value),
        silence_by_group={group.name: _rounded(group.metrics.silence.value) for group in measured.silence_groups},
    )


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    runs: tuple[Entry, ...]


def load_history(path: Path) -> tuple[Entry, ...]:
    """The runs in the file, oldest first; none when there is no file yet. Raises SettingsError for a broken one."""
    try:
        return _File.model_validate_json(path.read_bytes()).runs
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        problem = ": ".join((*map(str, first["loc"]), first["msg"]))
        raise SettingsError(f"{path} is no history of runs ({problem}); mend it or delete it") from None


def with_entries(history: Sequence[Entry], new: Sequence[Entry]) -> tuple[Entry, ...]:
    """The history with the new runs at its end; one that was there before with the same key gives way."""
    keys = {entry.key for entry in new}
    return (*(entry for entry in history if entry.key not in keys), *new)


def write_history(path: Path, history: Sequence[Entry]) -> None:
    """Write the file, one key a line, so that a diff shows a run. Raises SettingsError."""
    runs = orjson.dumps({"runs": [asdict(entry) for entry in history]}, option=orjson.OPT_INDENT_2)
    try:
        path.write_bytes(runs + b"\n")
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error}") from error


def _rounded(value: float | None) -> float | None:
    """Six digits: enough to tell any two shares of a million questions apart, and no float noise in a diff."""
    return None if value is None else round(value, 6)
