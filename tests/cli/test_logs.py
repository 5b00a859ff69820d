"""What the log holds at its most talkative: nothing that was asked or found, no password and no token."""

import base64
import hashlib
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

Environment = dict[str, str]
Running = Callable[[Environment], AbstractContextManager[Path]]
PASSWORD = "correct horse battery"
CALLBACK = "http://127.0.0.1:1/callback"
VERIFIER = "verified-" * 6
WRONG = "wrong guess of a password"


def call(http: httpx.Client, bearer: str, method: str, **params: Any) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {bearer}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return http.post("/mcp", json=message, headers=headers)


def ask_everywhere(http: httpx.Client) -> None:
    """The word zanzibar in a question, a prompt, a name of everything that can be named."""
    for name, arguments in (
        ("recall", {"query": "zanzibar Green tea steeps at eighty degrees"}),
        ("recall", {"query": {"zanzibar": 1}}),
        ("recall", {"query": "tea", "updated_after": "zanzibar"}),
        ("open", {"id": "notes/zanzibar"}),
        ("open", {"id": "notes/tea.txt"}),
        ("zanzibar", {}),
        ("search", {"query": "Green tea steeps at eighty degrees"}),
        ("fetch", {"id": "notes/tea.txt"}),
    ):
        call(http, PASSWORD, "tools/call", name=name, arguments=arguments)
    call(http, PASSWORD, "resources/read", uri="passageway://item/notes/zanzibar")
    call(http, PASSWORD, "resources/read", uri="passageway://item/notes/tea.txt")
    call(http, PASSWORD, "prompts/get", name="catch_me_up", arguments={"topic": "zanzibar"})
    call(http, PASSWORD, "prompts/get", name="zanzibar")
    ref = {"type": "ref/prompt", "name": "catch_me_up"}
    call(http, PASSWORD, "completion/complete", ref=ref, argument={"name": "label", "value": "zanzibar"})
    call(http, PASSWORD, "tools/list", cursor="zanzibar")
    call(http, PASSWORD, "initialize", clientInfo="zanzibar")
    call(http, WRONG, "tools/list")
    prompt = {"prompt": "zanzibar: Green tea steeps at eighty degrees", "session_id": "zanzibar", "cwd": "/zanzibar"}
    http.post("/recall", json=prompt, headers={"Authorization": f"Bearer {PASSWORD}"})
    http.post("/recall", content=b'{"prompt": zanzibar', headers={"Authorization": f"Bearer {PASSWORD}"})


def hidden(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', page.text))


def ask_on_the_page(http: httpx.Client) -> None:
    form = hidden(http.get("/sign-in"))
    http.post("/sign-in", data={**form, "password": WRONG})
    http.post("/sign-in", data={**hidden(http.get("/sign-in")), "password": PASSWORD})
    page = http.post("/ask", data={**hidden(http.get("/")), "question": "zanzibar Green tea steeps at eighty degrees"})
    assert "zanzibar" in page.text


def sign_in_as_an_app(http: httpx.Client) -> list[str]:
    """Every secret that came up on the way: codes, tokens and what is behind the challenge."""
    client = http.post("/register", json={"redirect_uris": [CALLBACK], "client_name": "an app"}).json()["client_id"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
    asked = {"response_type": "code", "client_id": client, "redirect_uri": CALLBACK, "state": "zanzibar"}
    page = http.get("/authorize", params={**asked, "code_challenge": challenge, "code_challenge_method": "S256"})
    location = http.post("/login", data={**hidden(page), "password": PASSWORD, "action": "allow"}).headers["location"]
    code = parse_qs(urlsplit(location).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "client_id": client}
    first = http.post("/token", data={**form, "code_verifier": VERIFIER}).json()
    assert call(http, first["access_token"], "tools/list").status_code == 200
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], "client_id": client}
    second = http.post("/token", data=form).json()
    http.post("/token", data={**form, "refresh_token": "mcp_rt_zanzibar"})
    call(http, "mcp_at_zanzibar", "tools/list")
    http.post("/revoke", data={"token": second["access_token"], "client_id": client})
    return [code, VERIFIER, *(pair[kind] for pair in (first, second) for kind in ("access_token", "refresh_token"))]


def test_the_log_at_its_most_talkative_holds_no_question_answer_password_or_token(
    environment: Environment, running: Running
) -> None:
    url = f"http://127.0.0.1:{environment['PASSAGEWAY_PORT']}"
    environment |= {
        "PASSAGEWAY_LOG_LEVEL": "DEBUG",
        "PASSAGEWAY_BASE_URL": url,
        "PASSAGEWAY_CHATGPT_TOOLS": "on",
    }
    with running(environment) as log, httpx.Client(base_url=url, timeout=20, trust_env=False) as http:
        ask_everywhere(http)
        ask_on_the_page(http)
        secrets = sign_in_as_an_app(http)
        doctor = subprocess.run(
            [sys.executable, "-m", "passageway_cli", "doctor"], env=environment, capture_output=True, timeout=60
        )
    written = log.read_text(encoding="utf-8") + doctor.stderr.decode()
    assert "hook: 1 found" in written and "oauth: signed in" in written
    told = [text for text in (PASSWORD, WRONG, "zanzibar", "eighty degrees", *secrets) if text in written]
    assert told == []


def test_a_client_that_leaves_in_the_middle_of_its_request_leaves_no_error_in_the_log(
    environment: Environment, running: Running
) -> None:
    port = int(environment["PASSAGEWAY_PORT"])
    environment |= {"PASSAGEWAY_BASE_URL": f"http://127.0.0.1:{port}"}
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Type: application/json\r\n"
    with running(environment) as log, httpx.Client(trust_env=False) as http:
        for path in ("/mcp", "/recall", "/sign-in", "/ask", "/login", "/register", "/token", "/revoke"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(f"POST {path} HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{".encode())
        assert http.get(f"http://127.0.0.1:{port}/health").status_code == 200
    assert not re.search("Traceback|ERROR", log.read_text(encoding="utf-8"))
