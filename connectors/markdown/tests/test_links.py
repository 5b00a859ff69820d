"""Related items: which links count, and which note they mean."""

import unicodedata

import pytest


def links(vault, name):
    return vault.items()[name]["links"]


def test_wiki_links_find_the_nearest_note_of_a_name(vault):
    vault.write("Sail.md", "# Sail\n\n## Trim\n\nTight. ^k1\n")
    vault.write("Mast.md", "# Mast\n")
    for folder in ("a", "a/b", "c"):
        vault.write(f"{folder}/Rig.md", f"# Rig ({folder})\n")
    vault.write(
        "a/log.md",
        "| x | y |\n|---|---|\n| [[Sail\\|the sail]] | ![[Sail#Trim]] |\n\n[[Sail#^k1]] [[Mast|mast]] [[Rig]]\n",
    )
    vault.write("z/log.md", "[[Rig]] and [[a/b/Rig]]\n")
    items = vault.items()
    assert items["a/log.md"]["links"] == ["Sail.md", "Mast.md", "a/Rig.md"]
    assert items["z/log.md"]["links"] == ["a/Rig.md", "a/b/Rig.md"]


@pytest.mark.parametrize(
    "link", ["[[rig]]", "[[RIG]]", "[[Rig.md]]", "[[ Rig ]]", "![[Rig]]", "[[b/Rig]]", "[[./b/rig]]"]
)
def test_a_wiki_link_names_a_file_in_several_ways(vault, link):
    vault.write("a/b/Rig.md", "# Rig")
    vault.write("a/log.md", link)
    assert links(vault, "a/log.md") == ["a/b/Rig.md"]


@pytest.mark.parametrize(
    "link", ["[[#Here]]", "[[]]", "[[log]]", "[[../../x]]", "[[pic.png]]", "\\[[Rig]]", "[[No such]]"]
)
def test_a_wiki_link_to_no_other_note_is_no_link(vault, link):
    vault.write("Rig.md", "# Rig")
    vault.write("pic.png", b"\x89PNG")
    vault.write("a/log.md", link)
    assert links(vault, "a/log.md") == []


def test_markdown_links_are_addresses_relative_to_the_note(vault):
    vault.write(
        "guide/start.md",
        '[one](next%20step.md) [two](<next step.md>) [three](next%20step.md#go "Title") [four](../Top.md?x=1)\n'
        "[five](/Top.md) [six](https://example.org/next%20step.md) [seven](mailto:a@example.org) "
        "![img](../pic.png) [eight](#here)\n",
    )
    vault.write("guide/next step.md")
    vault.write("Top.md")
    vault.write("pic.png", b"\x89PNG")
    assert links(vault, "guide/start.md") == ["guide/next step.md", "Top.md"]


@pytest.mark.parametrize(
    "source",
    [
        "[text][ref]\n\n[ref]: b/Other.md 'Title'",
        "[ref][]\n\n[ref]: <b/Other.md>",
        "[ref]\n\n> [ref]:\n> b/Other.md",
        "[!INCLUDE [the note](b/Other.md)]",
        "[![badge](pic.png)](b/Other.md)",
        "[a [nested] text](b/Other.md)",
        "[two\nlines](\n  b/Other.md\n  'Title')",
        "> [quoted](\n> b/Other.md)",
        "- [x] [listed](./b/../b/Other.md)",
        "| t |\n|---|\n| [cell](b/Other.md) |",
        "[case](B/other.MD)",
        "[ending](b/Other)",
        "[escaped](b/Other\\.md)",
        "[entity](b&sol;Other.md)",
        "**[bold](b/Other.md)**",
        "# [heading](b/Other.md)",
    ],
)
def test_a_link_in_any_form_of_commonmark_counts(vault, source):
    vault.write("b/Other.md", "# Other")
    vault.write("log.md", source)
    assert links(vault, "log.md") == ["b/Other.md"]


def test_parentheses_in_a_file_name_are_part_of_the_address(vault):
    vault.write("plan (2).md")
    vault.write("plan(3).md")
    vault.write("100%.md")
    vault.write("log.md", "[a](plan%20(2).md) [b](plan(3).md) [c](100%.md)")
    assert links(vault, "log.md") == ["plan (2).md", "plan(3).md", "100%.md"]


def test_a_link_to_a_folder_means_its_index_note(vault):
    vault.write("a/README.md")
    vault.write("b/index.md")
    vault.write("log.md", "[a](a/) [b](/b) [top](/)")
    assert links(vault, "log.md") == ["a/README.md", "b/index.md"]


@pytest.mark.parametrize(
    "source",
    [
        "`[code](Other.md)` and `[[Other]]`",
        "```\n[code](Other.md) [[Other]]\n```",
        "    [code](Other.md) [[Other]]",
        "<!-- [hidden](Other.md) [[Other]] -->",
        "words <!-- [hidden](Other.md) --> %%[[Other]]%%",
        "%%\n[[Other]]\n%%",
        "![image](Other.md)",
        "\\[no](Other.md)",
        "[out](../Other.md)",
        "[self](log.md)",
        "//Other.md [other place](//host/Other.md) [drive](file:Other.md)",
        "[not defined][Other.md]",
        "[ref]: Other.md",
    ],
)
def test_what_is_no_link_to_another_note_relates_nothing(vault, source):
    vault.write("Other.md", "# Other")
    vault.write("log.md", source)
    assert links(vault, "log.md") == []


@pytest.mark.parametrize(("written", "stored"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_an_accent_is_the_same_letter_in_both_unicode_forms(vault, written, stored):
    name = unicodedata.normalize(stored, "Café.md")
    vault.write(name, "# Coffee")
    for number, link in enumerate(("[[Café]]", "[a](Café.md)", "[b](Caf%C3%A9.md)")):
        vault.write(f"{number}.md", unicodedata.normalize(written, link))
    items = vault.items()
    assert [items[f"{number}.md"]["links"] for number in range(3)] == [[name]] * 3


def test_the_title_and_the_path_are_in_the_composed_form(vault):
    name = unicodedata.normalize("NFD", "Café/Crème.md")
    item = vault.item("Text.", name)
    assert item["id"] == name
    assert (item["title"], item["path"]) == (
        unicodedata.normalize("NFC", "Crème"),
        [unicodedata.normalize("NFC", "Café")],
    )


def test_links_are_ids_each_once_in_the_order_of_the_text(vault):
    vault.write("one.md", "---\nid: first\n---\n")
    vault.write("two.md")
    vault.write("log.md", "[[two]] [[one]] [a](two.md) [[ONE]]")
    assert links(vault, "log.md") == ["two.md", "first"]


def test_a_link_in_a_paragraph_of_a_hundred_thousand_brackets_is_found_in_time(vault):
    vault.write("Other.md")
    vault.write("log.md", "[" * 100_000 + " [a](Other.md)")
    assert links(vault, "log.md") == ["Other.md"]
