"""A file into its pages."""

from collections.abc import Callable
from typing import Any

import pytest

from passageway_connector_llmstxt.document import pages_of

Items = Callable[..., list[dict[str, Any]]]
FILE = "https://docs.example.org/llms-full.txt"


def outline(item: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(section["heading"], section["text"]) for section in item["sections"]]


def test_each_level_one_heading_is_an_item(website: Any, items: Items) -> None:
    website.put(
        "/llms-full.txt", "# Install\n\nRun the installer.\n\n## Linux\n\nUse the manager.\n\n# Use\n\nStart it.\n"
    )
    install, use = items()
    assert install == {
        "id": f"{website.url}/llms-full.txt#install",
        "title": "Install",
        "url": f"{website.url}/llms-full.txt#install",
        "version": install["version"],
        "sections": [
            {"heading": None, "text": "Run the installer."},
            {"heading": "Linux", "text": "Use the manager."},
        ],
        "path": [website.host],
    }
    assert (use["id"], use["title"]) == (f"{website.url}/llms-full.txt#use", "Use")


def test_a_number_sign_in_code_is_no_heading_and_front_matter_at_the_top_is_not_indexed(
    website: Any, items: Items
) -> None:
    website.put("/SKILL.md", "---\nname: hooks\ndescription: How to\n---\n\n# Hooks\n\n```sh\n# not a page\n```\n")
    (item,) = items(urls="{site}/SKILL.md")
    assert (item["title"], item["url"]) == ("Hooks", f"{website.url}/SKILL.md")
    assert outline(item) == [(None, "```sh\n# not a page\n```")]


def test_front_matter_with_a_url_starts_a_page_wherever_it_is(website: Any, items: Items) -> None:
    website.put(
        "/llms-full.txt",
        "---\nurl: /one.md\n---\n# One\n\nAlpha.\n\n---\n\nStill one.\n\n---\n\n"
        "---\nurl: /guide/two.md\ndescription: >-\n  More\n---\n# Two\n\n"
        "```yaml\n---\nurl: /no.md\n---\n# install\n```\n\n"
        "## Usage\n\nBeta.\n\n# Second heading\n\nGamma.\n---\nurl: '/guide/index.md'\n---\nNo heading.\n",
    )
    one, two, guide = items()
    assert (one["id"], one["title"], one["url"]) == (
        f"{website.url}/llms-full.txt#/one.md",
        "One",
        f"{website.url}/one",
    )
    assert outline(one) == [(None, "Alpha.\n\n---\n\nStill one.")]
    assert (two["url"], two["path"]) == (f"{website.url}/guide/two", [website.host, "guide"])
    assert outline(two) == [
        (None, "```yaml\n---\nurl: /no.md\n---\n# install\n```"),
        ("Usage", "Beta."),
        ("Second heading", "Gamma."),
    ]
    assert (guide["title"], guide["url"]) == ("guide", f"{website.url}/guide/")


def test_a_source_line_below_a_heading_is_the_address_of_the_page(website: Any, items: Items) -> None:
    site = "https://docs.example.test"
    website.put(
        "/llms-full.txt",
        f"# Intro\nSource: {site}/intro\n\nGamma.\n\n# Setup\nSource: {site}/setup\n\nDelta.\n\n"
        f"# Setup\nURL: <{site}/v2/setup>\n\nEpsilon.\n\n# Plain\n\nSource: a book.\n",
    )
    found = items()
    assert [item["url"] for item in found[:3]] == [f"{site}/intro", f"{site}/setup", f"{site}/v2/setup"]
    assert [item["title"] for item in found] == ["Intro", "Setup", "Setup", "Plain"]
    assert [outline(item) for item in found] == [
        [(None, "Gamma.")],
        [(None, "Delta.")],
        [(None, "Epsilon.")],
        [(None, "Source: a book.")],
    ]
    assert found[2]["path"] == ["docs.example.test", "v2"]


