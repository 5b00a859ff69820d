"""The pages in a real browser: forms, the strict policy, narrow windows, no scripts, and the way back to an app."""

import shutil
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from passageway.index.state import SourceState

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUESTION = "When do we rotate the signing certificate?"

VERIFIER = "v" * 50

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Without the sandbox, which a container does not allow; the pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A page in a browser of its own: `open_page(java_script_enabled=False, viewport=...)`."""
    contexts = []

    def open_page(**options: Any) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        return page

    yield open_page
    for context in contexts:
        context.close()


def complaints(page: Page) -> list[str]:
    """What the browser objects to from now on: blocked styles and scripts, errors, failed requests."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("requestfailed", lambda request: found.append(request.url))
    return found


def sign_in(page: Page, url: str, password: str) -> None:
    page.goto(url)
    page.fill("#password", password)
    page.keyboard.press("Enter")
    page.wait_for_selector("#question")


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1100, "height": 900}},
        {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
        {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False},
    ],
    ids=["desktop", "phone in the dark", "phone without scripts"],
)
def test_a_person_signs_in_asks_and_sees_why(
    open_page: Callable[..., Page], standing_url: str, password: str, options: dict[str, Any]
) -> None:
    page = open_page(**options)
    found = complaints(page)
    sign_in(page, standing_url, password)
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    assert page.inner_text(".passage h3") == "Rotating certificates"
    assert QUESTION not in page.url
    page.click("details.why summary")
    assert page.is_visible("details.why table")
    page.click("button:has-text('Sign out')")
    page.wait_for_selector("#password")
    assert found == []


def test_no_page_is_wider_than_a_phone(open_page: Callable[..., Page], standing_url: str, password: str) -> None:
    page = open_page(viewport={"width": 360, "height": 740})
    sign_in(page, standing_url, password)
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    page.click("details.why summary")
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]


def test_a_state_that_changes_shows_without_a_reload(
    open_page: Callable[..., Page], build: Callable[..., None], serve: Callable[..., str], password: str
) -> None:
    page = open_page()
    found = complaints(page)
    sign_in(page, serve(connectors=["notes"]), password)
    assert "indexing" in page.inner_text("#sources .source")
    build()
    page.wait_for_selector("#sources .source:has-text('3 items')")
    assert found == []


def test_the_progress_of_a_build_moves_without_a_reload(
    open_page: Callable[..., Page], build: Callable[..., None], serve: Callable[..., str], password: str
) -> None:
    build(state=SourceState("indexing", fetched=300, of=1200, heartbeat=time.time()))
    page = open_page()
    sign_in(page, serve(connectors=["notes"]), password)
    assert page.locator("progress").get_attribute("value") == "0.25"
    build(state=SourceState("indexing", fetched=900, of=1200, heartbeat=time.time()))
    page.wait_for_selector("progress[value='0.75']")
    assert "900 of 1,200 read" in page.inner_text("#sources .source")


def test_five_wrong_passwords_are_told_and_the_right_one_then_has_to_wait(
    open_page: Callable[..., Page], build: Callable[..., None], serve: Callable[..., str], password: str
) -> None:
    build()
    page = open_page()
    page.goto(serve())
    for guess in ("1", "2", "3", "4", "5"):
        page.fill("#password", guess)
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]:has-text('not the password')")
    page.fill("#password", password)
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]:has-text('Too many wrong passwords')")


def test_a_date_that_is_none_is_asked_back_and_a_filter_is_kept(
    open_page: Callable[..., Page], standing_url: str, password: str
) -> None:
    page = open_page()
    sign_in(page, standing_url, password)
    page.click(".filters summary")
    page.fill("input[name=label]", "decision")
    page.fill("input[name=updated_after]", "2026-10-01")
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".passage")
    assert page.input_value("input[name=label]") == "decision"
    page.fill("input[name=updated_after]", "2027-01-01")
    page.click("button:has-text('Ask')")
    page.wait_for_selector(".silence:has-text('Filtered out.')")
    # What a browser without date fields could send.
    page.evaluate("document.querySelector('input[name=updated_after]').type = 'text'")
    page.fill("input[name=updated_after]", "yesterday")
    page.click("button:has-text('Ask')")
    page.wait_for_selector("[role=alert]:has-text('is not a date')")


@pytest.fixture
def app_url() -> Iterator[str]:
    """An app on this computer that waits for somebody to come back to it."""

    class App(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>back in the app</title>")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), App) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/callback"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("button", "answer"), [("Allow", "code="), ("Deny", "error=access_denied")])
def test_consent_leads_back_to_the_app(
    open_page: Callable[..., Page],
    consent_page: Callable[[str], str],
    password: str,
    app_url: str,
    button: str,
    answer: str,
) -> None:
    page = open_page()
    page.goto(consent_page(app_url))
    page.fill("#password", password)
    page.click(f"button:has-text('{button}')")
    page.wait_for_url(f"{app_url}?*")
    assert page.title() == "back in the app"
    assert answer in page.url
    assert "state=xyz" in page.url


def test_a_connected_app_is_seen_and_disconnected(
    open_page: Callable[..., Page], consent_page: Callable[[str], str], password: str, app_url: str
) -> None:
    page = open_page()
    asked = consent_page(app_url)
    page.goto(asked)
    page.fill("#password", password)
    page.click("button:has-text('Allow')")
    page.wait_for_url(f"{app_url}?*")
    code = parse_qs(urlsplit(page.url).query)["code"][0]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": app_url,
        "client_id": parse_qs(urlsplit(asked).query)["client_id"][0],
        "code_verifier": VERIFIER,
    }
    url = asked.partition("/authorize")[0]
    assert httpx.post(f"{url}/token", data=form).status_code == 200
    sign_in(page, url, password)
    card = page.locator("li.card:has(button:has-text('Disconnect'))")
    assert "App" in card.inner_text()
    card.locator("button").click()
    page.wait_for_selector("text=No app has signed in")


def findings(page: Page, axe: str) -> list[str]:
    """What axe-core has against the page as it is now, from serious on."""
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    assert found["passes"]
    return [
        f"{page.url}: {violation['impact']} {violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_on_the_pages_keeps_anybody_out(
    open_page: Callable[..., Page],
    node_packages: Path,
    consent_page: Callable[[str], str],
    build: Callable[..., None],
    password: str,
    scheme: str,
    width: int,
) -> None:
    axe = (node_packages / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    now = time.time()
    build("handbook", state=SourceState("indexing", fetched=3, of=12, heartbeat=now))
    build("wiki", state=SourceState("failing", error="the wiki refused", heartbeat=now, built=True))
    page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    found: list[str] = []
    for uri in ("https://unknown.example/cb", "http://127.0.0.1/cb", "https://claude.ai/api/mcp/auth_callback"):
        page.goto(consent_page(uri))
        found += findings(page, axe)
    page.click("button:has-text('Allow')")
    page.wait_for_selector("[role=alert]")
    found += findings(page, axe)
    url = page.url.partition("/login")[0]
    page.goto(f"{url}/authorize")
    found += findings(page, axe)
    page.goto(url)
    found += findings(page, axe)
    sign_in(page, url, password)
    page.click(".filters summary")
    found += findings(page, axe)
    for question in (QUESTION, "football championship penalty shootout"):
        page.fill("#question", question)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#answer:has-text('{'Rotating' if question is QUESTION else 'No passage'}')")
        page.click("details.why summary")
        found += findings(page, axe)
    assert found == []
