"""Front matter: where it starts and ends, how its values are read, and what happens to broken ones."""

import os

import pytest


def test_windows_line_ends_and_a_byte_order_mark_leave_no_trace(vault, leaves, words):
    item = vault.item(
        b"\xef\xbb\xbf---\r\ntitle: Tide table\r\ntags: [sea]\r\n---\r\n# Harbour\r\n\r\nHigh water at six.\r\n"
    )
    assert item["title"] == "Tide table"
    assert item["labels"] == ["sea"]
    assert leaves(item) == ["Harbour"]
    assert words(item) == "Harbour\nHigh water at six."
    assert "\r" not in str(item) and "\ufeff" not in str(item)


def test_rules_in_a_document_without_front_matter_are_text(vault, words):
    item = vault.item("# Recipes\n\nSoup first.\n\n---\n\nserves: four people\n\n---\n\nBread last.\n")
    assert (item["title"], item["labels"]) == ("Recipes", [])
    assert words(item) == "\nSoup first.\n\n---\n\nserves: four people\n\n---\n\nBread last."


def test_rules_after_front_matter_are_text(vault, words):
    item = vault.item("---\ntitle: Log\n---\n\nDay one.\n\n---\n\nDay two.\n\n---\n\nDay three.\n")
    assert item["title"] == "Log"
    assert words(item) == "\nDay one.\n\n---\n\nDay two.\n\n---\n\nDay three."


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA quiet day.\n\n---\n\nA loud night.\n",
        "---\n- milk\n- bread\n---\n\nA loud night.\n",
        "---\nDear all, *this* is: a letter\n- [x\n---\n\nA loud night.\n",
        "---\ntitle: never closed\n\nA loud night.\n",
    ],
    ids=["prose", "list", "prose that is no YAML", "not closed"],
)
def test_a_rule_on_the_first_line_is_no_front_matter_when_no_keys_follow(vault, words, text):
    item = vault.item(text)
    assert item["title"] != "never closed"
    assert "A loud night." in words(item)
    first = text.split("\n")[1] or text.split("\n")[2]
    assert first in words(item)


def test_three_dots_close_front_matter_too(vault):
    assert vault.item("---\ntitle: Tide\n...\nText.\n")["title"] == "Tide"


def test_an_empty_block_is_dropped(vault, words):
    assert words(vault.item("---\n---\nText.\n")) == "\nText."


def test_values_are_read_as_text_and_a_null_is_no_value(vault):
    item = vault.item("---\ntitle: 1.10\nid: 007\nupdated: 2025-02-03\ntags: [2024, yes, 1.0]\n---\nBody.")
    assert (item["title"], item["id"], item["updated"]) == ("1.10", "007", "2025-02-03")
    assert item["labels"] == ["2024", "yes", "1.0"]
    item = vault.item("---\ntitle: no\ntags: null\n---\nBody.", "n2.md")
    assert (item["title"], item["labels"]) == ("no", [])
    item = vault.item('---\ntitle: "Yes: really"   # remark\nweight: 2\n---\nBody.', "n3.md")
    assert (item["title"], item["weight"]) == ("Yes: really", 2)


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL", '""', "|"])
def test_an_empty_value_counts_as_missing(vault, null):
    keys = "".join(f"{key}: {null}\n" for key in ("title", "id", "url", "updated", "weight", "tags"))
    item = vault.item(f"---\n{keys}---\n# Bowline\n\nA knot.")
    assert (item["id"], item["title"], item["weight"], item["labels"]) == ("note.md", "Bowline", 1, [])
    assert item["url"].startswith("file:///")
    assert item["updated"].endswith("Z")


def test_a_quoted_null_is_a_word(vault):
    assert vault.item('---\ntitle: "null"\n---\nBody.')["title"] == "null"


@pytest.mark.parametrize(
    ("text", "title", "last", "dropped"),
    [
        ("---\ntags:\n\t- boat\n\t- rope\ntitle: Knots\n---\n# Knots\n\nBowline.", "Knots", "Bowline.", "boat"),
        ("---\ntitle: Part 2: the return\nsite: A: B\n---\n# Return\n\nThey sailed home.", "Return", "home.", "site:"),
        ("---\ntitle: [draft] boats and more\n---\n# Boats\n\nThree boats.", "Boats", "Three boats.", "[draft]"),
    ],
    ids=["tabs", "colons", "brackets"],
)
def test_front_matter_that_is_no_yaml_is_reported_and_not_used(vault, words, text, title, last, dropped):
    vault.write("ok.md", "# Fine\n\nUntouched.")
    item = vault.item(text)
    assert item["title"] == title
    assert last in words(item) and dropped not in words(item)
    assert "'note.md': front matter is not valid YAML and not used: line " in vault.warnings()


