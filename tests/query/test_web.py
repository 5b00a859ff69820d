"""The web page as a browser without scripts sees it."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway.index.state import SourceState
from passageway.records import Item, Section
from passageway_query.web.session import MAX_AGE_S, MAX_SESSIONS, Sessions
from passageway_query.web.templating import FOLDER
from passageway_query.web.views import ago, web_link

QUESTION = "When do we rotate the signing certificate?"


def token_in(page: httpx.Response) -> str:
    match = re.search(r'name="token" value="(\w+)"', page.text)
    assert match
    return match[1]


def sign_in(client: httpx.Client, password: str, **headers: str) -> httpx.Response:
    token = token_in(client.get("/sign-in"))
    return client.post("/sign-in", data={"token": token, "password": password}, headers=headers)


def ask(client: httpx.Client, question: str, **fields: str) -> httpx.Response:
    return client.post("/ask", data={"token": token_in(client.get("/")), "question": question, **fields})


@pytest.fixture
def owner(standing: httpx.Client, password: str) -> httpx.Client:
    """A browser that is signed in to the shared service."""
    assert sign_in(standing, password).status_code == 303
    return standing


@pytest.fixture
def owner_of(
    build: Callable[..., None], serve: Callable[..., str], password: str
) -> Iterator[Callable[..., httpx.Client]]:
    clients = []

    def signed_in(**options: Any) -> httpx.Client:
        client = httpx.Client(base_url=serve(**options))
        clients.append(client)
        sign_in(client, password)
        return client

    yield signed_in
    for client in clients:
        client.close()


def test_a_stranger_sees_the_sign_in_form_and_nothing_else(standing: httpx.Client) -> None:
    home = standing.get("/")
    assert (home.status_code, home.headers["location"]) == (303, "/sign-in")
    form = standing.get("/sign-in")
    assert form.status_code == 200
    assert "notes" not in form.text
    assert standing.get("/sources").status_code == 401
    assert standing.post("/ask", data={"question": QUESTION}).headers["location"] == "/sign-in"


def test_the_password_signs_in_and_sign_out_ends_it(owner: httpx.Client) -> None:
    home = owner.get("/")
    assert home.status_code == 200
    assert "notes" in home.text
    cookies = dict(owner.cookies)
    owner.post("/sign-out", data={"token": token_in(home)})
    assert owner.get("/").status_code == 303
    assert httpx.get(owner.base_url.join("/"), cookies=cookies).status_code == 303


def test_a_wrong_password_is_told_and_the_sixth_has_to_wait(client: httpx.Client, password: str) -> None:
    replies = [sign_in(client, "wrong") for _ in range(5)]
    assert [reply.status_code for reply in replies] == [401] * 5
    assert "That is not the password." in replies[0].text
    refused = sign_in(client, password)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) <= 60
    assert client.get("/").status_code == 303


def test_a_form_without_its_token_or_cookie_does_nothing(client: httpx.Client, password: str) -> None:
    token = token_in(client.get("/sign-in"))
    assert client.post("/sign-in", data={"password": password}).status_code == 403
    assert client.post("/sign-in", data={"password": password, "token": "0" * 64}).status_code == 403
    bare = httpx.post(client.base_url.join("/sign-in"), data={"password": password, "token": token})
    assert bare.status_code == 403
    assert client.get("/").status_code == 303


def test_a_question_without_its_token_is_not_answered(owner: httpx.Client) -> None:
    reply = owner.post("/ask", data={"question": QUESTION, "token": "0" * 64})
    assert reply.status_code == 403
    assert "every March" not in reply.text
    assert "out of date" in reply.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:9"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_a_foreign_page_is_refused(owner: httpx.Client, headers: dict[str, str]) -> None:
    token = token_in(owner.get("/"))
    for path in ("/ask", "/sign-in", "/sign-out"):
        assert owner.post(path, data={"token": token, "question": QUESTION}, headers=headers).status_code == 403
    assert owner.get("/").status_code == 200


def test_a_form_of_our_own_page_is_taken(owner: httpx.Client) -> None:
    origin = str(owner.base_url).rstrip("/")
    reply = owner.post(
        "/ask",
        data={"token": token_in(owner.get("/")), "question": QUESTION},
        headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"},
    )
    assert reply.status_code == 200


@pytest.mark.parametrize("body", [b"a=1&a=2", b"&".join(b"f%d=1" % n for n in range(100)), b"\xff\xfe"])
def test_a_body_that_is_no_form_of_ours_is_a_400(owner: httpx.Client, body: bytes) -> None:
    assert owner.post("/ask", content=body).status_code == 400


def test_a_huge_form_is_413(owner: httpx.Client) -> None:
    assert owner.post("/ask", content=b"question=" + b"x" * 300_000).status_code == 413


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(standing: httpx.Client, password: str) -> None:
    cookies = sign_in(standing, password).headers.get_list("set-cookie")
    session = next(cookie for cookie in cookies if "session" in cookie)
    assert "HttpOnly" in session
    assert "SameSite=lax" in session
    assert "Path=/" in session
    assert password not in " ".join(cookies)


def test_behind_https_cookies_are_bound_to_host_and_https(
    build: Callable[..., None], serve: Callable[..., str], make_settings: Callable[..., Any], password: str
) -> None:
    build()
    url = serve(make_settings(PASSAGEWAY_BASE_URL="https://passages.example.org"))
    headers = {"Host": "passages.example.org"}
    form = httpx.get(f"{url}/sign-in", headers=headers)
    cookie = form.headers["set-cookie"].split(";")[0]
    assert cookie.startswith("__Host-passageway-visit-")
    assert "Secure" in form.headers["set-cookie"]
    reply = httpx.post(
        f"{url}/sign-in",
        data={"token": token_in(form), "password": password},
        headers={**headers, "Cookie": cookie, "Origin": "https://passages.example.org"},
    )
    assert reply.status_code == 303
    session = next(cookie for cookie in reply.headers.get_list("set-cookie") if "session" in cookie)
    assert session.startswith("__Host-passageway-session-")
    assert "Secure" in session


@pytest.mark.parametrize("path", ["/", "/sign-in"])
def test_pages_forbid_frames_inline_code_and_storing(owner: httpx.Client, path: str) -> None:
    headers = owner.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"


def test_pages_have_no_inline_script_style_or_handler() -> None:
    for template in sorted(Path(FOLDER / "templates").glob("*.html")):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", text), template.name
        assert "|safe" not in text.replace(" ", ""), template.name


def test_what_pages_load_is_there(owner: httpx.Client) -> None:
    page = owner.get("/").text
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(set(loaded)) == 3
    for path in loaded:
        assert owner.get(path).status_code == 200
    assert owner.get("/static/../pages.py").status_code == 404


def test_a_question_shows_passages_and_why(owner: httpx.Client) -> None:
    reply = ask(owner, QUESTION)
    assert reply.status_code == 200
    assert 'href="https://notes.example/certificates"' in reply.text
    assert "every March" in reply.text
    assert "Ops › Security › Steps" in reply.text
    assert "Why this answer" in reply.text
    assert "notes/ops/certificates.md" in reply.text
    assert f'value="{QUESTION}"' in reply.text


def test_silence_shows_its_reason_and_what_came_nearest(owner: httpx.Client) -> None:
    reply = ask(owner, "Which goods did the football championship deliver?")
    assert "No passage" in reply.text
    assert "below the gate" in reply.text
    assert "Nearest that was turned down" in reply.text


@pytest.mark.parametrize("state", ["ok", "failing"])
def test_a_silence_sends_a_person_to_what_is_on_the_page_and_to_no_tool(
    build: Callable[..., None], owner_of: Callable[..., httpx.Client], state: str
) -> None:
    build(items=[], state=SourceState(state, heartbeat=time.time(), built=state == "ok"))
    text = ask(owner_of(connectors=["notes"]), QUESTION).text
    assert "No passage" in text
    assert "Below stands" in text
    assert "status tool" not in text


def test_a_source_can_be_chosen(owner: httpx.Client) -> None:
    assert "every March" in ask(owner, QUESTION, source="notes").text
    assert "Filtered out." in ask(owner, QUESTION, path="Nowhere").text


def test_what_a_source_or_a_person_writes_is_shown_and_not_run(
    build: Callable[..., None], owner_of: Callable[..., httpx.Client]
) -> None:
    evil = Item(
        "<i>", "<script>alert(1)</script> signing certificate", "javascript:alert(2)", "1", (Section(None, "<b>x</b>"),)
    )
    build(items=[evil])
    page = ask(owner_of(), 'rotate signing certificate "><script>alert(3)</script>').text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; signing certificate" in page
    assert "<script>alert" not in page
    assert "javascript:" not in page
    assert "<b>x</b>" not in page


@pytest.mark.parametrize(
    "url", ["http://[", "http://[x]/", "https://a b/\n", "\x00", "mailto:a@b", "http://" + "x" * 5000]
)
def test_an_item_with_an_address_that_is_none_is_still_shown(
    build: Callable[..., None], owner_of: Callable[..., httpx.Client], url: str
) -> None:
    build(items=[Item("a", "Rotating", url, "1", (Section(None, "Rotate the signing certificate every March."),))])
    reply = ask(owner_of(), "When do we rotate the signing certificate?")
    assert (reply.status_code, "every March" in reply.text) == (200, True)


def test_an_empty_question_is_asked_back(owner: httpx.Client) -> None:
    assert "Ask something first." in ask(owner, "   ").text


def test_a_failing_embedder_is_shown_as_an_error(
    build: Callable[..., None], owner_of: Callable[..., httpx.Client], embedder: Any
) -> None:
    build()
    embedder.failure = "nothing listens on port 8182"
    reply = ask(owner_of(), QUESTION)
    assert reply.status_code == 503
    assert "nothing listens on port 8182" in reply.text
    assert "No passage" not in reply.text


def test_a_build_shows_its_progress_and_a_failure_its_error(
    build: Callable[..., None], owner_of: Callable[..., httpx.Client]
) -> None:
    now = time.time()
    build(state=SourceState("indexing", fetched=300, of=1200, heartbeat=now))
    build(
        "wiki",
        state=SourceState("failing", error="https://wiki.internal refused", heartbeat=now, last_success=now - 7300),
    )
    page = owner_of(connectors=["notes", "wiki"]).get("/").text
    assert '<progress value="0.25"' in page
    assert "300 of 1,200 read" in page
    assert "https://wiki.internal refused" in page
    assert "synced 2 hours ago" in page


def test_a_broken_configuration_is_shown(owner_of: Callable[..., httpx.Client]) -> None:
    client = owner_of(config_error="connector 'notes': command: Field required")
    assert "Field required" in client.get("/").text
    assert ask(client, QUESTION).status_code == 200


def test_the_sources_alone_can_be_fetched_by_the_page(owner: httpx.Client) -> None:
    part = owner.get("/sources")
    assert part.status_code == 200
    assert "<html" not in part.text
    assert "notes" in part.text


def test_the_last_measurements_are_shown_to_who_is_signed_in_and_run_nothing(
    data_dir: Path, build: Callable[..., None], owner_of: Callable[..., httpx.Client]
) -> None:
    build()
    owner = owner_of()
    assert owner.get("/measurements").status_code == 404
    assert "Retrieval quality" not in owner.get("/").text
    (data_dir / "measurements").mkdir()
    (data_dir / "measurements" / "report.html").write_text("<!doctype html><h1>Ä</h1>", encoding="utf-8")
    shown = owner.get("/measurements")
    assert (shown.status_code, shown.text) == (200, "<!doctype html><h1>Ä</h1>")
    assert "sandbox" in shown.headers["content-security-policy"]
    assert 'href="/measurements">Retrieval quality</a>, measured just now' in owner.get("/").text
    owner.cookies.clear()
    assert owner.get("/measurements").headers["location"] == "/sign-in"


def test_a_session_ends_after_twelve_hours_and_old_ones_make_room() -> None:
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    first = sessions.open()
    assert sessions.is_open(first)
    now[0] = MAX_AGE_S
    assert not sessions.is_open(first)
    tokens = [sessions.open() for _ in range(MAX_SESSIONS + 1)]
    assert not sessions.is_open(tokens[0])
    assert sessions.is_open(tokens[-1])
    assert not sessions.is_open("")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7300, "2 hours ago"),
        (86_400 * 3, "3 days ago"),
        (-90, "just now"),
    ],
)
def test_ages_are_in_words(seconds: int, words: str) -> None:
    assert ago(seconds) == words


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "",
        "//evil",
        "notes.md",
        "java\nscript:x",
        "http:",
    ],
)
def test_only_web_addresses_become_links(url: str) -> None:
    assert web_link(url) == ""
    assert web_link("https://notes.example/x") == "https://notes.example/x"
