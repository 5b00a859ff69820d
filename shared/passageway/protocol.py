"""The core's side of connector protocol v1: a call starts the connector's program and counts only as a whole.

Every method starts `<command> <mode>`, reads its lines under the limits, and returns values or raises ConnectorError.
Nothing in between: a broken line, an item nobody asked for, a non-zero exit status or the timeout fail the whole call.
"""

import builtins
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

import orjson

from passageway.config import CALL_TIMEOUT_S, MAX_LINE_BYTES, MAX_OUTPUT_BYTES, ConnectorConfig
from passageway.errors import ConnectorError, ProtocolVersionError, RecordError
from passageway.process import Deadline, Program
from passageway.process_start import checked_command
from passageway.records import PROTOCOL_VERSION, CheckReply, Item, parse_check, parse_item, parse_listing
from passageway.secrets import resolve

FETCH_IDS = 50
"""Ids in one `fetch` call at the most: what one failing call can cost."""

_Record = TypeVar("_Record")


class Connector:
    """One source behind its program. Blocking; `close`, from any thread, ends what is running and refuses what comes.

    `secrets` are the values themselves; `from_config` resolves the references of a configuration. `timeout` is in
    seconds, for a whole call.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT_S,
        max_line_bytes: int = MAX_LINE_BYTES,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self.name = name
        self.command = checked_command(command)
        self._env = dict(env or {})
        self._secrets = dict(secrets or {})
        self._timeout_s = timeout
        self._max_line_bytes = max_line_bytes
        self._max_output_bytes = max_output_bytes
        self._lock = threading.Lock()
        self._running: set[Program] = set()
        self._closed = False

    @classmethod
    def from_config(cls, config: ConnectorConfig, environ: Mapping[str, str] | None = None) -> Self:
        """The connector of a `[[connector]]` entry. Raises SettingsError when a secret's variable is not set."""
        return cls(
            config.name,
            config.command,
            env=config.env,
            secrets=resolve(config.secrets, f"connector {config.name!r}", environ),
            timeout=config.timeout,
            max_line_bytes=config.max_line_bytes,
            max_output_bytes=config.max_output_bytes,
        )

    def check(self) -> CheckReply:
        """How many items the connector sees. Raises ProtocolVersionError when it speaks another version."""
        replies = self._call(["check"], _each_once(parse_check, lambda _: "check"))
        if not replies:
            raise ConnectorError(
                f'connector {self.name!r}: check: printed nothing, expected {{"ok": true, "count": …}}'
            )
        return replies[0]

    def list(self) -> dict[str, str]:
        """Every item that exists, {id: version}."""
        return dict(self._call(["list"], _each_once(parse_listing, lambda listing: listing[0])))

    def fetch(self, ids: Sequence[str]) -> builtins.list[Item]:
        """The items of those ids that still exist. Ask for at most FETCH_IDS at a time."""
        if not ids:
            return []
        wanted = dict.fromkeys(ids)

        def parse_wanted(message: Any) -> Item:
            item = parse_item(message)
            if item.id not in wanted:
                raise RecordError(f"item {item.id!r} was not asked for")
            return item

        request = b"".join(orjson.dumps({"id": item_id}, option=orjson.OPT_APPEND_NEWLINE) for item_id in wanted)
        return self._call(["fetch"], _each_once(parse_wanted, lambda item: item.id), request)

    def changed(self, since: datetime) -> builtins.list[Item]:
        """The items changed since then (a time that knows its zone), as far as the connector can tell cheaply."""
        if since.tzinfo is None:
            raise ValueError(f"since is {since.isoformat()}, expected a time with its zone")
        time = f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return self._call(["changed", "--since", time], _each_once(parse_item, lambda item: item.id))

    def close(self) -> None:
        """Kill the calls that are running, which then raise, and refuse further ones."""
        with self._lock:
            self._closed = True
            for program in self._running:
                program.kill()

    def _call(
        self, arguments: Sequence[str], parse: Callable[[Any], _Record], request: bytes = b""
    ) -> builtins.list[_Record]:
        deadline = Deadline.after(self._timeout_s)
        with self._program(arguments) as program:
            program.send(request, last=True)
            records = builtins.list(self._records(program, parse, deadline))
            self._require_success(program, deadline)
        return records

    @contextmanager
    def _program(self, arguments: Sequence[str]) -> Iterator[Program]:
        owner = f"connector {self.name!r}: {arguments[0]}"
        with Program(
            [*self.command, *arguments],
            env=self._env,
            secrets=self._secrets,
            protocol=PROTOCOL_VERSION,
            owner=owner,
            failure=ConnectorError,
            max_output_bytes=self._max_output_bytes,
        ) as program:
            with self._lock:
                self._running.add(program)
                if self._closed:
                    program.kill()
            try:
                yield program
            finally:
                with self._lock:
                    self._running.discard(program)

    def _records(self, program: Program, parse: Callable[[Any], _Record], deadline: Deadline) -> Iterator[_Record]:
        number = 0
        while (line := program.read_line(deadline, self._max_line_bytes)) is not None:
            number += 1
            if not line.strip():
                continue
            try:
                yield parse(_decoded(line))
            except ProtocolVersionError as error:
                raise ProtocolVersionError(program.message(str(error))) from None
            except RecordError as error:
                if program.output_ended:
                    # Half a line is what a crash leaves behind; the crash is the news then.
                    self._require_success(program, deadline)
                raise program.error(f"line {number} of its output: {error}") from None

    def _require_success(self, program: Program, deadline: Deadline) -> None:
        status = program.wait(deadline)
        if self._closed:
            raise program.error("stopped, because passageway stops")
        if status:
            raise program.error(program.ending())


def _each_once(parse: Callable[[Any], _Record], id_of: Callable[[_Record], str]) -> Callable[[Any], _Record]:
    """The parser that also refuses a second record of the same id."""
    seen: set[str] = set()

    def parse_once(message: Any) -> _Record:
        record = parse(message)
        record_id = id_of(record)
        if record_id in seen:
            raise RecordError(f"{record_id!r} comes twice in one answer")
        seen.add(record_id)
        return record

    return parse_once


def _decoded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        # Never the line itself: it may be a piece of a document, or what a library printed about a password.
        raise RecordError(
            f"not JSON ({error.msg} at byte {error.pos + 1} of {len(line):,}); "
            "only messages belong on stdout, everything else on stderr"
        ) from None