def test_template_marks_and_keys_without_values_are_valid(vault, words):
    item = vault.item("---\ncreated: <% now %>\nparent:\n\nchild:\n---\n# Template\n\nFilled in later.")
    assert (item["title"], words(item)) == ("Template", "\nFilled in later.")
    assert vault.warnings() == ""


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("tags: harbour, night-shift", ["harbour", "night-shift"]),
        ('tags: "#work/dock"', ["work/dock"]),
        ('tags: [ "#a", b ]', ["a", "b"]),
        ("tags: solo", ["solo"]),
        ("tags:\n  - x\n  - x", ["x"]),
        ("tag: single", ["single"]),
        ("tag: one\ntags: [two, one]", ["two", "one"]),
        ("tags: [a, '', null, ' ', '#']", ["a"]),
        ("tags: []", []),
        ("tags: {a: b}", []),
    ],
)
def test_tags_become_labels_without_their_mark(vault, line, labels):
    assert vault.item(f"---\n{line}\n---\nBody.")["labels"] == labels


def test_toml_front_matter_is_read_and_a_sort_order_is_no_weight(vault, words):
    item = vault.item(
        '+++\ntitle = "Slipway"\ntags = ["dock", "steel", 7]\nweight = 5\nversion = 1.10\n'
        "updated = 2025-02-03T04:05:06Z\n+++\n\n# Rails\n\nGrease the rails.",
        "hugo.md",
    )
    assert (item["title"], item["labels"], item["weight"]) == ("Slipway", ["dock", "steel", "7"], 1)
    assert item["updated"] == "2025-02-03T04:05:06Z"
    assert words(item) == "Rails\nGrease the rails."
    assert "'hugo.md': weight is '5', expected a number from 0 to 2" in vault.warnings()


def test_toml_that_is_broken_is_reported_and_not_used(vault, words):
    assert words(vault.item("+++\ntitle = Slipway\n+++\nText.")) == "\nText."
    assert "'note.md': front matter is not valid TOML" in vault.warnings()


@pytest.mark.parametrize("weight", ["-0.1", "2.1", "heavy", "nan", "inf", "[1]", "true"])
def test_a_weight_outside_0_to_2_is_reported_and_the_default_used(vault, weight):
    assert vault.item(f"---\nweight: {weight}\n---\nBody.")["weight"] == 1
    assert "'note.md': weight is " in vault.warnings()


@pytest.mark.parametrize("weight", ["0", "0.5", "2", "1e0"])
def test_a_weight_from_0_to_2_is_taken(vault, weight):
    assert vault.item(f"---\nweight: {weight}\n---\nBody.")["weight"] == float(weight)


def test_an_address_in_front_matter_is_the_items_address(vault):
    vault.write("a.md", "---\nurl: https://wiki.example.org/ops/certs\n---\nBody.")
    assert vault.items()["a.md"]["url"] == "https://wiki.example.org/ops/certs"


@pytest.mark.parametrize("url", ["/docs/page/", "javascript:alert(1)", "data:text/html,x", "two words"])
def test_what_is_no_address_to_open_is_reported_and_the_files_own_used(vault, url):
    path = vault.write("a b.md", f'---\nurl: "{url}"\n---\nBody.')
    assert vault.items()["a b.md"]["url"] == path.as_uri() and path.as_uri().endswith("/a%20b.md")
    assert "'a b.md': url is " in vault.warnings()


def test_without_a_date_the_time_of_the_file_is_shown(vault):
    path = vault.write("a.md", "Body.")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert vault.items()["a.md"]["updated"] == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    "block",
    [
        "a: &a [x]\ntags: [*a, *a]",
        "a: &a {b: *a}",
        "title: *missing",
        'title: "\\uD800 half"',
        "title: " + "[" * 3000,
        "- " * 900 + "x",
        "{a: " * 900,
        "? [a]\n: b\ntitle: x",
        "title: x\ntitle: y",
        "!!python/object/apply:os.system ['true']",
        "%YAML 9.9",
        "title: !!binary aGVsbG8=",
    ],
)
def test_hostile_yaml_gives_an_item_all_the_same(vault, words, block):
    assert "Last words." in words(vault.item(f"---\n{block}\n---\nLast words."))


def test_a_block_of_megabytes_is_text(vault, words):
    item = vault.item("---\ntitle: x\n" + "# filler\n" * 20_000 + "---\nLast words.")
    assert "Last words." in words(item)
