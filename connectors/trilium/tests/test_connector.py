from collections.abc import Callable
from typing import Any

import pytest

from passageway_connector_trilium.testing import TOKEN, FakeNote, FakeTrilium

Call = Callable[..., Any]
WIKI = FakeNote("wiki", "Wiki", labels=(("llmWikiPart", "wiki"),))
SOURCES = FakeNote("srcs", "Sources", labels=(("llmWikiPart", "sources"),))


def test_check_counts_the_text_and_code_notes(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("a", "A"), FakeNote("b", "B", type="code", mime="text/x-python"), FakeNote("c", "C", type="book")
    )
    outcome = call("check")
    assert (outcome.exit_code, outcome.messages) == (0, [{"ok": True, "count": 2, "protocol": "1"}])


def test_only_get_requests_with_the_bare_token_are_sent(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("a", "A", "<p>Text.</p>"))
    assert call("fetch", ids=["a"]).exit_code == 0
    assert {request.headers["authorization"] for request in trilium.server.requests} == {TOKEN}
    assert {request.headers["user-agent"] for request in trilium.server.requests} == {
        "passageway-connector-trilium/0.1.0"
    }
    assert {request.path for request in trilium.server.requests} == {"/etapi/notes", "/etapi/notes/a/content"}


def test_a_note_s_record_says_where_it_stands_and_what_hangs_together(call: Call, trilium: FakeTrilium) -> None:
    wiki_labels = (
        ("wikiType", "concept"),
        ("wikiTopic", "sails"),
        ("wikiTopic", "rope"),
        ("wikiStatus", "draft"),
        ("x", "y"),
    )
    relations = (
        ("internalLink", "mast"),
        ("relatesTo", "boom"),
        ("template", "tpl"),
        ("relatesTo", "sail"),
        ("relatesTo", "sheet"),
    )
    trilium.add(
        WIKI,
        FakeNote("rig", "Rigging", parents=("wiki",)),
        FakeNote(
            "sail", "Sail", '<p>See <a href="#root/wiki/keel">the keel</a>.</p>', ("rig",), wiki_labels, relations
        ),
    )
    assert call("fetch", ids=["sail"]).messages == [
        {
            "id": "sail",
            "title": "Sail",
            "url": "https://notes.example.org/#root/sail",
            "version": call("list").items["sail"]["version"],
            "sections": [{"heading": None, "text": "See the keel."}],
            "weight": 1.0,
            "path": ["Rigging"],
            "links": ["mast", "boom", "sheet", "keel"],
            "labels": ["area:wiki", "type:concept", "topic:rope", "topic:sails", "status:draft"],
            "updated": "2026-01-31T22:30:00Z",
        }
    ]


def test_attributes_that_come_in_another_order_change_nothing(call: Call, trilium: FakeTrilium) -> None:
    labels = (("wikiTopic", "sails"), ("wikiStatus", "draft"), ("wikiTopic", "rope"))
    relations = (("relatesTo", "b"), ("internalLink", "c"), ("relatesTo", "d"))
    trilium.add(FakeNote("a", "A", "<p>Text.</p>", labels=labels, relations=relations))
    before = call("fetch", ids=["a"]).messages
    trilium.edit("a", labels=labels[::-1], relations=relations[::-1])
    assert call("fetch", ids=["a"]).messages == before


def test_links_are_made_with_the_server_s_address_when_there_is_no_other(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("a", "A"))
    outcome = call("fetch", ids=["a"], env={"WEB_URL": "", "URL": f"{trilium.server.url}/etapi/"})
    assert outcome.messages[0]["url"] == f"{trilium.server.url}/#root/a"


