"""What each route takes and answers, for `app.openapi()`, which tests read, and a 405 for what it allows.

No address serves it.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.responses import Response

Responses = dict[int | str, dict[str, Any]]
Json = dict[str, Any]

REFUSALS = {
    400: "The request cannot be understood; `message` says what was expected.",
    401: "There is no password or token, or a wrong one.",
    403: "The request comes from a web page of another origin.",
    405: "The address does not take this method.",
    408: "The body did not come in time.",
    413: "The body is over what this address takes.",
    415: "The body is not sent as JSON.",
    421: "The request is for a host name that is not this server's.",
    429: "Too many wrong passwords; `Retry-After` says how many seconds to wait.",
    503: "The server cannot do this now; its log says why.",
}
ANYWHERE = (403, 421)
"""What the check of host and origin answers, whatever the address."""


class RefusalBody(BaseModel):
    """What every door says when it refuses."""

    error: str
    message: str


class OAuthProblem(BaseModel):
    """What the addresses of OAuth say when they refuse (RFC 6749, RFC 7591)."""

    error: str
    error_description: str | None = None


def route(
    *answers: Responses, takes: Json | None = None, status: int = 200, success: type[Response] = Response
) -> Json:
    """What `add_api_route` is told of a handler that makes its own responses: all answers, a later one for an earlier.

    `takes` is the request's description as below, `status` the one of a success and `success` the class of its body.
    """
    responses = {number: answer for some in answers for number, answer in some.items()}
    return {
        "response_model": None,
        "response_class": success,
        "status_code": status,
        "responses": responses,
        "openapi_extra": takes,
    }


def refusals(*statuses: int) -> Responses:
    """Refusals in the one JSON shape."""
    return {status: {"model": RefusalBody, "description": REFUSALS[status]} for status in statuses}


def statuses_of(responses: Responses) -> Responses:
    """The same answers without their bodies, for HEAD."""
    return {status: {"description": response["description"]} for status, response in responses.items()}


def problems(descriptions: Mapping[int, str]) -> Responses:
    """Refusals in the shape of OAuth."""
    return {status: {"model": OAuthProblem, "description": said} for status, said in descriptions.items()}


def text(description: str) -> Responses:
    """Plain text, with 200."""
    return {200: {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}}


def pages(descriptions: Mapping[int, str], *or_refusals: int) -> Responses:
    """Pages for a person; with some of the statuses the answer may be a refusal in JSON instead."""
    # FastAPI adds the JSON of a model to the contents that are given.
    return {
        status: {
            "description": said,
            "content": {"text/html": {"schema": {"type": "string"}}},
            **({"model": RefusalBody} if status in or_refusals else {}),
        }
        for status, said in descriptions.items()
    }


def redirect(status: int, description: str) -> Responses:
    """An answer that leads elsewhere."""
    location = {"Location": {"description": "Where to", "required": True, "schema": {"type": "string"}}}
    return {status: {"description": description, "headers": location}}


def json_body(properties: Json, required: tuple[str, ...] = ()) -> Json:
    """The description of a request with a JSON object."""
    return _body("application/json", properties, required)


def form_body(*required: str, optional: tuple[str, ...] = ()) -> Json:
    """The description of a request with a form."""
    properties = {name: {"type": "string"} for name in (*required, *optional)}
    return _body("application/x-www-form-urlencoded", properties, required)


def _body(media_type: str, properties: Json, required: tuple[str, ...]) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}


def query_parameters(*required: str, optional: tuple[str, ...] = ()) -> Json:
    """The description of a request whose parameters are in the address."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": name in required, "schema": {"type": "string"}}
            for name in (*required, *optional)
        ]
    }


class Application(FastAPI):
    """A FastAPI whose description has the address of MCP too, which is no route of FastAPI's."""

    def openapi(self) -> Json:
        described = super().openapi()
        described["paths"].setdefault("/mcp", {"post": _mcp()})
        return described


def _mcp() -> Json:
    statuses = (400, 401, *ANYWHERE, 408, 413, 415, 429)
    shape = {"schema": {"$ref": f"#/components/schemas/{RefusalBody.__name__}"}}
    refused = {
        str(status): {"description": REFUSALS[status], "content": {"application/json": shape}} for status in statuses
    }
    message: Json = {"type": "object", "description": "A JSON-RPC message."}
    event: Json = {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
    answers = {"application/json": {"schema": message}, "text/event-stream": {"schema": event}}
    # The transport's own refusals are JSON-RPC errors.
    for status in ("400", "406", "404"):
        refused.setdefault(status, {"description": "The transport refuses the message."})
        refused[status]["content"] = {"application/json": {"schema": message}}
    properties: Json = {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["integer", "string"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    }
    return {
        "summary": "MCP, streamable HTTP",
        "operationId": "mcp_post",
        "parameters": [
            {"name": name, "in": "header", "schema": {"type": "string"}}
            for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
        ],
        **json_body(properties, ("jsonrpc", "method")),
        "responses": {
            "200": {"description": "The answer, as a stream of one event or as JSON.", "content": answers},
            "202": {"description": "A notification was taken."},
            **refused,
        },
    }
