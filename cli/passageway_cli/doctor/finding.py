"""What one look found, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a look went. A warning keeps nothing from working here and now; what was skipped hangs on something else."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` was looked at, what was `seen` there and, unless all is well, what to do."""

    what: str
    state: State
    seen: str
    advice: str = ""


def ok(what: str, seen: str) -> Finding:
    """All is well."""
    return Finding(what, State.OK, seen)


def warning(what: str, seen: str, advice: str) -> Finding:
    """It works, but not as well as it could, or not for everybody."""
    return Finding(what, State.WARNING, seen, advice)


def failed(what: str, seen: str, advice: str) -> Finding:
    """It does not work."""
    return Finding(what, State.FAILED, seen, advice)


def skipped(what: str, seen: str) -> Finding:
    """It could not be looked at."""
    return Finding(what, State.SKIPPED, seen)


def counted(number: int, name: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"
