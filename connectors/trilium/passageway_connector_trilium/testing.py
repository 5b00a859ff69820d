"""A Trilium for tests: notes in memory, served through ETAPI by a real HTTP server on this machine.

Written from Trilium's own `etapi.openapi.yaml`, `etapi/notes.ts`, `etapi/etapi_utils.ts` and its search (`lex`,
`parse`, `build_comparator`): the same fields, status codes, error bodies and rules of comparison. Attributes are
inherited as there, from each parent and from what the parent inherits. What Trilium would answer to a search that this
server does not understand is not known here, so it answers 500 and the test fails.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from passageway_sdk.web.testing import Answer, LocalServer, Request

TOKEN = "etapi-t0ken_of=a/test"
_CLAUSE = re.compile(r"(note|~\w+)\.(noteid|utcdatemodified) (=|!=|>=) '([^']*)'")
_HIDDEN = "_hidden"


@dataclass(frozen=True, slots=True)
class FakeNote:
    """A note. `labels` and `relations` are (name, value), a name that ends with `!` is inheritable."""

    id: str
    title: str
    content: str | bytes = ""
    parents: tuple[str, ...] = ("root",)
    labels: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    type: str = "text"
    mime: str = "text/html"
    is_protected: bool = False
    modified: datetime = datetime(2026, 1, 31, 22, 30, tzinfo=UTC)
    offset: timedelta = timedelta(hours=1)

    @property
    def blob_id(self) -> str:
        """Changes with the content."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return hashlib.sha256(content).hexdigest()[:20]


@dataclass(slots=True)
class FakeTrilium:
    """The server and its notes. Start it with `with`; a test changes `notes` or puts a function into `instead`."""

    notes: dict[str, FakeNote] = field(default_factory=dict)
    instead: Callable[[Request], Answer | None] = lambda request: None
    has_blob_ids: bool = True
    server: LocalServer = field(init=False)

    def __post_init__(self) -> None:
        self.notes = {"root": FakeNote("root", "root", parents=("none",)), **self.notes}
        self.server = LocalServer(self.answer)

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.__exit__(kind, error, trace)

    @property
    def env(self) -> dict[str, str]:
        """The settings of a connector for this server."""
        return {"URL": self.server.url, "TOKEN": TOKEN, "WEB_URL": "https://notes.example.org"}

    def add(self, *notes: FakeNote) -> None:
        """Put notes in, or others in their places."""
        self.notes |= {note.id: note for note in notes}

    def edit(self, note_id: str, **changes: Any) -> None:
        """Change a note; `modified` moves only when title or content do, as in Trilium."""
        if changes.keys() & {"title", "content"}:
            changes.setdefault("modified", self.notes[note_id].modified + timedelta(minutes=1))
        self.notes[note_id] = replace(self.notes[note_id], **changes)

    def searches(self) -> list[str]:
        """The searches that were asked."""
        return [request.query["search"] for request in self.server.requests if "search" in request.query]

    def answer(self, request: Request) -> Answer:
        """What it says to a request."""
        if (answer := self.instead(request)) is not None:
            return answer
        if request.headers.get("authorization") != TOKEN:
            return _error(401, "NOT_AUTHENTICATED", "Not authenticated")
        match request.path.removeprefix("/etapi/").split("/"):
            case ["notes"]:
                return self._searched(request.query)
            case ["notes", note_id, "content"]:
                return self._content(unquote(note_id))
        return _error(404, "NOT_FOUND", "Router not found")

    def _content(self, note_id: str) -> Answer:
        note = self.notes.get(note_id)
        if note is None:
            return _error(404, "NOTE_NOT_FOUND", f"Note '{note_id}' not found.")
        if note.is_protected:
            return _error(400, "NOTE_IS_PROTECTED", f"Note '{note_id}' is protected and content cannot be read")
        headers = {"Content-Disposition": 'file; filename="note.html"', "Cache-Control": "no-cache, no-store"}
        return Answer(note.content, headers=headers, content_type=note.mime)

    def _searched(self, query: Mapping[str, str]) -> Answer:
        search = query.get("search", "").strip()
        if not search:
            return _error(400, "SEARCH_QUERY_PARAM_MANDATORY", "'search' query parameter is mandatory.")
        for name in ("includeArchivedNotes", "fastSearch"):
            if query.get(name, "true") not in ("true", "false"):
                return _error(400, "SEARCH_PARAM_VALIDATION_ERROR", f"Cannot parse boolean '{name}'")
        clauses = [_CLAUSE.fullmatch(clause) for clause in search.lower().split(" or ")]
        if None in clauses:
            return _error(500, "GENERIC", f"not a search this server knows: {search}")
        archived_too = query.get("includeArchivedNotes") == "true"
        children: dict[str, list[str]] = defaultdict(list)
        for note in self.notes.values():
            for parent in note.parents:
                children[parent].append(note.id)
        conditions = {(clause[1], clause[2]): _condition(clauses, clause) for clause in clauses if clause}
        found = [
            self._mapped(note, children[note.id])
            for note in self.notes.values()
            if any(holds(self._values(note, *subject)) for subject, holds in conditions.items())
            and not self._is_hidden(note)
            and (archived_too or not any(entry["name"] == "archived" for entry in self._attributes(note)))
        ]
        return Answer(json.dumps({"results": found}), content_type="application/json; charset=utf-8")

    def _values(self, note: FakeNote, subject: str, property_name: str) -> list[str]:
        """What a clause compares, in small letters as Trilium does: of the note, or of what a relation leads to."""
        if subject != "note":
            targets = (entry["value"] for entry in self._attributes(note) if f"~{entry['name']}".lower() == subject)
            return [target.lower() for target in targets if target in self.notes]
        if property_name == "noteid":
            return [note.id.lower()]
        return [_utc(note.modified.astimezone(UTC)).lower()]

    def _is_hidden(self, note: FakeNote) -> bool:
        return note.id == _HIDDEN or any(above.id == _HIDDEN for above in self._above(note))

    def _above(self, note: FakeNote, seen: tuple[str, ...] = ()) -> Iterator[FakeNote]:
        for parent in note.parents:
            if parent in self.notes and parent not in seen:
                yield self.notes[parent]
                yield from self._above(self.notes[parent], (*seen, parent))

    def _attributes(self, note: FakeNote) -> list[dict[str, Any]]:
        own = list(_own_attributes(note, inherited=False))
        ids = {entry["attributeId"] for entry in own}
        for above in self._above(note, (note.id,)):
            for entry in _own_attributes(above, inherited=True):
                if entry["attributeId"] not in ids:
                    ids.add(entry["attributeId"])
                    own.append(entry)
        return own

    def _mapped(self, note: FakeNote, children: Sequence[str]) -> dict[str, Any]:
        utc = note.modified.astimezone(UTC)
        local = utc.astimezone(timezone(note.offset))
        mapped = {
            "noteId": note.id,
            "isProtected": note.is_protected,
            "title": "[protected]" if note.is_protected else note.title,
            "type": note.type,
            "mime": note.mime,
            "blobId": note.blob_id,
            "dateCreated": _local(local),
            "dateModified": _local(local),
            "utcDateCreated": _utc(utc),
            "utcDateModified": _utc(utc),
            "parentNoteIds": list(note.parents),
            "childNoteIds": list(children),
            "parentBranchIds": [f"{parent}_{note.id}" for parent in note.parents],
            "childBranchIds": [f"{note.id}_{child}" for child in children],
            "attributes": self._attributes(note),
        }
        return mapped if self.has_blob_ids else {key: value for key, value in mapped.items() if key != "blobId"}


