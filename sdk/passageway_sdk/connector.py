"""The class a connector is a subclass of, and what a call of it does."""

import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, NoReturn, TextIO

from passageway_sdk.errors import Failure, RecordError, UsageError
from passageway_sdk.records import check_line, item_line, listing_line

_USAGE = "usage: check | list | fetch (ids on stdin) | changed --since TIME"


@dataclass(frozen=True, slots=True)
class _Call:
    mode: str
    since: datetime | None = None


class Connector(ABC):
    """One source. Implement `versions` and `fetch`, perhaps `changed`, and call `YourConnector.main()`."""

    name: ClassVar[str] = "connector"
    """Stands before every message on stderr."""

    expected_errors: ClassVar[tuple[type[Exception], ...]] = ()
    """Exceptions that mean the source failed: exit 1 with the message, like SourceError."""

    def __init__(self, env: Mapping[str, str], **options: Any) -> None:  # noqa: B027 - a source may need no settings
        """Read the settings from `env`; raise SettingsError when one is wrong."""

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Every item that exists, as {id: version}. An item left out is deleted from the index."""

    @abstractmethod
    def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
        """The record of each requested item that still exists."""

    def changed(self, since: datetime) -> Iterable[dict[str, Any]]:
        """The records of the items changed since then (aware of its time zone). Leave it out when that is not cheap."""
        return ()

    def count(self) -> int:
        """The number that `check` reports."""
        return len(self.versions())

    def warn(self, message: str) -> None:
        """Report something odd, such as a file that is skipped, without failing the call."""
        print(f"{self.name}: warning: {message}", file=sys.stderr)

    @classmethod
    def main(cls, **options: Any) -> NoReturn:
        """Answer the call this process was started for, and end the process with its exit code."""
        with _message_stream() as stdout, open(0, encoding="utf-8", closefd=False) as stdin:
            sys.exit(cls.run(sys.argv[1:], os.environ, stdin, stdout, sys.stderr, **options))

    @classmethod
    def run(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdin: Iterable[str],
        stdout: TextIO,
        stderr: TextIO,
        **options: Any,
    ) -> int:
        """The exit code of one call, made in this process; `argv` starts with the mode, `options` go to `__init__`.

        stdout gets the whole answer of a call that succeeded, and nothing of one that did not. What the connector's
        code prints itself goes to stderr.
        """
        try:
            with redirect_stdout(stderr), redirect_stderr(stderr):
                call = _parse_arguments(argv, since_needed=cls.changed is not Connector.changed)
                lines = list(cls(env, **options)._lines(call, stdin))
        except Failure as failure:
            return cls._fail(failure, failure.exit_code, stderr)
        except cls.expected_errors as error:
            return cls._fail(error, 1, stderr)
        stdout.write("".join(lines))
        stdout.flush()
        return 0

    @classmethod
    def _fail(cls, error: Exception, exit_code: int, stderr: TextIO) -> int:
        print(f"{cls.name}: {str(error) or type(error).__name__}", file=stderr)
        return exit_code

    def _lines(self, call: _Call, stdin: Iterable[str]) -> Iterator[str]:
        if call.mode == "check":
            yield check_line(self.count())
        elif call.mode == "list":
            yield from (listing_line(item_id, version) for item_id, version in self.versions().items())
        elif call.mode == "fetch":
            ids = _read_ids(stdin)
            yield from _item_lines(self.fetch(ids), requested=set(ids))
        elif call.since is not None:
            yield from _item_lines(self.changed(call.since))


def _item_lines(items: Iterable[dict[str, Any]], requested: set[str] | None = None) -> Iterator[str]:
    seen: set[str] = set()
    for item in items:
        line = item_line(item)
        item_id = item["id"]
        if item_id in seen:
            raise RecordError(f"item {item_id!r} comes twice in one answer")
        if requested is not None and item_id not in requested:
            raise RecordError(f"item {item_id!r} was not asked for")
        seen.add(item_id)
        yield line


def _read_ids(stdin: Iterable[str]) -> list[str]:
    """The ids in the `{"id": …}` lines, each once, in their order. Raises UsageError."""
    ids: dict[str, None] = {}
    for number, line in enumerate(stdin, 1):
        if not line.strip():
            continue
        try:
            item_id = json.loads(line)["id"]
        except (ValueError, KeyError, TypeError, RecursionError):
            item_id = None
        if not isinstance(item_id, str):
            raise UsageError(f'line {number} of stdin is not of the form {{"id": "…"}}')
        ids[item_id] = None
    return list(ids)


def _parse_arguments(argv: Sequence[str], *, since_needed: bool) -> _Call:
    match list(argv):
        case ["check" | "list" | "fetch" as mode]:
            return _Call(mode)
        case ["changed", "--since", time]:
            return _Call("changed", _parse_time(time))
        case ["changed", option] if option.startswith("--since="):
            return _Call("changed", _parse_time(option.removeprefix("--since=")))
        case ["changed"] if not since_needed:
            return _Call("changed")
        case ["changed", *_]:
            raise UsageError(f"changed needs exactly one --since TIME; {_USAGE}")
        case [mode, *rest] if mode in ("check", "list", "fetch"):
            raise UsageError(f"{mode} takes no {rest[0]!r}; {_USAGE}")
        case [mode, *_]:
            raise UsageError(f"unknown mode {mode!r}; {_USAGE}")
        case _:
            raise UsageError(f"no mode given; {_USAGE}")


def _parse_time(text: str) -> datetime:
    """The instant in UTC; a time without a zone is taken as UTC. Raises UsageError."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"--since is {text!r}, expected a time such as 2026-10-28T09:00:00Z; {_USAGE}") from None


@contextmanager
def _message_stream() -> Iterator[TextIO]:
    """The process's stdout, for messages alone: whatever else writes there, child processes too, reaches stderr."""
    sys.stdout.flush()
    with open(os.dup(1), "w", encoding="ascii", newline="\n") as stream:
        os.dup2(2, 1)
        try:
            yield stream
        finally:
            os.dup2(stream.fileno(), 1)
