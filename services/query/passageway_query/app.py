"""The query service as one web application: every door, behind one check of names and one password."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from mcp.server import MCPServer
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from passageway.settings import Settings
from passageway_query.access import Access
from passageway_query.auth.documents import Documents
from passageway_query.auth.endpoints import PATHS
from passageway_query.auth.login import Login, make_login
from passageway_query.guard import Guard
from passageway_query.health import HealthSource
from passageway_query.hook import hook_router
from passageway_query.hosts import HostCheck, host_rules
from passageway_query.mcp import mcp_server
from passageway_query.mcp_door import mcp_door
from passageway_query.metrics import QuestionLog, exposition
from passageway_query.openapi import ANYWHERE, Application, Responses, refusals, statuses_of, text
from passageway_query.replies import NOTHING_STORED, install
from passageway_query.search import Search
from passageway_query.web.pages import Pages, Parts, static_files
from passageway_query.wire import Health

# Health checks have threads of their own: they answer while every search hangs.
_CHECKS = anyio.CapacityLimiter(4)


def create_app(
    settings: Settings,
    search: Search | None,
    *,
    config_error: str | None = None,
    connectors: Sequence[str] | None = None,
    documents: Documents | None = None,
) -> FastAPI:
    """The application. `search` is the caller's to close; None, with `config_error`, leaves only the report of it.

    `documents` take the place of those of the internet, by which clients of the login may describe themselves.

    Raises StorageError when a public address is set and sign-ins cannot be stored in the data folder.
    """
    guard = Guard(settings.password)
    login = make_login(settings, guard, documents)
    access = Access(guard, login)
    questions = QuestionLog()
    health = HealthSource(settings, search, config_error, connectors)
    server = mcp_server(settings, search, health, questions)
    door = mcp_door(server, access)
    app = _bare_app(settings.version, server, login)
    install(app)
    app.include_router(report_router(health, access, questions))
    app.include_router(hook_router(search, access, questions))
    app.include_router(Pages(Parts(settings, search, guard, health, questions, login)).router())
    for router in login.routers if login else ():
        app.include_router(router)
    app.mount("/static", static_files())
    # Some clients add a slash; a redirect would make them send the request, and its token, twice or not at all.
    app.router.routes.extend(Route(path, endpoint=door) for path in ("/mcp", "/mcp/"))
    app.add_middleware(HostCheck, rules=host_rules(settings), open_paths=frozenset(PATHS if login else ()))
    return app


def _bare_app(version: str, server: MCPServer[None], login: Login | None) -> FastAPI:
    """An application without routes that runs the MCP server, and closes the login's file at its end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield
        if login is not None:
            login.store.close()

    return Application(
        title="passageway",
        version=version,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        responses=refusals(*ANYWHERE),
    )


def report_router(health: HealthSource, access: Access, questions: QuestionLog) -> APIRouter:
    """`/health`, open to everybody, error texts for the password alone; `/metrics`, for the password."""
    router = APIRouter()

    async def current(errors: bool) -> Health:
        return await anyio.to_thread.run_sync(lambda: health.report(errors=errors), limiter=_CHECKS)

    described: Responses = {
        200: {"model": Health, "description": "What is there is searched."},
        503: {"model": Health, "description": "Nothing can be searched; `error` says why, to the password."},
    }

    @router.get("/health", responses=described)
    @router.head("/health", response_class=Response, responses=statuses_of(described))
    async def report(request: Request) -> Response:
        state = await current(errors=access.ruling(request).admitted)
        status = 503 if state.status == "error" else 200
        return JSONResponse(state.model_dump(exclude_none=True), status, headers=NOTHING_STORED)

    @router.get("/metrics", response_class=Response, responses={**text("The figures."), **refusals(401, 429)})
    async def metrics(request: Request) -> Response:
        access.require_password(request)
        figures = exposition(await current(errors=False), questions)
        return PlainTextResponse(figures, media_type="text/plain; version=0.0.4", headers=NOTHING_STORED)

    return router
