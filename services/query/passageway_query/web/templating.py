"""Templates, and the headers that every page goes out with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

FOLDER = Path(__file__).parent

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
# With `no-referrer` a browser sends `Origin: null` with our own forms (fetch.spec.whatwg.org, "append a request Origin
# header"), and they could not be told from foreign ones.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{_POLICY}; form-action 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# Chromium holds `form-action` against every address a form's answer redirects to, and consent ends at the client's.
CONSENT_HEADERS = {**HEADERS, "Content-Security-Policy": _POLICY}
# The report of a measurement brings its own styles, and is shown as if it came from another site.
REPORT_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
}

_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER / "templates", encoding="utf-8"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def html(
    template: str, values: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A page."""
    page = _TEMPLATES.get_template(template).render(values)
    return HTMLResponse(page, status, headers=dict(HEADERS if headers is None else headers))


def see_other(path: str) -> Response:
    """A redirect that a browser follows with a GET, whatever it sent here."""
    return RedirectResponse(path, 303, headers=HEADERS)
