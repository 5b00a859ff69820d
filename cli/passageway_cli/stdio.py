"""`passageway stdio`: MCP over standard input and output, passed on to the running server.

For clients that can only start a program. Each line is one JSON-RPC message; the index and the model stay in the
server, so that any number of these cost next to nothing. Standard output holds nothing but JSON-RPC.
"""

import argparse
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

import httpx

from passageway.settings import Settings
from passageway_cli.own_server import local_url, own_client, with_password
from passageway_cli.rpc import events, headers_for, lines_of

logger = logging.getLogger(__name__)

REPLY_TIMEOUT_S = 60
"""A search takes milliseconds; a model that is being loaded takes seconds."""
START_WAIT_S = 5.0
"""Client and server are often started together, and a server that is updated is back in seconds."""
_PAUSE_S = 0.2
AT_ONCE = 8

PARSE_ERROR, INVALID_REQUEST, UNREACHABLE = -32700, -32600, -32000
"""JSON-RPC's own codes, and the first that it leaves to servers."""

Message = dict[str, Any]


def stdio(settings: Settings, _arguments: argparse.Namespace) -> int:
    """Pass messages on until standard input ends; 0. What cannot be passed on is answered with an error."""
    with own_client(REPLY_TIMEOUT_S) as http, ThreadPoolExecutor(AT_ONCE) as pool:
        bridge = Bridge(settings, http, sys.stdout.buffer)
        for line in sys.stdin.buffer:
            if line.strip():
                pool.submit(bridge.take, line)
    return 0


class Bridge:
    """Passes one line after another on to the server. Thread-safe."""

    def __init__(self, settings: Settings, http: httpx.Client, output: BinaryIO) -> None:
        self._url = f"{local_url(settings)}/mcp"
        self._opened = with_password(settings)
        self._http = http
        self._output = output
        self._turn = threading.Lock()
        # Agreed on in the handshake of the older revisions; the newest says it in every message.
        self._version: str | None = None
        self._waited = False

    def take(self, line: bytes) -> None:
        """Pass the message of a line on and print every answer to it."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._print(_error(None, PARSE_ERROR, "a line was not JSON; expected one JSON-RPC message a line"))
            return
        if not isinstance(message, dict):
            self._print(_error(None, INVALID_REQUEST, "expected a JSON-RPC message, an object"))
            return
        try:
            for answer in self._answers(message, line):
                self._print(answer)
        except httpx.HTTPError as error:
            self._print_error(message, f"no passageway answers at {self._url} ({error}); start it with `passageway`")
        except Exception:
            logger.exception("a message was not passed on")
            self._print_error(message, "the message could not be passed on; the log of `passageway stdio` says why")

    def _answers(self, message: Message, line: bytes) -> Iterator[Message]:
        deadline = time.monotonic() + START_WAIT_S
        while True:
            try:
                yield from self._exchange(message, line)
                return
            except httpx.ConnectError:
                if time.monotonic() > deadline:
                    raise
                self._say_that_it_waits()
                time.sleep(_PAUSE_S)

    def _say_that_it_waits(self) -> None:
        with self._turn:
            if not self._waited:
                logger.info("nothing answers at %s yet; trying for %g s", self._url, START_WAIT_S)
            self._waited = True

    def _exchange(self, message: Message, line: bytes) -> Iterator[Message]:
        headers = headers_for(message, self._version)
        with self._http.stream("POST", self._url, content=line.strip(), headers=headers, auth=self._opened) as reply:
            if reply.headers.get("content-type", "").startswith("text/event-stream"):
                for data in events(lines_of(reply.iter_bytes())):
                    yield self._noted(message, json.loads(data))
                return
            reply.read()
            if reply.status_code == httpx.codes.ACCEPTED:
                return
            yield self._noted(message, _answer_of(reply, message))

    def _noted(self, message: Message, answer: Message) -> Message:
        """The answer; that to a handshake names the version of what follows."""
        result = answer.get("result")
        if message.get("method") == "initialize" and isinstance(result, dict):
            self._version = result.get("protocolVersion")
        return answer

    def _print_error(self, message: Message, text: str) -> None:
        """The error as the answer to a request; a notification has none, and its error goes to the log."""
        if "id" in message:
            self._print(_error(message["id"], UNREACHABLE, text))
        else:
            logger.error("%s", text)

    def _print(self, answer: Message) -> None:
        line = json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"
        with self._turn:
            try:
                self._output.write(line)
                self._output.flush()
            except BrokenPipeError:
                # The client left; the end of standard input follows.
                logger.debug("the client is gone")


def _answer_of(reply: httpx.Response, message: Message) -> Message:
    """The JSON-RPC message in a reply, or the reason of a refusal as one."""
    try:
        body = reply.json()
    except ValueError:
        body = None
    if isinstance(body, dict) and body.get("jsonrpc") == "2.0":
        return body
    told = body.get("message") if isinstance(body, dict) else None
    if reply.status_code == httpx.codes.UNAUTHORIZED:
        told = (
            "the server does not take this password; set PASSAGEWAY_LOGIN_PASSWORD_FILE for `passageway stdio` "
            "as for the server, and restart the server if it has changed"
        )
    return _error(message.get("id"), UNREACHABLE, str(told or f"{reply.request.url} answered {reply.status_code}"))


def _error(message_id: Any, code: int, text: str) -> Message:
    """An error as the answer to a request; what can be no id of one, such as NaN, is not repeated."""
    known = message_id if isinstance(message_id, str | int) and not isinstance(message_id, bool) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": text}}
