"""Requests bent at random, from a fixed seed: none is an error of the server's, and none lets anybody in.

PASSAGEWAY_MUTATIONS sets how many of each kind are sent; ten thousand of each of the nine take four minutes.
"""

import json
import os
import random
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

COUNT = int(os.environ.get("PASSAGEWAY_MUTATIONS", "400"))
ODD_TEXTS = [
    "",
    " ",
    "\x00",
    "\ud83d",
    "é" * 3,
    "%00%ff",
    "' OR 1=1 --",
    "../../etc/passwd",
    "{{7*7}}",
    "<script>",
    "\r\nSet-Cookie: a=b",
    "null",
    "[]",
    "-1",
    "9" * 400,
    "x" * 9000,
    "https://evil.example/",
    "http://127.0.0.1@evil.example/",
    "javascript:alert(1)",
    "//evil.example",
    "mcp_at_" + "x" * 43,
    "mcp_rt_" + "x" * 43,
    "a.b",
    "eyJuIjoieCJ9.AAAA",
]
ODD_VALUES: list[Any] = [None, True, 0, -1, 1e308, 10**400, [], {}, [[]], {"a": {"b": [None]}}, *ODD_TEXTS]


def bent_text(text: str, chance: random.Random) -> str:
    """The text with a piece of it lost, doubled or replaced, or another altogether."""
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.randrange(1, 12))
    return chance.choice(
        [
            text[:start] + text[end:],
            text[:start] + text[start:end] * 2 + text[end:],
            text[:start] + chance.choice(ODD_TEXTS) + text[end:],
            text.swapcase(),
            chance.choice(ODD_TEXTS),
        ]
    )


def bent_pairs(pairs: dict[str, str], chance: random.Random) -> list[tuple[str, str]]:
    """Form fields, some of them lost, sent twice, renamed or changed."""
    found = list(pairs.items())
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(found)) if found else 0
        if not found:
            break
        name, value = found[place]
        found[place : place + 1] = chance.choice(
            [
                [],
                [(name, value), (name, bent_text(value, chance))],
                [(bent_text(name, chance), value)],
                [(name, bent_text(value, chance))],
                [(name, bent_text(value, chance))],
            ]
        )
    return found


def bent_json(value: Any, chance: random.Random) -> Any:
    """A JSON value with something in it replaced by something else, lost or added."""
    if chance.random() < 0.15 or not isinstance(value, dict | list):
        return chance.choice([chance.choice(ODD_VALUES), [value], {"a": value}, value])
    if isinstance(value, list):
        return [bent_json(one, chance) for one in value] if value else [chance.choice(ODD_VALUES)]
    bent = dict(value)
    name = chance.choice([*bent, "extra"])
    if name in bent and chance.random() < 0.25:
        del bent[name]
    else:
        bent[name] = bent_json(bent.get(name), chance)
    return bent


def sendable(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def bent_body(value: Any, chance: random.Random) -> bytes:
    """JSON of a bent value; now and then cut short, or followed by more."""
    body = json.dumps(bent_json(value, chance)).encode()
    if chance.random() < 0.1:
        return body[: chance.randrange(len(body) + 1)]
    return body + b"\xff" if chance.random() < 0.05 else body


def form(pairs: list[tuple[str, str]]) -> bytes:
    return urlencode([(sendable(name), sendable(value)) for name, value in pairs]).encode()


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def reply_to(
    http: httpx.Client, kind: str, person: Any, client: dict[str, Any], chance: random.Random
) -> httpx.Response:
    """The answer to one bent request of that kind."""
    verifier, challenge = "v" * 50, "c" * 43
    redirect = client["redirect_uris"][0]
    asked = {
        "response_type": "code",
        "client_id": client["client_id"],
        "redirect_uri": redirect,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "state": "xyz",
        "scope": "recall",
        "resource": f"{person.url}/mcp",
    }
    code = {"grant_type": "authorization_code", "code": "c" * 43, "code_verifier": verifier, "redirect_uri": redirect}
    about = {"client_id": client["client_id"], "resource": f"{person.url}/mcp"}
    refresh = {"grant_type": "refresh_token", "refresh_token": "mcp_rt_" + "r" * 43}
    metadata = {"redirect_uris": [redirect], "client_name": "x", "token_endpoint_auth_method": "none", "scope": "a b"}
    login = {"request": "eyJhIjoxfQ.AAAA", "token": "t" * 64, "password": "guess", "action": "allow"}
    call = {"name": "recall", "arguments": {"query": "When do we rotate the certificate?", "source": "notes"}}
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    if kind == "authorize":
        return http.get(f"/authorize?{form(bent_pairs(asked, chance)).decode()}")
    if kind == "register":
        return http.post("/register", content=bent_body(metadata, chance), headers=JSON)
    if kind == "mcp":
        return http.post("/mcp", content=bent_body(rpc, chance), headers=JSON)
    pairs = {
        "token": code | about,
        "refresh": refresh | about,
        "revoke": {"token": "mcp_at_x", **about},
        "login": login,
    }
    path = "/token" if kind == "refresh" else f"/{kind}"
    return http.post(path, content=form(bent_pairs(pairs[kind], chance)), headers=FORM)


@pytest.mark.parametrize("kind", ["authorize", "register", "token", "refresh", "revoke", "login", "mcp"])
def test_a_stranger_with_bent_requests_breaks_nothing_and_gets_nothing(
    newcomer: Any, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    chance = random.Random(f"stranger {kind}")
    client = newcomer.register()
    for number in range(COUNT):
        reply = reply_to(newcomer.http, kind, newcomer, client, chance)
        assert reply.status_code < 500, f"request {number}: {reply.text}"
        assert "access_token" not in reply.text
        assert "code=" not in reply.headers.get("location", "")
        assert kind != "mcp" or reply.status_code in (401, 429)
    assert not [record for record in caplog.records if record.exc_info]


def test_bent_requests_of_a_client_that_is_let_in_break_nothing(
    standing: httpx.Client, auth: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random("client")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    }
    resource = {"uri": "passageway://item/notes/ops%2Fvault.md"}
    methods: dict[str, dict[str, Any]] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"cursor": "x"},
        "tools/call": {"name": "recall", "arguments": {"query": "certificate", "updated_after": "2026-10-01"}},
        "resources/read": resource,
        "resources/templates/list": {},
        "prompts/get": {"name": "catch_me_up", "arguments": {"topic": "vault"}},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "what_did_we_decide"},
            "argument": {"name": "label", "value": "d"},
        },
        "server/discover": {},
        "ping": {},
    }
    for number in range(COUNT):
        method = chance.choice(list(methods))
        params = methods[method] | ({"_meta": meta} if chance.random() < 0.5 else {})
        body = bent_body({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, chance)
        versions = ["2026-07-28", "2025-11-25", "2025-03-26", "1999-01-01", "x"]
        headers = {**JSON, **auth, "MCP-Protocol-Version": chance.choice(versions), "Mcp-Method": method}
        reply = standing.post("/mcp", content=body, headers=headers)
        assert reply.status_code < 500, f"request {number}, {body[:300]!r}: {reply.text}"
    assert not [record for record in caplog.records if record.exc_info]


def test_bent_prompts_break_nothing(standing: httpx.Client, auth: dict[str, str]) -> None:
    chance = random.Random("prompts")
    prompt = {"prompt": "When do we rotate the signing certificate?", "session_id": "s", "cwd": "/home/anna/wiki"}
    for number in range(COUNT):
        reply = standing.post("/recall", content=bent_body(prompt, chance), headers=JSON | auth)
        assert reply.status_code in (200, 400), f"request {number}: {reply.text}"
