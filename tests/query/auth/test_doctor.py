"""The doctor's walk through a sign-in: each hop that a proxy or a setting breaks is the one that is named."""

import contextlib
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from passageway_cli.doctor.finding import Finding, State
from passageway_cli.doctor.sign_in import reachable_from_elsewhere, sign_in

Upstream = httpx.Response
Break = Callable[[Request, Upstream | None], Response | None]
"""What a proxy answers itself: before it has asked the server (None), and after. None lets the request pass."""

HOPS = [
    "address",
    "refusal",
    "resource metadata",
    "server metadata",
    "registration",
    "consent page",
    "login",
    "token",
    "tool call",
    "refresh",
    "revocation",
]


class Proxy:
    """A reverse proxy in front of the server, which can be told what to spoil."""

    def __init__(self) -> None:
        self.upstream = ""
        self.spoil: Break = lambda request, answer: None
        self.drop: frozenset[str] = frozenset()
        self.add: dict[str, str] = {}

    def app(self) -> Starlette:
        """The proxy as an application."""

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with httpx.AsyncClient(trust_env=False) as self.http:
                yield

        methods = ["GET", "POST", "OPTIONS"]
        return Starlette(routes=[Route("/{path:path}", self.pass_on, methods=methods)], lifespan=lifespan)

    async def pass_on(self, request: Request) -> Response:
        own = self.spoil(request, None)
        if own is not None:
            return own
        headers = {name: value for name, value in request.headers.items() if name not in self.drop} | self.add
        url = f"{self.upstream}{request.url.path}?{request.url.query}"
        answer = await self.http.request(request.method, url, content=await request.body(), headers=headers)
        self.http.cookies.clear()
        spoiled = self.spoil(request, answer)
        if spoiled is not None:
            return spoiled
        response = Response(answer.content, answer.status_code)
        response.raw_headers = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.lower() not in (b"transfer-encoding", b"date", b"server") and name.lower().decode() not in self.drop
        ]
        return response


