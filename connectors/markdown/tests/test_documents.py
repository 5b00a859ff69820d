"""Documents: the title, the sections, and what of the source is left out."""

import pytest


def test_every_level_makes_a_section_with_the_trail_of_its_parents(vault):
    item = vault.item("intro\n\n# T\n## A\na\n#### B\nb\n### C\nc\n## D\nd\n# E\ne\n## F\nf\n")
    assert item["title"] == "T"
    assert [(section["heading"], section["text"]) for section in item["sections"]] == [
        (None, "intro"),
        ("A", "a"),
        ("A › B", "b"),
        ("A › C", "c"),
        ("D", "d"),
        ("E", "e"),
        ("E › F", "f"),
    ]


def test_a_first_heading_that_is_not_the_title_stays_in_the_trail(vault, leaves):
    item = vault.item("---\ntitle: Tide\n---\n# Harbour\n\nh\n\n## Quay\n\nq\n")
    assert [section["heading"] for section in item["sections"]] == ["Harbour", "Harbour › Quay"]


@pytest.mark.parametrize("title", ["Use `rope`", "use rope", '"Use  rope"'])
def test_a_first_heading_that_says_what_the_title_says_is_not_repeated(vault, title):
    item = vault.item(f"---\ntitle: {title}\n---\n# Use `rope`\n\nh\n")
    assert item["sections"] == [{"heading": None, "text": "h"}]


def test_without_title_and_heading_the_file_name_is_the_title(vault):
    assert vault.item("Just words.", "a/Night shift.v2.md")["title"] == "Night shift.v2"
    assert vault.item("## Not of level one\n", "b.md")["title"] == "b"


def test_headings_underlined_with_signs_split_too(vault):
    item = vault.item("Tide table\n==========\n\nSix.\n\nHigh *water*\n------------\n\nSeven.\n\n- item\n---\n")
    assert item["title"] == "Tide table"
    assert item["sections"] == [
        {"heading": None, "text": "Six."},
        {"heading": "High water", "text": "Seven.\n\n- item\n---"},
    ]


def test_a_long_paragraph_above_a_rule_keeps_all_of_its_words(vault):
    long = "word " * 100 + "end"
    item = vault.item(f"# T\n\n{long}\n---\n\nAfter.\n")
    (section,) = item["sections"]
    assert section["text"] == f"{long}\n---\n\nAfter."
    assert len(section["heading"]) <= 201 and section["heading"].endswith("…")


def test_a_heading_with_a_long_address_is_not_a_long_heading(vault):
    item = vault.item(f"# T\n\n## [Release](https://example.org/{'x' * 300})\n\nNew.\n")
    assert item["sections"] == [{"heading": "Release", "text": "New."}]


def test_a_fence_closes_only_with_its_own_kind_at_least_as_long(vault, leaves, words):
    item = vault.item(
        "# Manual\n\n````text\n```\n# one\n```\n# two\n````\n\n"
        "## Real A\n\n~~~sh\n# three\n```\n# four\n~~~\n\n## Real B\n"
    )
    assert item["title"] == "Manual"
    assert leaves(item) == ["Real A", "Real B"]
    assert all(code in words(item) for code in ("# one", "# two", "# three", "# four"))


def test_headings_read_as_commonmark_reads_them(vault, leaves, words):
    item = vault.item(
        "# Tools\n## Docs for C#\nSharp.\n## Closed ##\nBoth ends.\n#dock is a tag line\n####### seven\n##NoSpace\n"
        "<!--\n## Hidden plan\nsecret-html\n-->\n%% private-aside %%\n"
        "## [Release 2](https://example.org/r2) ✨\nShiny.\n"
    )
    assert leaves(item) == ["Docs for C#", "Closed", "Release 2 ✨"]
    closed = item["sections"][1]["text"]
    assert closed == "Both ends.\n#dock is a tag line\n####### seven\n##NoSpace"
    assert "Hidden plan" not in words(item)
    assert "secret-html" not in words(item) and "private-aside" not in words(item)


@pytest.mark.parametrize(
    ("source", "heading"),
    [
        ("Plain **bold** _it_ `code` <b>x</b> &amp; \\*", "Plain bold it code x & *"),
        ("[[Other|shown]] and [[Sail]]", "shown and Sail"),
        ("![pic](a.png) Alt", "pic Alt"),
        ("Set up {#set-up}", "Set up"),
        ("Set up {: .wide #set-up}", "Set up"),
        ("Braces {x}", "Braces {x}"),
        ("Told <!-- secret --> all %%secret%%", "Told all"),
    ],
)
def test_a_heading_is_its_words(vault, source, heading):
    assert vault.item(f"# T\n\n## {source}\n\nText.\n")["sections"] == [{"heading": heading, "text": "Text."}]


def test_headings_in_code_lists_and_quotations_do_not_split(vault):
    text = "    # indented\n\n> # quoted\n\n- # listed\n\n<pre>\n# html\n</pre>"
    assert vault.item(f"# T\n\n{text}\n")["sections"] == [{"heading": None, "text": text}]