def _own_attributes(note: FakeNote, *, inherited: bool) -> Iterator[dict[str, Any]]:
    kinds: Sequence[tuple[str, tuple[tuple[str, str], ...]]] = (("label", note.labels), ("relation", note.relations))
    for kind, entries in kinds:
        for position, (name, value) in enumerate(entries):
            inheritable = name.endswith("!")
            if inherited and not inheritable:
                continue
            yield {
                "attributeId": f"{note.id}_{kind[0]}{name.rstrip('!')}_{position}",
                "noteId": note.id,
                "type": kind,
                "name": name.rstrip("!"),
                "value": value,
                "position": (position + 1) * 10,
                "isInheritable": inheritable,
                "utcDateModified": _utc(note.modified.astimezone(UTC)),
            }


def _condition(clauses: Sequence[re.Match[str] | None], one: re.Match[str]) -> Callable[[list[str]], bool]:
    """Whether any of the clauses about the same subject holds for one of the values. Dates are compared as text."""
    wanted = {clause[4] for clause in clauses if clause and clause.group(1, 2, 3) == one.group(1, 2, 3)}
    if one[3] == "=":
        return lambda values: not wanted.isdisjoint(values)
    if one[3] == "!=":
        return lambda values: any(value != other for value in values for other in wanted)
    return lambda values: any(value >= least for value in values for least in wanted)


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def _local(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S.") + f"{time.microsecond // 1000:03}{time.strftime('%z')}"


def _error(status: int, code: str, message: str) -> Answer:
    return Answer(json.dumps({"status": status, "code": code, "message": message}), status=status)
