"""`report.html` in a real browser, on a telephone and on a desk, in light and in dark."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, sync_playwright

from passageway_cli.eval.measurement import CaseResult, Occasion, Subject
from passageway_cli.eval.metrics import Found, Outcome
from passageway_cli.eval.report import RunReport
from passageway_cli.eval.report_html import report_html
from passageway_cli.eval.targets import Target
from passageway_cli.eval.verdicts import verdicts

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Without the sandbox, which a container does not allow; the page is our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def with_long_words(subject: Subject) -> Subject:
    """The subject with a question and a title that have no place to break."""
    first = subject.cases[0].outcome
    outcome = Outcome(
        replace(first.case, query="q" * 300), (Found("notes", "i", "t" * 300, None, 0.9, False),), 1, 10.0, 4.0
    )
    return replace(subject, cases=(CaseResult(outcome, None), *subject.cases[1:]))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_shows_one_drawing_of_each_and_asks_for_nothing(
    browser: Browser, tmp_path: Path, subject: Callable[..., Subject], occasion: Occasion,
    width: int, scheme: Literal["light", "dark"],
) -> None:  # fmt: skip
    measured = with_long_words(subject(cases=True))
    report = RunReport(occasion, measured, verdicts([Target("hit_at_3", 0.7)], measured.measured))
    path = tmp_path / "report.html"
    path.write_text(report_html(report), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure").count() == page.locator("figure > svg:visible").count() == 5
    # A telephone lays out a question as lines below each other, so that no answer is out of sight.
    cells = page.locator("table.words tbody tr").first.locator("th, td")
    lefts = {round(cells.nth(number).bounding_box()["x"]) for number in range(cells.count())}  # type: ignore[index]
    assert len(lefts) == (1 if width == 390 else cells.count())
    assert asked == [path.as_uri()]
    assert said == []
    context.close()
