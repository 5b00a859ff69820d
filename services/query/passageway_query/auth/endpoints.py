"""The addresses that programs call: discovery, registration, tokens and revocation."""

import json
import logging
import time
from collections import deque
from urllib.parse import parse_qsl

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from passageway_query.auth import metadata
from passageway_query.auth.clients import RegistrationError
from passageway_query.auth.server import CORS, NOT_STORED, AuthRequest, Server
from passageway_query.openapi import form_body, json_body, problems, refusals, route
from passageway_query.replies import bounded

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024
_MAX_FIELDS = 30
# For everybody together: the large clients register anew for each connection, all from one address.
MAX_REGISTRATIONS_A_MINUTE = 60

PATHS = (*metadata.PATHS, "/register", "/token", "/revoke")
"""Open to pages of any origin: they go by what a request says, never by a cookie."""

_TOO_LARGE = refusals(408, 413)
_REGISTER = route(
    problems({400: "The metadata cannot be accepted.", 429: "Too many registrations from everybody together."}),
    _TOO_LARGE,
    takes=json_body(
        {"redirect_uris": {"type": "array", "items": {"type": "string"}}, "client_name": {"type": "string"}},
        ("redirect_uris",),
    ),
    status=201,
    success=JSONResponse,
)
_CLIENT_PROBLEMS = problems({400: "What was sent does not give that.", 401: "There is no such client."})
_TOKEN = route(
    _CLIENT_PROBLEMS,
    _TOO_LARGE,
    takes=form_body(
        *("grant_type", "client_id"),
        optional=("code", "code_verifier", "redirect_uri", "refresh_token", "resource", "scope"),
    ),
    success=JSONResponse,
)
_REVOKE = route(
    _CLIENT_PROBLEMS,
    _TOO_LARGE,
    takes=form_body("token", "client_id", optional=("token_type_hint",)),
    success=JSONResponse,
)


class Endpoints:
    """The routes, on one authorization server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._registered: deque[float] = deque()

    def router(self) -> APIRouter:
        """All of them, each with its answer to a browser that asks first."""
        router = APIRouter()
        for path in metadata.PATHS:
            router.add_api_route(path, self.discovery, methods=["GET"], response_model=None)
        for path, handler, described in (
            ("/register", self.register, _REGISTER),
            ("/token", self.token, _TOKEN),
            ("/revoke", self.revoke, _REVOKE),
        ):
            router.add_api_route(path, handler, methods=["POST"], **described)
        for path in PATHS:
            router.add_api_route(path, _preflight, methods=["OPTIONS"], response_model=None, status_code=204)
        return router

    async def discovery(self, request: Request) -> Response:
        """Either of the two documents, by its address."""
        addresses, documents = self._server.addresses, self._server.documents is not None
        if "protected" in request.url.path:
            return JSONResponse(metadata.protected_resource(addresses), headers=CORS)
        return JSONResponse(metadata.authorization_server(addresses, documents=documents), headers=CORS)

    async def register(self, request: Request) -> Response:
        """A client id for a program that introduces itself (RFC 7591)."""
        if not self._may_register():
            return _problem(429, "temporarily_unavailable", "too many registrations; try again in a minute", "60")
        try:
            client, answer = self._server.registry.register(await _json(request), int(time.time()))
        except RegistrationError as error:
            return _problem(400, error.code, str(error))
        logger.info("oauth: registered %r", client.name)
        return JSONResponse(answer, 201, headers={**CORS, **NOT_STORED})

    def _may_register(self) -> bool:
        now = time.monotonic()
        while self._registered and self._registered[0] < now - 60:
            self._registered.popleft()
        if len(self._registered) >= MAX_REGISTRATIONS_A_MINUTE:
            return False
        self._registered.append(now)
        return True

    async def token(self, request: Request) -> Response:
        """Tokens for a code or for a refresh token."""
        asked = await self._form(request)
        if isinstance(asked, Response):
            return asked
        answer: Response = await anyio.to_thread.run_sync(self._server.create_token_response, asked)
        logger.info("oauth: %r answered with %d", asked.form.get("grant_type", "")[:40], answer.status_code)
        return answer

    async def revoke(self, request: Request) -> Response:
        """The end of a grant, by one of its tokens."""
        asked = await self._form(request)
        if isinstance(asked, Response):
            return asked
        return await anyio.to_thread.run_sync(self._server.revoke, asked)

    async def _form(self, request: Request) -> AuthRequest | Response:
        body = await bounded(request.stream(), MAX_BODY_BYTES)
        try:
            pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError:
            return _problem(400, "invalid_request", "the body is not a form")
        if len(dict(pairs)) != len(pairs):
            return _problem(400, "invalid_request", "a parameter was sent more than once")
        return AuthRequest("POST", request.url.path, pairs, request.headers, self._server.addresses)


async def _preflight() -> Response:
    return Response(status_code=204, headers=CORS)


async def _json(request: Request) -> object:
    body = await bounded(request.stream(), MAX_BODY_BYTES)
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError):
        raise RegistrationError("invalid_client_metadata", "the body is not JSON") from None
    return message


def _problem(status: int, code: str, description: str, retry_after: str | None = None) -> Response:
    headers = {**CORS, **NOT_STORED, **({"Retry-After": retry_after} if retry_after else {})}
    return JSONResponse({"error": code, "error_description": description}, status, headers=headers)
