"""The pages in a real browser: forms, the strict policy, narrow windows, no scripts, and the way back to an app."""

import shutil
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUESTION = "When do we rotate the signing certificate?"

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
