"""The routes of the web page. Everything works without scripts; one small script keeps the states fresh."""

import logging
import secrets
import time
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from passageway.errors import PassagewayError
from passageway.settings import Settings
from passageway_query.answer import Filters, Question
from passageway_query.auth.login import Login
from passageway_query.filters import updated_after_s
from passageway_query.guard import Guard, address
from passageway_query.health import HealthSource
from passageway_query.metrics import Door, Outcome, QuestionLog
from passageway_query.openapi import form_body, pages, redirect, refusals, route
from passageway_query.search import Search
from passageway_query.web.forms import FormKey, read_form
from passageway_query.web.session import MAX_AGE_S, Cookie, Sessions
from passageway_query.web.templating import FOLDER, HEADERS, REPORT_HEADERS, html, see_other
from passageway_query.web.views import STATUS_WORDS, AnswerView, AppView, ago, answer_view, app_view, source_views

logger = logging.getLogger(__name__)

MAX_QUESTION_CHARS = 20_000
_FILTERS = ("source", "path", "label", "updated_after")
_SIGN_IN_AGE_S = 3600
_THREADS = anyio.CapacityLimiter(8)

_ON = redirect(303, "To the next page, to be fetched with a GET.")
_BAD_FORM = refusals(400, 408, 413)
_HOME = route(pages({200: "The page."}), _ON)
_SOURCES = route(pages({200: "The sources.", 401: "Nobody is signed in; the body is empty."}))
_MEASUREMENTS = route(pages({200: "The report.", 404: "Nothing was measured yet."}), _ON)
_ASKED = {
    200: "The page with the answer.",
    400: "The page again: a filter is no date.",
    403: "The page again: it was out of date.",
    503: "The page again: the search failed.",
}
_ASK = route(_ON, _BAD_FORM, pages(_ASKED, 400, 403, 503), takes=form_body("question", "token", optional=_FILTERS))
_NOT_SIGNED_IN = {
    401: "The form again: that was not the password.",
    403: "The form again: it was out of date.",
    429: "The form again: too many wrong passwords.",
}
_SIGN_IN = route(_ON, _BAD_FORM, pages(_NOT_SIGNED_IN, 403), takes=form_body("password", "token"), status=303)
_SIGN_OUT = route(_ON, _BAD_FORM, takes=form_body("token"), status=303)
_DISCONNECT = route(_ON, _BAD_FORM, takes=form_body("token", "grant"), status=303)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the pages work with."""

    settings: Settings
    search: Search | None
    guard: Guard
    health: HealthSource
    questions: QuestionLog
    login: Login | None


def static_files() -> StaticFiles:
    """Style, script and mark of the pages; nothing in them is private."""
    return StaticFiles(directory=FOLDER / "static")


class Pages:
    """The pages and who is signed in to see them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sessions = Sessions()
        self._key = FormKey()
        self._session_cookie = Cookie("session", parts.settings)
        self._visit_cookie = Cookie("visit", parts.settings)
        self._report_file = parts.settings.data_dir / "measurements" / "report.html"

    def router(self) -> APIRouter:
        """The routes. Questions are posted, so that no address, history or access log holds them."""
        router = APIRouter()
        for path, method, handler, described in (
            ("/", "GET", self.home, _HOME),
            ("/ask", "POST", self.ask, _ASK),
            ("/sources", "GET", self.sources, _SOURCES),
            ("/measurements", "GET", self.measurements, _MEASUREMENTS),
            ("/sign-in", "GET", self.sign_in_form, _HOME),
            ("/sign-in", "POST", self.sign_in, _SIGN_IN),
            ("/sign-out", "POST", self.sign_out, _SIGN_OUT),
            ("/disconnect", "POST", self.disconnect, _DISCONNECT),
        ):
            router.add_api_route(path, handler, methods=[method], **described)
        return router

    async def home(self, request: Request) -> Response:
        """The page with the sources and the question form; the sign-in form for a stranger."""
        if not self._signed_in(request):
            return see_other("/sign-in")
        return await self._page(request)

    async def sources(self, request: Request) -> Response:
        """The sources alone, for the script that keeps them fresh."""
        if not self._signed_in(request):
            return HTMLResponse("", 401, headers=HEADERS)
        return html("sources.html", await self._report())

    async def measurements(self, request: Request) -> Response:
        """The report of the last measurement, which `passageway eval` left in the data folder."""
        if not self._signed_in(request):
            return see_other("/sign-in")
        try:
            report = await anyio.to_thread.run_sync(self._report_file.read_bytes, limiter=_THREADS)
        except OSError:
            text = f"passageway eval CASES --out {self._report_file.parent} writes them."
            return html(
                "problem.html", {**self._about(), "title": "No measurements yet", "text": text, "hint": ""}, 404
            )
        return HTMLResponse(report, headers=REPORT_HEADERS)

    async def ask(self, request: Request) -> Response:
        """The page with an answer and why it came out so."""
        form = await read_form(request, self._parts.settings.base_url)
        if not self._signed_in(request):
            return see_other("/sign-in")
        if not self._key.matches(form.get("token", ""), self._session_cookie.read(request)):
            return await self._page(
                request, problem="The page was out of date. Please ask again.", status=403, form=form
            )
        question = form.get("question", "").strip()[:MAX_QUESTION_CHARS]
        if not question or self._parts.search is None:
            return await self._page(request, problem="Ask something first." if not question else None, form=form)
        filters = Filters(*(form.get(name, "").strip() for name in _FILTERS))
        try:
            updated_after_s(filters)
            answer = await self._answer(self._parts.search, Question(question, filters, explain=True))
        except ValueError:
            return await self._page(request, problem="“Updated since” is not a date.", status=400, form=form)
        except PassagewayError as error:
            logger.warning("web: no answer: %s", error)
            return await self._page(request, problem=f"The search failed: {error}", status=503, form=form)
        return await self._page(request, answer=answer, form=form)

    async def _answer(self, search: Search, question: Question) -> AnswerView:
        with self._parts.questions.timed(Door.WEB) as timing:
            answer = await anyio.to_thread.run_sync(search.ask, question, limiter=_THREADS)
            timing.outcome = Outcome.HITS if answer.hits else Outcome.SILENCE
        return answer_view(answer)

    async def sign_in_form(self, request: Request) -> Response:
        """The sign-in form."""
        return see_other("/") if self._signed_in(request) else self._sign_in_page(request)

    async def sign_in(self, request: Request) -> Response:
        """A session for whoever knows the password; the form again for anybody else."""
        form = await read_form(request, self._parts.settings.base_url)
        if not self._key.matches(form.get("token", ""), self._visit_cookie.read(request)):
            return self._sign_in_page(request, "The form was out of date, or cookies are off. Please try again.", 403)
        ruling = self._parts.guard.rule(form.get("password", ""), address(request), typed=True)
        if ruling.retry_after_s:
            wait_s = ruling.retry_after_s
            response = self._sign_in_page(request, f"Too many wrong passwords. Wait {wait_s} seconds.", 429)
            response.headers["Retry-After"] = str(wait_s)
            return response
        if not ruling.admitted:
            return self._sign_in_page(request, "That is not the password.", 401)
        response = see_other("/")
        self._session_cookie.write(request, response, self._sessions.open(), MAX_AGE_S)
        self._visit_cookie.drop(request, response)
        return response

    async def sign_out(self, request: Request) -> Response:
        """The end of the session."""
        form = await read_form(request, self._parts.settings.base_url)
        token = self._session_cookie.read(request)
        if self._key.matches(form.get("token", ""), token):
            self._sessions.close(token)
        response = see_other("/sign-in")
        self._session_cookie.drop(request, response)
        return response

    async def disconnect(self, request: Request) -> Response:
        """The end of a connected app's grant."""
        form = await read_form(request, self._parts.settings.base_url)
        if not self._signed_in(request):
            return see_other("/sign-in")
        if self._key.matches(form.get("token", ""), self._session_cookie.read(request)) and self._parts.login:
            await anyio.to_thread.run_sync(self._parts.login.store.revoke, form.get("grant", ""))
        return see_other("/")

    def _signed_in(self, request: Request) -> bool:
        return self._sessions.is_open(self._session_cookie.read(request))

    def _sign_in_page(self, request: Request, problem: str | None = None, status: int = 200) -> Response:
        visit = secrets.token_urlsafe(16)
        page = html("sign_in.html", {"token": self._key.token(visit), "problem": problem, **self._about()}, status)
        self._visit_cookie.write(request, page, visit, _SIGN_IN_AGE_S)
        return page

    async def _page(
        self,
        request: Request,
        *,
        answer: AnswerView | None = None,
        problem: str | None = None,
        status: int = 200,
        form: dict[str, str] | None = None,
    ) -> Response:
        values = {
            **await self._report(),
            **self._about(),
            "token": self._key.token(self._session_cookie.read(request)),
            "answer": answer,
            "apps": await self._apps(),
            "measured": await anyio.to_thread.run_sync(self._measured, limiter=_THREADS),
            "problem": problem,
            "form": {"question": "", **dict.fromkeys(_FILTERS, ""), **(form or {})},
            "mcp_url": f"{self._parts.settings.base_url or str(request.base_url).rstrip('/')}/mcp",
        }
        return html("home.html", values, status)

    async def _apps(self) -> list[AppView] | None:
        """Connected apps; None where there is no login for them."""
        if self._parts.login is None:
            return None
        grants = await anyio.to_thread.run_sync(self._parts.login.store.grants, limiter=_THREADS)
        return [app_view(grant, time.time()) for grant in grants]

    def _measured(self) -> str | None:
        """How long ago quality was measured; None when it never was."""
        try:
            return ago(int(time.time() - self._report_file.stat().st_mtime))
        except OSError:
            return None

    async def _report(self) -> dict[str, Any]:
        health = await anyio.to_thread.run_sync(lambda: self._parts.health.report(errors=True), limiter=_THREADS)
        words = STATUS_WORDS[health.status]
        return {"health": health, "sources": source_views(health), "status_words": words}

    def _about(self) -> dict[str, Any]:
        return {"version": self._parts.settings.version, "instance": self._parts.settings.instance}
