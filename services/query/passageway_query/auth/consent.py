"""The pages that a person sees: who asks, where it leads, and the password. Nothing is kept between them."""

import logging
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
from authlib.oauth2.rfc6749 import OAuth2Error
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from passageway.settings import Settings
from passageway_query.auth.addresses import is_known, is_loopback, shown_target, with_parameters
from passageway_query.auth.clients import Client
from passageway_query.auth.documents import DocumentError, is_document_address
from passageway_query.auth.seal import Seal
from passageway_query.auth.server import AuthRequest, InvalidTargetError, Server
from passageway_query.guard import Guard, address
from passageway_query.openapi import form_body, pages, query_parameters, redirect, refusals, route
from passageway_query.web.forms import FormKey, read_form
from passageway_query.web.session import Cookie
from passageway_query.web.templating import CONSENT_HEADERS, html

logger = logging.getLogger(__name__)

MAX_AGE_S = 600

_BACK = redirect(302, "Back to the app, with a code or an error.")
_AUTHORIZE = route(
    pages({200: "Who asks, and for what.", 400: "What is wrong with the request."}),
    _BACK,
    takes=query_parameters(
        *("client_id", "response_type", "code_challenge", "code_challenge_method"),
        optional=("redirect_uri", "state", "scope", "resource"),
    ),
)
_NOT_ALLOWED = {
    400: "The sign-in has expired, or that is no form of this page.",
    401: "The page again: that was not the password.",
    403: "The form was not sent by this browser.",
    429: "The page again: too many wrong passwords.",
}
_LOGIN = route(
    _BACK,
    pages(_NOT_ALLOWED, 400, 403),
    refusals(408, 413),
    takes=form_body("request", "token", "action", optional=("password",)),
    status=302,
)

_AGAIN = "Start again from the app. If that does not help, remove the connection there and add it anew."


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asked for, as it went into the form and came back out of it."""

    client_id: str
    client_name: str
    redirect_uri: str
    explicit: bool
    challenge: str
    state: str | None


class Consent:
    """`/authorize` and `/login`."""

    def __init__(self, server: Server, guard: Guard, settings: Settings) -> None:
        self._server = server
        self._guard = guard
        self._settings = settings
        self._seal = Seal(server.store.key, "consent")
        self._key = FormKey()
        self._cookie = Cookie("login", settings)

    def router(self) -> APIRouter:
        """Both routes."""
        router = APIRouter()
        router.add_api_route("/authorize", self.authorize, methods=["GET"], **_AUTHORIZE)
        router.add_api_route("/login", self.login, methods=["POST"], **_LOGIN)
        return router

    async def authorize(self, request: Request) -> Response:
        """The consent page for a valid request. What is wrong with another is told to the client or shown."""
        pairs = request.query_params.multi_items()
        asked = AuthRequest("GET", "/authorize", pairs, request.headers, self._server.addresses)
        client_id = asked.form.get("client_id", "")
        if self._server.documents is not None and self._server.describes_itself(client_id):
            try:
                await self._server.documents.read(client_id)
            except DocumentError as error:
                return self._problem("This app cannot be looked up", f"The document {client_id}: {error}.", 400)
        try:
            grant = self._server.get_consent_grant(asked, end_user=None)
            if not self._server.addresses.is_ours(asked.form.get("resource")):
                raise InvalidTargetError("the sign-in is for another server", redirect_uri=grant.redirect_uri)
        except OAuth2Error as error:
            return self._refused(error, asked.form.get("state"))
        return self._page(request, _asked(grant.client, grant.redirect_uri, asked.form))

    def _refused(self, error: OAuth2Error, state: str | None) -> Response:
        """An error goes back to the client if it is one that anybody would send a person to; else to the person."""
        logger.info("oauth: refused a sign-in: %s", error.error)
        uri = getattr(error, "redirect_uri", None)
        if uri and is_known(uri):
            return self._back(uri, error=error.error, error_description=error.description or None, state=state)
        said = (error.description or "The app asked for something that this server does not do").rstrip(".")
        return self._problem("This sign-in request is not valid", f"{said} ({error.error}).", 400)

    async def login(self, request: Request) -> Response:
        """A code for the client once the person gave the password, or the client's answer to a no."""
        form = await read_form(request, self._settings.base_url)
        sealed = form.get("request", "")
        record = self._seal.open(sealed)
        if record is None or record.pop("expires") < time.time():
            return self._problem(
                "This sign-in has expired", "Too much time went by, or the server's data was replaced.", 400
            )
        if not self._key.matches(form.get("token", ""), self._bound(request, sealed)):
            return self._problem("This form was not sent by this browser", "Allow cookies for this address.", 403)
        asked = Asked(**record)
        if form.get("action") != "allow":
            return self._back(asked.redirect_uri, error="access_denied", state=asked.state)
        ruling = self._guard.rule(form.get("password", ""), address(request), typed=True)
        if ruling.retry_after_s:
            page = self._page(request, asked, f"Too many wrong passwords. Wait {ruling.retry_after_s} seconds.", 429)
            page.headers["Retry-After"] = str(ruling.retry_after_s)
            return page
        if not ruling.admitted:
            return self._page(request, asked, "That is not the password.", 401)
        code = await anyio.to_thread.run_sync(
            self._server.store.new_code,
            asked.client_id,
            asked.client_name,
            asked.redirect_uri,
            asked.explicit,
            asked.challenge,
        )
        logger.info("oauth: signed in %r", asked.client_name)
        return self._back(asked.redirect_uri, code=code, state=asked.state)

    def _bound(self, request: Request, sealed: str) -> str:
        """What the form's token is for: this browser and this request."""
        cookie = self._cookie.read(request)
        return f"{cookie}|{sealed}" if cookie else ""

    def _page(self, request: Request, asked: Asked, problem: str | None = None, status: int = 200) -> Response:
        sealed = self._seal.close({**_fields(asked), "expires": int(time.time()) + MAX_AGE_S})
        cookie = self._cookie.read(request) or secrets.token_urlsafe(24)
        values = {
            **self._about(),
            "client": asked.client_name,
            "described_at": urlsplit(asked.client_id).hostname if is_document_address(asked.client_id) else None,
            "target": shown_target(asked.redirect_uri),
            "loopback": is_loopback(asked.redirect_uri),
            "known": is_known(asked.redirect_uri),
            "request": sealed,
            "token": self._key.token(f"{cookie}|{sealed}"),
            "problem": problem,
        }
        page = html("consent.html", values, status, CONSENT_HEADERS)
        self._cookie.write(request, page, cookie, MAX_AGE_S)
        return page

    def _problem(self, title: str, text: str, status: int) -> Response:
        return html("problem.html", {**self._about(), "title": title, "text": text, "hint": _AGAIN}, status)

    def _about(self) -> dict[str, Any]:
        return {"version": self._settings.version, "instance": self._settings.instance}

    def _back(self, uri: str, **parameters: str | None) -> Response:
        """To the client, with a GET: a 307 would send it the password."""
        target = with_parameters(uri, **parameters, iss=self._server.addresses.issuer)
        return RedirectResponse(target, 302, headers=CONSENT_HEADERS)


def _asked(client: Client, redirect_uri: str, form: dict[str, str]) -> Asked:
    return Asked(
        client_id=client.client_id,
        client_name=client.name,
        redirect_uri=redirect_uri,
        explicit="redirect_uri" in form,
        challenge=form["code_challenge"],
        state=form.get("state"),
    )


def _fields(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__slots__}