def test_source_headings_stand_before_pages_with_headings_of_their_own(website: Any, items: Items) -> None:
    website.put(
        "/llms-full.txt",
        "# Source: https://docs.example.test/a/keel.md\n\n# Source: https://docs.example.test/keel.md\n\n"
        "# Keel\n\n> About keels.\n\n# Care\n\nOil it.\n\n# Source: https://docs.example.test/mast.md\n\nNo heading.\n",
    )
    keel, mast = items()
    assert (keel["title"], keel["url"]) == ("Keel", "https://docs.example.test/keel")
    assert outline(keel) == [(None, "> About keels."), ("Care", "Oil it.")]
    assert (mast["title"], mast["url"]) == ("mast", "https://docs.example.test/mast")


def test_equal_headings_have_different_ids() -> None:
    text = "# A\n1\n# A\n2\n# A-2\n3\n# A\n4\n# !\n5\n# Größe & Rang\n6\n"
    assert [page.key for page in pages_of(text, FILE)] == ["a", "a-2", "a-2-2", "a-3", "section", "größe--rang"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Just text.", "notes"),
        ("## Lower\n\nText.", "Lower"),
        ("---\ntitle: 'From the top'\n---\nText.", "From the top"),
        ("#\n\nText.", "notes"),
        ("```\n# code\n```", "notes"),
    ],
)
def test_a_file_without_a_level_one_heading_is_one_page(text: str, title: str) -> None:
    (page,) = pages_of(text, "https://docs.example.org/a/notes.md")
    assert (page.key, page.title, page.address) == ("", title, None)


def test_text_before_the_first_page_is_a_page_of_its_own() -> None:
    for rest in ("# One\n\nAlpha.\n", "---\nurl: /one.md\n---\n# One\n\nAlpha.\n"):
        first, second = pages_of(f"Everything about boats.\n\n{rest}", FILE)
        assert (first.key, first.title, first.text.strip()) == ("", "docs.example.org", "Everything about boats.")
        assert second.title == "One"


def test_a_rule_or_a_block_without_a_url_starts_no_page() -> None:
    text = "# A\n\n---\n\nText: with colon\n\n---\nname: x\n---\n\nEnd.\n"
    (page,) = pages_of(text, FILE)
    assert "Text: with colon" in page.text and "name: x" in page.text and "End." in page.text


def test_line_endings_and_a_byte_order_mark_change_nothing(website: Any, items: Items) -> None:
    text = "---\nurl: /one.md\n---\n# One\n\nAlpha.\n"
    website.put("/llms-full.txt", text)
    before = items()
    website.put("/llms-full.txt", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert items() == before


def test_an_edit_changes_the_version_of_its_page_alone(website: Any, items: Items) -> None:
    website.put("/llms-full.txt", "# A\n\nOne.\n\n# B\n\nTwo.\n")
    before = {item["id"]: item["version"] for item in items()}
    website.put("/llms-full.txt", "# A\n\nOne!\n\n# B\n\nTwo.\n")
    after = {item["id"]: item["version"] for item in items()}
    assert [item_id for item_id in before if before[item_id] != after[item_id]] == [f"{website.url}/llms-full.txt#a"]


def test_weights_go_by_the_start_of_the_path_and_count_as_a_change(website: Any, items: Items) -> None:
    website.put(
        "/llms-full.txt",
        "---\nurl: /changelog/v2.md\n---\n# V2\n\nNew.\n\n---\nurl: /archive/a.md\n---\n# A\n\nOld.\n\n"
        "---\nurl: /guide.md\n---\n# Guide\n\nHow.\n",
    )
    plain = {item["title"]: item for item in items()}
    weighed = {item["title"]: item for item in items(WEIGHTS="changelog=0.5, /archive/=0.3,archive=2")}
    assert [weighed[title].get("weight") for title in ("V2", "A", "Guide")] == [0.5, 0.3, None]
    assert plain["V2"]["version"] != weighed["V2"]["version"]
    assert plain["Guide"] == weighed["Guide"]


def test_a_page_larger_than_a_record_may_be_is_cut_with_a_warning(website: Any, call: Callable[..., Any]) -> None:
    website.put("/llms-full.txt", "# Big\n\n" + "Ein Satz über alles. " * 60_000)
    result = call("list")
    assert result.code == 0 and "llms-full.txt#big: the page has over 1048576 bytes" in result.stderr
