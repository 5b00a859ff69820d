"""A connector for tests and first tries: `FAKE_ITEMS=items.json python -m passageway.testing.fake_connector list`.

Settings, all in the environment:

FAKE_ITEMS          required; a file with a JSON list of item records, read anew by every call
FAKE_LOG            a file that gets one line a call: the mode, and for `fetch` the ids
FAKE_DELAY          seconds to wait before the answer
FAKE_BAD_IDS        ids, separated by commas, that make a `fetch` which asks for one of them fail
FAKE_MISBEHAVE      one of the names in MISBEHAVIOURS
FAKE_MISBEHAVE_IN   the modes that misbehave, separated by commas; all of them by default

`changed` prints the items whose `updated` is not before `--since`. Only the standard library is needed here, so that a
call starts quickly.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

_HOUR_S = 3600
_SLEEPER = (sys.executable, "-S", "-c", f"import time; time.sleep({_HOUR_S})")

_Record = dict[str, Any]
_Records = list[_Record]

_STRANGER: _Record = {"id": "stranger", "title": "A stranger", "url": "", "version": "1", "sections": []}


def main() -> None:
    """Answer one call."""
    mode, *arguments = sys.argv[1:] or [""]
    items = _read_items()
    answers: Mapping[str, Callable[[], _Records]] = {
        "check": lambda: [{"ok": True, "count": len(items)}],
        "list": lambda: [{"id": item["id"], "version": item["version"]} for item in items],
        "fetch": lambda: _fetched(items),
        "changed": lambda: _changed(items, arguments),
    }
    if mode not in answers:
        _fail(2, f"unknown mode {mode!r}, expected check, list, fetch or changed")
    records = answers[mode]()
    _log_call(mode, records)
    time.sleep(float(os.environ.get("FAKE_DELAY", "0")))
    misbehaviour = os.environ.get("FAKE_MISBEHAVE")
    if misbehaviour and mode in os.environ.get("FAKE_MISBEHAVE_IN", mode).split(","):
        if misbehaviour not in MISBEHAVIOURS:
            _fail(2, f"FAKE_MISBEHAVE is {misbehaviour!r}, expected one of {', '.join(MISBEHAVIOURS)}")
        records = MISBEHAVIOURS[misbehaviour](mode, records) or []
    _write("".join(_lines(records)))


def _read_items() -> _Records:
    path = os.environ.get("FAKE_ITEMS")
    if not path:
        _fail(2, "FAKE_ITEMS must name a file with a JSON list of item records")
    try:
        items = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _fail(1, f"FAKE_ITEMS: {path!r} cannot be read: {error}")
    if not isinstance(items, list):
        _fail(1, f"FAKE_ITEMS: {path!r} must hold a JSON list of item records")
    return items


def _fetched(items: _Records) -> _Records:
    ids = [json.loads(line)["id"] for line in sys.stdin if line.strip()]
    bad = sorted(set(ids) & set(filter(None, os.environ.get("FAKE_BAD_IDS", "").split(","))))
    if bad:
        _fail(1, f"cannot load {', '.join(bad)}")
    return [item for item in items if item["id"] in ids]


def _changed(items: _Records, arguments: list[str]) -> _Records:
    if len(arguments) != 2 or arguments[0] != "--since":
        _fail(2, "changed needs --since TIME")
    since = _instant(arguments[1])
    return [item for item in items if item.get("updated") and _instant(item["updated"]) >= since]


def _instant(text: str) -> datetime:
    time_ = datetime.fromisoformat(text)
    return time_ if time_.tzinfo else time_.replace(tzinfo=UTC)


def _log_call(mode: str, records: _Records) -> None:
    if path := os.environ.get("FAKE_LOG"):
        with open(path, "a", encoding="utf-8") as log:
            log.write(" ".join([mode, *(record["id"] for record in records if mode == "fetch")]) + "\n")


def _lines(records: _Records) -> Iterator[str]:
    return (json.dumps(record) + "\n" for record in records)


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()


def _fail(status: int, message: str) -> NoReturn:
    print(f"fake connector: {message}", file=sys.stderr)
    sys.exit(status)


def _hang(mode: str, records: _Records) -> NoReturn:
    while True:
        time.sleep(_HOUR_S)


def _hang_with_child(mode: str, records: _Records) -> NoReturn:
    _leave_child(mode, records)
    _hang(mode, records)


def _leave_child(mode: str, records: _Records) -> _Records:
    child = subprocess.Popen(_SLEEPER)
    print(f"child {child.pid}", file=sys.stderr, flush=True)
    return records


def _leave_stray(mode: str, records: _Records) -> _Records:
    """A child in a session of its own: out of reach, and it keeps stdout and stderr open."""
    child = subprocess.Popen(_SLEEPER, start_new_session=True)
    print(f"stray {child.pid}", file=sys.stderr, flush=True)
    return records


def _flood(mode: str, records: _Records) -> NoReturn:
    number = 0
    while True:
        number += 1
        _write(f'{{"id": "flood-{number}", "version": "1"}}\n')


def _huge_line(mode: str, records: _Records) -> NoReturn:
    _write('{"id": "')
    while True:
        _write("x" * 65_536)


def _stderr_flood(mode: str, records: _Records) -> _Records:
    sys.stderr.write("all work and no play\n" * 100_000)
    return records


def _stderr_secret(mode: str, records: _Records) -> NoReturn:
    for name, value in os.environ.items():
        print(f"{name}={value}", file=sys.stderr)
    _fail(1, f"refused: {os.environ.get('FAKE_SECRET', '')}")


def _truncated_line(mode: str, records: _Records) -> NoReturn:
    text = "".join(_lines(records)).rstrip("\n")
    _write(text[: len(text) - 5])
    sys.exit(0)


def _crash(mode: str, records: _Records) -> NoReturn:
    text = "".join(_lines(records))
    _write(text[: len(text) - 5])
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit


def _exit_3(mode: str, records: _Records) -> NoReturn:
    _write("".join(_lines(records)))
    _fail(3, "the source went away")


def _each(change: Callable[[_Record], _Record]) -> Callable[[str, _Records], _Records]:
    return lambda mode, records: [{**record, **change(record)} for record in records]


def _prefixed(line: str) -> Callable[[str, _Records], _Records]:
    def misbehave(mode: str, records: _Records) -> _Records:
        _write(line)
        return records

    return misbehave


MISBEHAVIOURS: Mapping[str, Callable[[str, _Records], _Records | None]] = {
    "hang": _hang,
    "hang-with-child": _hang_with_child,
    "leave-child": _leave_child,
    "leave-stray": _leave_stray,
    "flood": _flood,
    "huge-line": _huge_line,
    "stderr-flood": _stderr_flood,
    "stderr-secret": _stderr_secret,
    "truncated-line": _truncated_line,
    "crash": _crash,
    "exit-3": _exit_3,
    "not-json": _prefixed("loading the source\n"),
    "not-utf-8": _prefixed('{"id": "\udcff"}\n'),
    "not-an-object": _prefixed('["id"]\n'),
    "blank-lines": _prefixed("\n  \r\n"),
    "silent": lambda mode, records: [],
    "duplicate-id": lambda mode, records: [*records, *records[:1]],
    "unrequested-id": lambda mode, records: [*records, {**_STRANGER, "id": "nobody-asked"}],
    "invented-item": lambda mode, records: records or [_STRANGER],
    "missing-item": lambda mode, records: records[1:],
    "wrong-version": _each(lambda record: {"protocol": "2"}),
    "version-of-its-own": _each(lambda record: {"version": "another"}),
    "unstable-version": _each(lambda record: {"version": str(time.monotonic_ns())}),
    "unstable-id": _each(lambda record: {"id": f"{record['id']}-{time.monotonic_ns()}"}),
    "unstable-text": _each(lambda record: {"sections": [{"text": f"Read at {time.monotonic_ns()}."}]}),
}


if __name__ == "__main__":
    main()
