"""Documents that nobody would write: whatever a file holds, there is a valid record or a warning, and no traceback."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import parse_item
from passageway_connector_markdown.document import read_document
from passageway_connector_markdown.front_matter import read_front_matter
from passageway_connector_markdown.hidden import without_hidden
from passageway_connector_markdown.links import candidates

PIECES = st.sampled_from(
    [
        "\n", "\n\n", " ", "    ", "\t", "a", "Words here.", "# ", "## H\n", "T\n===\n", "T\n---\n", "---\n", "+++\n",
        "```\n", "~~~\n", "`", "``", "<!--", "-->", "%%", "%%\n", "{/*", "*/}", "<b>", "</div>\n", "<div>\n", "<pre>\n",
        "> ", "- ", "1. ", "|", "|a|b|\n|-|-|\n", "\\", "[", "]", "(", ")", "[[", "]]", "[[b]]", "[[b|x]]", "![[b#c]]",
        "[x](b.md)", "[x](<b.md>)", "[x]: b.md\n", "[x]", "![x](b.md)", "<http://x>", "&amp;", "&#xD800;", "\ufeff",
        "title: x\n", "id: x\n", "tags: [a, 'b']\n", "weight: 9\n", "import a\n", "data:a/b;base64," + "A" * 300,
        "é", "\u2028", "\U0001f600", "\x01",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)
FRONT = st.sampled_from(
    ["", "---\n", "---\ntitle: x\n---\n", "---\nexcalidraw-plugin: parsed\n---\n", "+++\na = 1\n+++\n"]
)
DOCUMENTS = st.builds(lambda front, text: (front + text).encode("utf-8"), FRONT, TEXTS)
FILES = st.one_of(
    DOCUMENTS, st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def fresh_vault(vault):
    """A new, empty folder for every example."""

    def make():
        return type(vault)(Path(tempfile.mkdtemp(dir=vault.folder)))

    return make


@SETTINGS
@given(files=st.lists(FILES, min_size=1, max_size=4))
def test_any_file_gives_a_valid_record_or_a_warning(fresh_vault, files):
    vault = fresh_vault()
    for name, content in zip(("a.md", "b.md", "c/b.md", "d.mdx"), files, strict=False):
        vault.write(name, content)
    listed = vault.call("list", INCLUDE="*")
    assert "Traceback" not in listed.stderr
    if listed.code:
        assert "have the same id" in listed.stderr
        return
    versions = {record["id"]: record["version"] for record in listed.records}
    assert len(versions) + listed.stderr.count(" skipped: ") == len(files)
    fetched = vault.call("fetch", ids=tuple(versions), INCLUDE="*")
    items = {item.id: item for item in map(parse_item, fetched.records)}
    assert {item_id: item.version for item_id, item in items.items()} == versions
    for item in items.values():
        assert set(item.links) <= versions.keys() - {item.id}
        assert all(section.text.strip() and "\r" not in section.text for section in item.sections)


@SETTINGS
@given(text=TEXTS, is_mdx=st.booleans())
def test_every_line_of_a_section_is_a_line_of_its_source_unless_something_was_hidden(text, is_mdx):
    document = read_document(text, set(), is_mdx=False)
    if any(mark in text for mark in ("<!--", "%%", "{/*", ";base64,")):
        return
    lines = {line.rstrip() for line in text.split("\n")}
    headings = {part for section in document.sections for part in (section.heading or "").split(" › ")}
    for section in document.sections:
        assert all(line.rstrip() in lines or line in headings for line in section.text.split("\n"))


@SETTINGS
@given(text=TEXTS)
def test_what_is_not_hidden_is_kept_in_its_order(text):
    shown = without_hidden(text)
    rest = iter(text)
    assert all(character in rest for character in shown)
    if not any(mark in text for mark in ("<!--", "%%")):
        assert shown == text


LINKS = st.sampled_from(
    [
        "[x](b.md)",
        "[x](<b c.md>)",
        "[x](b%20c.md#d 'T')",
        "[x](\n  b.md)",
        "[x](b(1).md)",
        "[x](b\\_c.md)",
        "[x](b&amp;c.md)",
    ]
    + [
        "[[b]]",
        "[[b|x]]",
        "![[b#c]]",
        "[[b/c]]",
        "[r]",
        "[t][r]",
        "\n\n[r]: b.md\n\n",
        "\n\n> [r]:\n> <b c.md> 'T'\n\n",
    ]
    + [" ", "\n", "\n\n", "- ", "> ", "|", "*", "`", "# ", "words ", "[", "]", "!", "<b>"]
)


@SETTINGS
@given(text=st.lists(LINKS, max_size=30).map("".join))
def test_the_version_covers_every_link_the_parser_finds(text):
    class Everything(frozenset):
        def __contains__(self, _target):
            return True

    assert set(read_document(text, Everything()).targets) <= candidates(text)


@SETTINGS
@given(block=st.one_of(st.text(max_size=80), TEXTS), marks=st.sampled_from(["---", "+++"]))
def test_any_front_matter_is_read_or_reported(block, marks):
    front = read_front_matter(f"{marks}\n{block}\n{marks}\nText.")
    assert 0 <= front.weight <= 2
    for value in (front.title, front.url, front.updated, front.id, *front.labels):
        assert value is None or value.encode("utf-8").strip()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "<!-- ", "%% ", "%%\n", "`", "` `` ", "[", "![", "[[", "[[a]] ", "[a](", "](", "]:", "[a]: ", "[a]:[a]:b ",
        "](a](b](", "*a ", "> ", "- ", "| ", "|a|\n|-|\n", "# a\n", "a\n-\n", "\\", "&", "<a ", "{/* ", "data:a/b;",
        "(", "\n", " ", "---\n", "id: \n",
    ],
)  # fmt: skip
def test_a_long_repetition_is_read_in_time(vault, unit):
    vault.write("note.md", unit * (100_000 // len(unit)))
    vault.items()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "key", ["a" * 60_000 + ":", " " * 60_000 + ":", "# x\n" * 10_000, "- " * 20_000, "a: " * 20_000]
)
def test_a_long_front_matter_is_read_in_time(vault, key):
    vault.write("note.md", f"---\nid {key} x\n---\nText.")
    vault.items()
