"""A Confluence for tests: pages in memory, served through the REST API by a real HTTP server on this machine.

Written from the REST documentation of Data Center (docs.atlassian.com/ConfluenceServer/rest) and Cloud
(developer.atlassian.com/cloud/confluence/rest/v1, changelog entry CHANGE-864), the page on pagination
(developer.atlassian.com/server/confluence/pagination-in-the-rest-api) and the limits that expansions bring
(support.atlassian.com, "Searching for content with the REST API and CQL always limits results to 50"). A search that
this server does not know is answered with 500, so that the test fails.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from passageway_sdk.web.testing import Answer, LocalServer, Request

TOKEN = "NjAx+t0ken/test="
EMAIL = "reader@example.org"
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TRASHED = "trashed"


@dataclass(frozen=True, slots=True)
class FakePage:
    """A page. `parent` is the id of the page above; `labels` are names, or `prefix:name`."""

    id: str
    title: str
    body: str = ""
    space: str = "OPS"
    parent: str = ""
    labels: tuple[str, ...] = ()
    number: int = 1
    modified: datetime = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    type: str = "page"
    status: str = "current"


@dataclass(slots=True)
class FakeConfluence:
    """The site and its pages. Start it with `with`; a test changes `pages` or puts a function into `instead`."""

    kind: str = "datacenter"
    context: str = ""
    zone: tzinfo = field(default_factory=lambda: ZoneInfo("America/New_York"))
    base: str = "https://wiki.example.org"
    spaces: tuple[str, ...] = ("OPS", "HR")
    page_limit: int = 50
    pages: dict[str, FakePage] = field(default_factory=dict)
    instead: Callable[[Request], Answer | None] = lambda request: None
    server: LocalServer = field(init=False)

    def __post_init__(self) -> None:
        if self.kind == "cloud":
            self.context = "/wiki"
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
        """The settings of a connector for this site."""
        env = {"URL": f"{self.server.url}{self.context}", "SPACES": "OPS|HR", "TOKEN": TOKEN}
        return env | ({"KIND": "cloud", "EMAIL": EMAIL} if self.kind == "cloud" else {})

    def add(self, *pages: FakePage) -> None:
        """Put pages in, or others in their places."""
        self.pages |= {page.id: page for page in pages}

    def edit(self, page_id: str, **changes: Any) -> None:
        """Change a page; title and body make a new version, labels and a move do not, as in Confluence."""
        page = self.pages[page_id]
        if changes.keys() & {"title", "body"}:
            changes = {"number": page.number + 1, "modified": page.modified + timedelta(minutes=1)} | changes
        self.pages[page_id] = replace(page, **changes)

    def asked(self) -> list[str]:
        """Paths and searches that were asked, without the context path."""
        return [
            request.query.get("cql", "") or request.path.removeprefix(self.context) for request in self.server.requests
        ]

    def answer(self, request: Request) -> Answer:
        """What it says to a request."""
        if (answer := self.instead(request)) is not None:
            return answer
        if request.headers.get("authorization") != self._authorization():
            return _error(401, "No user could be authenticated")
        if not request.path.startswith(f"{self.context}/rest/api/content"):
            return Answer("<html><body>Page Not Found</body></html>", status=404, content_type="text/html")
        rest = request.path.removeprefix(f"{self.context}/rest/api/content").strip("/")
        if rest == "search":
            return self._searched(request)
        if self.kind == "cloud":
            return _error(410, "This deprecated endpoint has been removed.")
        return self._one(rest, request.query) if rest else self._listed(request)

    def _authorization(self) -> str:
        if self.kind == "cloud":
            return f"Basic {b64encode(f'{EMAIL}:{TOKEN}'.encode()).decode()}"
        return f"Bearer {TOKEN}"

    def _one(self, page_id: str, query: Mapping[str, str]) -> Answer:
        page = self.pages.get(page_id)
        if page is None or page.status == _TRASHED:
            return _error(404, f"No content found with id: ContentId{{id={page_id}}}")
        message = self._mapped(page, query.get("expand", ""))
        message["_links"] |= {"base": self._base(), "context": self.context}
        return Answer(json.dumps(message))

    def _listed(self, request: Request) -> Answer:
        space = request.query.get("spaceKey", "")
        if space.upper() not in self.spaces:
            return _error(404, f"No space found with key : {space}")
        wanted_type, status = request.query.get("type", "page"), request.query.get("status", "current")
        pages = [
            page
            for page in self.pages.values()
            if (page.space, page.type, page.status) == (space.upper(), wanted_type, status)
        ]
        return self._part(request, pages)

    def _searched(self, request: Request) -> Answer:
        cql = request.query.get("cql", "")
        # Quoted words are taken out first: one may hold " and " itself.
        words = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(cql)]
        clauses = _WORD.sub('"', cql).partition(" order by ")[0].split(" and ")
        try:
            conditions = [self._condition(clause, words) for clause in clauses]
        except (ValueError, KeyError):
            return _error(500, f"not a search this server knows: {cql}")
        pages = [
            page
            for page in self.pages.values()
            if page.status == "current" and all(holds(page) for holds in conditions)
        ]
        return self._part(request, pages)

    def _condition(self, clause: str, words: list[str]) -> Callable[[FakePage], bool]:
        """Takes the words of the clause from the front of `words`."""
        name, operator, value = clause.split(" ", 2)
        named = [words.pop(0) for _ in range(value.count('"'))]
        if (name, operator) == ("lastmodified", ">="):
            # Read in the zone of the server, to the minute.
            least = datetime.strptime(named[0], "%Y-%m-%d %H:%M").replace(tzinfo=self.zone)
            return lambda page: page.modified >= least
        if operator not in ("=", "in"):
            raise ValueError(operator)
        wanted = {word.casefold() for word in named or value.strip("()").split(", ")}
        readers: dict[str, Callable[[FakePage], str]] = {
            "id": lambda page: page.id,
            "space": lambda page: page.space,
            "title": lambda page: page.title,
            "type": lambda page: page.type,
        }
        read = readers[name]
        return lambda page: read(page).casefold() in wanted

    def _part(self, request: Request, pages: Iterable[FakePage]) -> Answer:
        found = list(pages)
        expand = request.query.get("expand", "")
        limit = min(int(request.query.get("limit", "25")), 50 if "body" in expand else self.page_limit)
        place = "cursor" if self.kind == "cloud" else "start"
        start = int(request.query.get(place, "0").removeprefix("c"))
        part = found[start : start + limit]
        links: dict[str, Any] = {"base": self._base(), "context": self.context, "self": f"{self._base()}{request.path}"}
        if start + limit < len(found):
            following = {
                **request.query,
                "limit": limit,
                place: f"c{start + limit}" if place == "cursor" else start + limit,
            }
            links["next"] = f"{request.path.removeprefix(self.context)}?{urlencode(following)}"
        results = [self._mapped(page, expand) for page in part]
        return Answer(
            json.dumps({"results": results, "start": start, "limit": limit, "size": len(part), "_links": links})
        )

    def _base(self) -> str:
        return f"{self.base}{self.context}"

    def _mapped(self, page: FakePage, expand: str) -> dict[str, Any]:
        wanted = set(expand.split(","))
        title = page.title.replace(" ", "+")
        message: dict[str, Any] = {
            "id": page.id,
            "type": page.type,
            "status": page.status,
            "title": page.title,
            "_links": {"webui": f"/spaces/{page.space}/pages/{page.id}/{title}", "self": f"{self._base()}/x/{page.id}"},
        }
        if "space" in wanted:
            message["space"] = {"id": 98306, "key": page.space, "name": page.space, "type": "global"}
        if "version" in wanted:
            when = page.modified.astimezone(self.zone).isoformat(timespec="milliseconds")
            message["version"] = {"number": page.number, "when": when, "minorEdit": False, "by": {"username": "ann"}}
        if "ancestors" in wanted:
            message["ancestors"] = self._ancestors(page)
        if "metadata.labels" in wanted:
            labels = [label.rpartition(":") for label in page.labels]
            results = [{"prefix": prefix or "global", "name": name, "id": "7"} for prefix, _, name in labels]
            message["metadata"] = {"labels": {"results": results, "start": 0, "limit": 200, "size": len(results)}}
        if "body.storage" in wanted:
            message["body"] = {"storage": {"value": page.body, "representation": "storage"}}
        return message

    def _ancestors(self, page: FakePage) -> list[dict[str, Any]]:
        above: list[dict[str, Any]] = []
        while page.parent in self.pages and len(above) < 50:
            page = self.pages[page.parent]
            above.insert(0, {"id": page.id, "type": "page", "status": page.status, "title": page.title})
        return above


def _error(status: int, message: str) -> Answer:
    return Answer(json.dumps({"statusCode": status, "data": {"authorized": False}, "message": message}), status=status)