@pytest.fixture
def proxy(meet: Callable[..., Any], served_on: Callable[..., Any]) -> Iterator[Callable[..., tuple[Proxy, str]]]:
    """`proxy()`: a proxy with a server behind it whose public address is the proxy's; and that address."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(proto=socket.IPPROTO_TCP))
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        proxy = Proxy()

        def start(**settings: str) -> tuple[Proxy, str]:
            proxy.upstream = meet(**{"base_url": address, **settings}).url
            stack.enter_context(served_on(proxy.app(), listener))
            return proxy, address

        yield start


def walked(address: str, password: str) -> tuple[list[str], Finding]:
    """The hops that went well, and the finding that ended the walk."""
    found = [finding for finding in sign_in(address, password) if finding.what.startswith("sign-in: ")]
    return [finding.what.removeprefix("sign-in: ") for finding in found if finding.state is State.OK], found[-1]


def grants(data_dir: Path) -> int:
    with contextlib.closing(sqlite3.connect(data_dir / "oauth.sqlite")) as db:
        [(count,)] = db.execute("SELECT count(*) FROM grants")
    return int(count)


def test_a_walk_through_a_good_proxy_ends_with_the_app_gone_again(
    proxy: Callable[..., tuple[Proxy, str]], password: str, data_dir: Path
) -> None:
    _, address = proxy()
    found = list(sign_in(address, password))
    assert [finding.what for finding in found] == [f"sign-in: {hop}" for hop in HOPS]
    # Loopback is no address for clients from elsewhere; everything after it is as it should be.
    assert [finding.state for finding in found] == [State.WARNING, *[State.OK] * 10]
    assert grants(data_dir) == 0


def page(status: int) -> Response:
    return HTMLResponse("<h1>something else</h1>", status)


def at(path: str, answer: Callable[[], Response]) -> Break:
    """Spoil the answers of one address."""
    return lambda request, _: answer() if request.url.path == path else None


def cached() -> Break:
    """A proxy that keeps the first good answer of /mcp and gives it to everybody."""
    kept: list[Upstream] = []

    def keep(request: Request, answer: Upstream | None) -> Response | None:
        if request.url.path != "/mcp" or answer is None:
            return None
        if answer.status_code == 200 and not kept:
            kept.append(answer)
        return Response(kept[0].content, 200, media_type="text/event-stream") if kept else None

    return keep


def second_token(status: int) -> Break:
    """A proxy that takes only the first request for tokens."""
    answered: list[Upstream] = []

    def take(request: Request, answer: Upstream | None) -> Response | None:
        if request.url.path != "/token":
            return None
        if answer is None:
            return page(status) if answered else None
        answered.append(answer)
        return None

    return take


@pytest.mark.parametrize(
    ("spoil", "hop", "seen", "advice"),
    [
        (at("/mcp", lambda: page(404)), "refusal", "404, expected 401", "pass everything below /"),
        (at("/mcp", lambda: page(502)), "refusal", "502, expected 401", "does not reach the server"),
        (at("/mcp", lambda: page(403)), "refusal", "403, expected 401", "something before the server answers"),
        (
            at("/mcp", lambda: RedirectResponse("/mcp/", 307)),
            "refusal",
            "it leads to /mcp/",
            "clients do not follow redirects",
        ),
        (
            at("/.well-known/oauth-protected-resource/mcp", lambda: page(200)),
            "resource metadata",
            "text/html; charset=utf-8, expected JSON",
            "pass everything",
        ),
        (
            at("/.well-known/oauth-authorization-server", lambda: page(404)),
            "server metadata",
            "404, expected 200",
            "pass everything",
        ),
        (at("/register", lambda: page(405)), "registration", "405, expected 201", "pass everything"),
        (at("/authorize", lambda: page(200)), "consent page", "no form for the password", "pass everything"),
        (at("/login", lambda: RedirectResponse("/login/", 301)), "login", "301, expected 302", "redirects"),
        (at("/token", lambda: page(200)), "token", "expected JSON", "pass everything"),
        (second_token(504), "refresh", "504, expected 200", "does not reach the server"),
        (cached(), "revocation", "still opens /mcp", "do not cache"),
    ],
)
def test_a_hop_that_a_proxy_spoils_is_named_with_what_to_do(
    proxy: Callable[..., tuple[Proxy, str]],
    password: str,
    data_dir: Path,
    spoil: Break,
    hop: str,
    seen: str,
    advice: str,
) -> None:
    spoiler, address = proxy()
    spoiler.spoil = spoil
    went, ended = walked(address, password)
    assert ended.what == f"sign-in: {hop}"
    assert ended.state is State.FAILED
    assert seen in ended.seen
    assert advice in ended.advice
    assert went == HOPS[1 : HOPS.index(hop)]
    assert grants(data_dir) == 0


@pytest.mark.parametrize(
    ("header", "hop", "advice"),
    [("set-cookie", "login", "cookies"), ("authorization", "tool call", "Authorization header")],
)
def test_a_proxy_that_drops_a_header_is_found_by_the_hop_that_needs_it(
    proxy: Callable[..., tuple[Proxy, str]], password: str, header: str, hop: str, advice: str
) -> None:
    dropper, address = proxy()
    dropper.drop = frozenset({header})
    _, ended = walked(address, password)
    assert ended.what == f"sign-in: {hop}"
    assert advice in ended.advice


def test_a_proxy_that_lets_everybody_in_is_found(proxy: Callable[..., tuple[Proxy, str]], password: str) -> None:
    opener, address = proxy()
    opener.add = {"authorization": f"Bearer {password}"}
    _, ended = walked(address, password)
    assert ended.what == "sign-in: refusal"
    assert "must not add an Authorization header" in ended.advice


def test_a_proxy_that_names_another_host_is_found(proxy: Callable[..., tuple[Proxy, str]], password: str) -> None:
    renamer, address = proxy()
    renamer.add = {"host": "backend.internal"}
    _, ended = walked(address, password)
    assert "421" in ended.seen
    assert "PASSAGEWAY_ALLOWED_HOSTS" in ended.advice


def test_a_server_that_was_not_restarted_with_its_new_address_is_found(
    proxy: Callable[..., tuple[Proxy, str]], password: str
) -> None:
    _, address = proxy(base_url="https://old.example.org")
    _, ended = walked(address, password)
    assert "https://old.example.org" in ended.seen
    assert ended.advice == "restart the server with this PASSAGEWAY_BASE_URL"


def test_a_server_without_a_login_is_found(
    build: Callable[..., None], serve: Callable[..., str], password: str
) -> None:
    build()
    _, ended = walked(serve(), password)
    assert ended.what == "sign-in: refusal"
    assert "restart the server" in ended.advice


def test_a_wrong_password_is_told_at_the_login_and_tried_once(proxy: Callable[..., tuple[Proxy, str]]) -> None:
    _, address = proxy()
    went, ended = walked(address, "another password")
    assert went[-1] == "consent page"
    assert ended.what == "sign-in: login"
    assert ended.seen == "the password is refused"


def test_nobody_at_the_address_is_told(password: str) -> None:
    _, ended = walked("http://127.0.0.1:9", password)
    assert ended.what == "sign-in: refusal"
    assert "see that the proxy runs" in ended.advice


def test_a_name_without_an_address_is_told() -> None:
    [finding] = reachable_from_elsewhere("https://passages.invalid")
    assert finding.state is State.FAILED
    assert "DNS" in finding.advice


@pytest.mark.parametrize(
    ("address", "state"),
    [
        ("https://1.1.1.1", State.OK),
        ("https://10.0.0.7", State.WARNING),
        ("https://1.1.1.1:8443", State.WARNING),
        ("https://[2606:4700:4700::1111]", State.WARNING),
        ("http://localhost", State.WARNING),
    ],
)
def test_an_address_that_hosted_clients_cannot_reach_is_a_warning(address: str, state: State) -> None:
    [finding] = reachable_from_elsewhere(address)
    assert finding.state is state


def test_without_a_password_nothing_is_walked() -> None:
    [finding] = sign_in("http://127.0.0.1:9", None)
    assert finding.state is State.SKIPPED
