"""What the environment says about which wiki and which part of it to read."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from passageway_sdk import SettingsError
from passageway_sdk.web import number, pipe_list, web_address, whole_number

# Sections that say nothing about the subject, as English and German articles title them.
SKIPPED = (
    *("See also", "References", "Notes", "Notes and references", "Explanatory notes", "Footnotes", "Citations"),
    *("Sources", "Bibliography", "Works cited", "Further reading", "External links", "Gallery"),
    *("Siehe auch", "Einzelnachweise", "Anmerkungen", "Fußnoten", "Quellen", "Belege", "Literatur", "Weblinks"),
    *("Einzelnachweise und Anmerkungen", "Anmerkungen und Einzelnachweise", "Galerie"),
)

LEAST_RADIUS_M, LARGEST_RADIUS_M = 10, 10_000
"""What MediaWiki's geosearch takes (mediawiki.org/wiki/Extension:GeoData)."""

_LANGUAGE = re.compile(r"[a-z]{2,}(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Place:
    """A point in degrees and the radius around it."""

    latitude: float
    longitude: float
    radius_m: int


@dataclass(frozen=True, slots=True)
class Settings:
    """Which pages of which wiki, and how to ask for them."""

    api_url: str
    page_url: str | None
    """Where a title is put behind, or in the place of `$1`; None is the address that the wiki itself names."""
    categories: tuple[str, ...]
    category_depth: int
    titles: tuple[str, ...]
    place: Place | None
    max_pages: int
    skipped: frozenset[str]
    """Headings, case folded."""
    contact: str
    pause_s: float


def read_settings(env: Mapping[str, str]) -> Settings:
    """The settings in the environment. Raises SettingsError."""
    language = env.get("LANGUAGE", "").strip() or "en"
    if not _LANGUAGE.fullmatch(language):
        raise SettingsError(f"LANGUAGE is {language!r}, expected the code before .wikipedia.org, such as en or de")
    site = f"https://{language}.wikipedia.org"
    api_url, page_url = env.get("API_URL", "").strip(), env.get("PAGE_URL", "").strip()
    settings = Settings(
        api_url=web_address(api_url, "API_URL") if api_url else f"{site}/w/api.php",
        page_url=_page_url(page_url) if page_url else None if api_url else f"{site}/wiki/",
        categories=pipe_list(env, "CATEGORIES"),
        category_depth=whole_number(env, "CATEGORY_DEPTH", 1),
        titles=pipe_list(env, "TITLES"),
        place=_place(env.get("GEO", "").strip()),
        max_pages=whole_number(env, "MAX_PAGES", 500, least=1),
        skipped=_skipped(env),
        contact=env.get("CONTACT", "").strip(),
        pause_s=number(env, "PAUSE_SECONDS", 0.1),
    )
    if not (settings.categories or settings.titles or settings.place):
        raise SettingsError("nothing to index: set at least one of CATEGORIES, TITLES and GEO")
    return settings


def _page_url(value: str) -> str:
    """The address as given: the slash at its end belongs to it."""
    web_address(value, "PAGE_URL")
    return value


def _skipped(env: Mapping[str, str]) -> frozenset[str]:
    entries = pipe_list(env, "SKIP_SECTIONS", "|".join(SKIPPED))
    if [entry.casefold() for entry in entries] == ["none"]:
        return frozenset()
    return frozenset(entry.casefold() for entry in entries or SKIPPED)


def _place(value: str) -> Place | None:
    if not value:
        return None
    try:
        latitude, longitude, radius = (float(part) for part in value.split(","))
    except ValueError:
        latitude = longitude = radius = math.nan
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        raise SettingsError(
            f"GEO is {value!r}, expected latitude,longitude,radius in metres, such as 48.1372,11.5756,5000"
        )
    if not LEAST_RADIUS_M <= radius <= LARGEST_RADIUS_M:
        raise SettingsError(
            f"GEO is {value!r}: MediaWiki takes a radius of {LEAST_RADIUS_M} to {LARGEST_RADIUS_M} m; "
            "for a region use CATEGORIES"
        )
    return Place(latitude, longitude, round(radius))