def test_a_heading_with_nothing_below_it_has_its_words_as_text(vault):
    item = vault.item("# T\n\n## Parent\n\n### Met Bob\n\n## 2 May\n\n## <!-- x -->\n")
    assert item["sections"] == [
        {"heading": "Parent › Met Bob", "text": "Met Bob"},
        {"heading": "2 May", "text": "2 May"},
    ]


def test_a_note_of_a_title_alone_has_no_sections(vault):
    item = vault.item("# Mast\n")
    assert (item["title"], item["sections"]) == ("Mast", [])
    assert vault.item("", "empty.md")["sections"] == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a <!-- secret --> b", "a  b"),
        ("a\n\n<!-- secret\n\n# secret\n-->\n\nb", "a\n\n\nb"),
        ("a\n\n<!-- secret --> c", "a\n\n c"),
        ("a\n\n<!-- secret is never closed\n\nsecret", "a"),
        ("> a\n> <!-- secret\n> secret -->\n> b", "> a\n> \n> b"),
        ("- a\n  %% secret\n  secret %%\n- b", "- a\n- b"),
        ("a %%secret%% b", "a  b"),
        ("%%\n\n# secret\n\n```\nsecret\n```\n%%\nb", "b"),
        ("%%\nsecret\n\nsecret\n%% after", " after"),
        ("| a | b |\n|---|---|\n| c <!-- secret --> | d |", "| a | b |\n|---|---|\n| c  | d |"),
        ("<div>\n<!-- secret -->\nb\n</div>", "<div>\n\nb\n</div>"),
    ],
)
def test_comments_are_left_out(vault, source, text):
    assert vault.item(f"# T\n\n{source}\n")["sections"] == [{"heading": None, "text": text.lstrip("\n")}]


@pytest.mark.parametrize(
    "source",
    [
        "`<!-- shown -->` and ``%% ` shown %%``",
        "```\n<!-- shown -->\n%% shown %%\n```",
        "    %% shown %%\n    <!-- shown -->",
        "100%% sure and 50%% off",
        "a %% never closed",
        "%% never closed\n\nb",
        "an arrow <!-- never closed",
        "\\<!-- escaped -->",
        "- ```\n  %% shown %%\n  ```",
        "{/* no MDX */}",
    ],
)
def test_what_only_looks_like_a_comment_stays(vault, source):
    (section,) = vault.item(f"# T\n\n{source}\n")["sections"]
    assert section["text"] == source


def test_a_picture_embedded_as_text_is_left_out(vault, words):
    code = "iVBORw0KGgo" * 20_000
    item = vault.item(
        f"# T\n\nBefore ![map](data:image/png;base64,{code}) after.\n\n[m]: data:image/png;base64,{code}\n"
    )
    assert "Before ![map](data:image/png;base64,…) after." in words(item)
    assert len(words(item)) < 300


def test_shortcodes_of_hugo_are_text(vault, leaves, words):
    item = vault.item(
        "---\ntitle: Crane\n---\n\n{{< note >}}\nMind the hook.\n{{< /note >}}\n\n"
        'See [rails]({{< relref "hugo.md" >}}).\n\n## Load\n\nTwo tons.'
    )
    assert leaves(item) == ["Load"]
    assert "Mind the hook" in words(item) and "Two tons" in words(item)


def test_imports_exports_and_comments_of_mdx_are_left_out(vault, leaves, words):
    item = vault.item(
        "import Box from './box'\n\nexport const meta = { title: 'x' }\n\n# Winch\n\n{/* secret */}\n\n"
        "<Box>Turn left.</Box>\n\n## Rope\n\nHemp.\n\n```js\nimport rope from 'rope'\n```\n",
        "page.mdx",
        INCLUDE="*.md|*.mdx",
    )
    assert item["title"] == "Winch"
    assert leaves(item) == ["Rope"]
    assert item["sections"][0]["text"] == "<Box>Turn left.</Box>"
    assert "import rope from 'rope'" in words(item)


@pytest.mark.parametrize(
    "body",
    [
        "# Text Elements\nEngine room ^a1\n\n%%\n# Drawing\n```compressed-json\n{code}\n```\n%%\n",
        "==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu. ⚠==\n\n%%\n# Excalidraw Data\n## Text Elements\n"
        "Engine room ^a1\n\n## Drawing\n```json\n{code}\n```\n%%\n",
    ],
    ids=["older", "newer"],
)
def test_of_a_drawing_only_the_words_are_indexed(vault, words, body):
    code = "N4IgLg" * 40_000
    item = vault.item(f"---\nexcalidraw-plugin: parsed\n---\n{body.replace('{code}', code)}", "map.excalidraw.md")
    assert item["title"] == "map.excalidraw"
    assert "Engine room" in words(item) and "N4Ig" not in words(item) and "⚠" not in words(item)


def test_tables_includes_and_code_keep_their_source(vault):
    text = (
        "| a | b |\n|---|:-:|\n| `x|y` | [z](z.md) |\n\n[!INCLUDE [note](../inc/n.md)]\n\n"
        "> [!NOTE]\n> Mind   the gap.  \n> two\n\n1. one\n\n   ```sh\n   $ ls\n   ```"
    )
    assert vault.item(f"# T\n\n{text}\n")["sections"] == [{"heading": None, "text": text}]