def test_links_count_in_every_form_trilium_writes_and_web_addresses_do_not(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote(
            "k0",
            "Links",
            '<p>See <a class="reference-link" href="#root/p1/k1">Keel</a>, <a href="#root/p1/p2-x9Qz">b</a>, '
            '<a href="#k1?viewMode=source">c</a>, <a href="https://example.org/#root/k9">web</a>, '
            '<a href="https://notes.example.org/#root/p1/k3">own</a>, <a href="#root/p1/k0">itself</a>, '
            '<a href="#">top</a></p><section class="include-note" data-note-id="k4">&nbsp;</section>',
        )
    )
    assert call("fetch", ids=["k0"]).messages[0]["links"] == ["k1", "p2", "k3", "k4"]


def test_a_source_links_back_to_the_summaries_that_cite_it(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        WIKI,
        SOURCES,
        FakeNote("minutes", "Minutes", parents=("srcs",)),
        FakeNote("zz", "Summary", parents=("wiki",), relations=(("wikiSource", "minutes"),)),
        FakeNote("aa", "Other", parents=("wiki",), relations=(("wikiSource", "minutes"),)),
        FakeNote("old", "Old", parents=("wiki",), labels=(("archived", ""),), relations=(("wikiSource", "minutes"),)),
        FakeNote("lock", "Lock", parents=("lk",), relations=(("wikiSource", "minutes"),)),
        FakeNote("lk", "Locks", labels=(("llmWikiPart", "locks"),)),
    )
    items = call("fetch", ids=["minutes", "zz"]).items
    assert items["minutes"]["links"] == ["aa", "zz"]
    assert items["minutes"]["weight"] == 0.8
    assert items["zz"]["links"] == ["minutes"]


def test_the_reverse_link_is_made_for_an_inherited_label_but_not_for_an_inherited_relation(
    call: Call, trilium: FakeTrilium
) -> None:
    trilium.add(
        FakeNote("up", "Up", labels=(("wikiType!", "report"),), relations=(("wikiSource!", "src"),)),
        FakeNote("low", "Low", parents=("up",)),
        FakeNote("src", "Source"),
    )
    items = call("fetch", ids=["src", "low"]).items
    assert items["src"]["links"] == ["up"]
    assert items["low"]["labels"] == ["type:report"]


def test_plumbing_archived_hidden_and_other_notes_are_left_out(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("tpl", "Templates", labels=(("llmWikiPart", "templates"),)),
        FakeNote("t1", "A template", parents=("tpl",)),
        FakeNote("arc", "Attic", labels=(("archived!", ""),)),
        FakeNote("in_arc", "In the attic", parents=("arc",)),
        FakeNote("_hidden", "Hidden", labels=(("archived", ""),)),
        FakeNote("_help", "Help", parents=("_hidden",)),
        FakeNote("img", "Photo", type="image", mime="image/png"),
        FakeNote("map", "Map", type="relationMap", mime="application/json"),
        FakeNote("kept", "Kept"),
    )
    assert list(call("list").items) == ["kept"]
    assert (
        call("fetch", ids=["t1", "arc", "in_arc", "_help", "img", "map", "root", "nobody", "no/../id"]).messages == []
    )


def test_a_protected_note_and_a_cloned_one_in_a_circle_are_no_trouble(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("p1", "Hull", parents=("root", "k1")),
        FakeNote("p2", "Repairs"),
        FakeNote("k1", "Keel", "<p>Lead.</p>", parents=("p2", "p1")),
        FakeNote("s1", "Secret", is_protected=True),
        FakeNote("s2", "Secret", is_protected=True, parents=("s1",)),
    )
    listed = call("list")
    assert sorted(listed.items) == ["k1", "p1", "p2"]
    assert listed.stderr == "trilium connector: warning: protected notes left out: 2\n"
    fetched = call("fetch", ids=["k1", "s1", "k1"])
    assert [(item["id"], item["path"]) for item in fetched.messages] == [("k1", ["Hull"])]
    assert fetched.stderr == ""
    assert not any("s1" in request.path for request in trilium.server.requests)


def test_a_note_that_becomes_protected_while_it_is_fetched_is_skipped(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("a", "A"), FakeNote("b", "B", "<p>Stays.</p>"))

    def protect(request: Any) -> None:
        if request.path.endswith("/a/content"):
            trilium.edit("a", is_protected=True)

    trilium.instead = protect
    outcome = call("fetch", ids=["a", "b"])
    assert (outcome.exit_code, list(outcome.items), outcome.stderr) == (0, ["b"], "")


def test_h2_and_h3_make_sections_and_the_rest_stays_readable(call: Call, trilium: FakeTrilium) -> None:
    html = (
        "<p>Before.</p><h2>Setup</h2><h3>Linux</h3><p>Run:</p>"
        '<pre><code class="language-text-x-python">print(1)\n\nprint(2)</code></pre>'
        '<pre><code class="language-text-x-trilium-auto">plain</code></pre>'
        "<h4>Deeper</h4><ol><li>one</li><li>two<ul><li>inner</li></ul></li></ol>"
        '<ul class="todo-list"><li><label class="todo-list__label"><input type="checkbox" checked="checked" '
        'disabled="disabled"><span class="todo-list__label__description">done</span></label></li></ul>'
        '<figure class="table"><table><tbody><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>'
        "</figure><h2>Other</h2><p>Tail&nbsp;end &amp; more.</p>"
    )
    trilium.add(FakeNote("a", "A", html))
    sections = call("fetch", ids=["a"]).messages[0]["sections"]
    assert [section["heading"] for section in sections] == [None, "Setup › Linux", "Other"]
    assert sections[1]["text"] == (
        "Run:\n\n```python\nprint(1)\n\nprint(2)\n```\n\n```\nplain\n```\n\nDeeper\n\n1. one\n2. two\n   - inner\n\n"
        "- [x] done\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )
    assert sections[2]["text"] == "Tail end & more."


def test_a_code_note_is_cut_at_blank_lines(call: Call, trilium: FakeTrilium) -> None:
    functions = [f"def f{number}():\n    # {'x' * 400}\n    return '<b>{number}</b>'" for number in range(6)]
    trilium.add(FakeNote("c", "C", "\r\n\r\n".join(functions), type="code", mime="text/x-python"))
    sections = call("fetch", ids=["c"]).messages[0]["sections"]
    assert len(sections) == 3
    assert "\n\n".join(section["text"] for section in sections) == "\n\n".join(functions)


def test_a_long_section_is_cut_and_keeps_its_heading(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("a", "A", "<h2>Long</h2>" + "".join(f"<p>{'Wort ' * 60}{n}.</p>" for n in range(12))))
    sections = call("fetch", ids=["a"]).messages[0]["sections"]
    assert len(sections) > 2
    assert {section["heading"] for section in sections} == {"Long"}
    assert max(len(section["text"]) for section in sections) < 350 * 4


def test_a_note_over_the_limit_is_skipped_with_a_warning_and_stays_listed(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("big", "Big", "x" * 2000), FakeNote("ok", "Ok", "<p>Fine.</p>"))
    outcome = call("fetch", ids=["big", "ok"], env={"MAX_NOTE_BYTES": "1000"})
    assert (outcome.exit_code, list(outcome.items)) == (0, ["ok"])
    assert "warning: note big has more than the 1000 bytes of MAX_NOTE_BYTES" in outcome.stderr
    assert sorted(call("list").items) == ["big", "ok"]


def test_changed_costs_one_small_search_when_nothing_changed(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("a", "A"))
    assert call("changed", "--since", "2026-02-01T00:00:00Z").messages == []
    assert trilium.searches() == ["note.utcDateModified >= '2026-01-31 23:58:00.000Z'"]


def test_changed_prints_an_edited_note_with_its_place_and_links(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(WIKI, FakeNote("a", "A", "<p>Old.</p>", ("wiki",)), FakeNote("b", "B", "<p>Old.</p>"))
    trilium.edit("a", content="<p>New.</p>")
    trilium.edit("b", labels=(("wikiType", "concept"),))
    since = "2026-01-31T23:32:30+01:00"
    (item,) = call("changed", "--since", since).messages
    assert (item["id"], item["weight"], item["labels"]) == ("a", 1.0, ["area:wiki"])
    assert item["sections"] == [{"heading": None, "text": "New."}]
    assert item == call("fetch", ids=["a"]).messages[0]


def test_a_fetch_reads_the_notes_above_and_not_the_whole_tree(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(WIKI, *(FakeNote(f"n{number}", f"N{number}", parents=("wiki",)) for number in range(40)))
    call("fetch", ids=["n1", "n2"])
    assert trilium.searches() == [
        "note.noteId = 'n1' or note.noteId = 'n2'",
        "~wikiSource.noteId = 'n1' or ~wikiSource.noteId = 'n2'",
        "note.noteId = 'wiki'",
        "note.noteId = 'root'",
    ]


def test_ids_that_differ_in_case_alone_are_two_notes(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(FakeNote("aBc", "One", "<p>1</p>"), FakeNote("abC", "Two", "<p>2</p>"))
    assert [item["title"] for item in call("fetch", ids=["abC"]).messages] == ["Two"]


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("content", {"content": "<p>Other.</p>"}),
        ("title", {"title": "Other"}),
        ("label", {"labels": (("wikiStatus", "done"),)}),
        ("relation", {"relations": (("relatesTo", "p"),)}),
        ("move", {"parents": ("q",)}),
        ("another place of the same weight", {"parents": ("o", "p")}),
    ],
)
def test_a_version_changes_with_the_content_and_what_surrounds_it(
    call: Call, trilium: FakeTrilium, what: str, changes: dict[str, Any]
) -> None:
    trilium.add(*(FakeNote(name, name.upper()) for name in "opq"), FakeNote("a", "A", "<p>Text.</p>", ("p",)))
    before = call("list").items
    trilium.edit("a", **changes)
    after = call("list").items
    assert after["a"] != before["a"], what
    assert {key: value for key, value in after.items() if key != "a"} == {
        key: value for key, value in before.items() if key != "a"
    }


def test_versions_below_a_renamed_note_and_of_a_cited_source_change(call: Call, trilium: FakeTrilium) -> None:
    trilium.add(
        FakeNote("p", "P"), FakeNote("q", "Q", parents=("p",)), FakeNote("a", "A", parents=("q",)), FakeNote("b", "B")
    )
    before = call("list").items
    trilium.edit("p", title="Renamed")
    trilium.add(FakeNote("s", "S", relations=(("wikiSource", "b"),)))
    after = call("list").items
    assert {key for key in before if before[key] != after[key]} == {"p", "q", "a", "b"}


def test_a_server_without_blobs_still_tells_an_edit(call: Call, trilium: FakeTrilium) -> None:
    trilium.has_blob_ids = False
    trilium.add(FakeNote("a", "A", "<p>Old.</p>"))
    before = call("list").items
    trilium.edit("a", content="<p>New.</p>")
    assert call("list").items != before


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"URL": ""}, "URL is missing"),
        ({"URL": "trilium:8080"}, "URL is 'trilium:8080', expected an address"),
        ({"URL": "https://me:pass@notes.example.org"}, "URL holds a user name or password"),
        ({"TOKEN": " "}, "TOKEN is missing"),
        ({"TOKEN": "to\nken"}, "request header 'Authorization'"),
        ({"WEB_URL": "ftp://x"}, "WEB_URL is 'ftp://x'"),
        ({"TIMEOUT": "soon"}, "TIMEOUT is 'soon', expected a number"),
        ({"TIMEOUT": "0"}, "TIMEOUT is '0'"),
        ({"MAX_NOTE_BYTES": "1.5"}, "MAX_NOTE_BYTES is '1.5', expected a whole number"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_holds(call: Call, settings: dict[str, str], problem: str) -> None:
    outcome = call("check", env=settings)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("trilium connector: ")
    assert problem in outcome.stderr
    assert "pass@" not in outcome.stderr and "to\nken" not in outcome.stderr
