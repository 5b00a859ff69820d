import pytest

from passageway_connector_confluence.storage import Reference, Storage, read_storage


def text_of(storage: Storage) -> str:
    return "\n\n".join(section["text"] or "" for section in storage.sections)


def headings(storage: Storage) -> list[str | None]:
    return [section["heading"] for section in storage.sections]


def macro(name: str, inside: str = "", **parameters: str) -> str:
    listed = "".join(f'<ac:parameter ac:name="{key}">{value}</ac:parameter>' for key, value in parameters.items())
    return f'<ac:structured-macro ac:name="{name}" ac:schema-version="1">{listed}{inside}</ac:structured-macro>'


def rich(inside: str) -> str:
    return f"<ac:rich-text-body>{inside}</ac:rich-text-body>"


def plain(inside: str) -> str:
    return f"<ac:plain-text-body><![CDATA[{inside}]]></ac:plain-text-body>"


def test_entities_of_html_and_prefixes_without_a_declaration_are_read() -> None:
    storage = read_storage(
        "<h2>Gr&ouml;&szlig;e</h2><p>A&nbsp;&mdash;&nbsp;B &amp; C &lt;d&gt;</p><p>two</p>"
        '<ac:link><ri:page ri:content-title="Hull"/></ac:link>'
    )
    assert headings(storage) == ["Größe"]
    assert text_of(storage) == "A — B & C <d>\n\ntwo\n\nHull"
    assert storage.references == (Reference(title="Hull"),)


def test_code_that_had_to_be_split_into_two_cdata_sections_comes_out_in_one_piece() -> None:
    code = 'if (t[i[0]]]]><![CDATA[> 9) { puts("<h1>no</h1>"); }'
    storage = read_storage(macro("code", plain(code), language="c") + "<h2>Next</h2><p>Tail.</p>")
    assert headings(storage) == [None, "Next"]
    assert storage.sections[0]["text"] == '```c\nif (t[i[0]]> 9) { puts("<h1>no</h1>"); }\n```'
    assert storage.sections[1]["text"] == "Tail."


def test_nested_and_unknown_macros_keep_what_they_hold_and_parameters_are_left_out() -> None:
    inner = macro("vendor-x", rich("<h3>Why</h3><p>Hot.</p>"), sparkline="true")
    storage = read_storage(
        macro("panel", rich(f"<p>Wear gloves.</p>{inner}"), bgColor="#eef", title="Rule")
        + '<p>See <ac:link><ri:page ri:content-title="Oven"/></ac:link> or ask '
        + '<ac:link><ri:user ri:userkey="8f0"/></ac:link>.</p><ac:structured-macro ac:name="toc"/>'
    )
    assert headings(storage) == [None, "Why"]
    assert text_of(storage) == "Rule\n\nWear gloves.\n\nHot.\n\nSee Oven or ask ."
    assert storage.references == (Reference(title="Oven"),)


@pytest.mark.parametrize(
    "name", ["info", "note", "tip", "warning", "panel", "expand", "section", "column", "excerpt", "x-y"]
)
def test_a_macro_with_a_body_is_what_it_holds(name: str) -> None:
    assert text_of(read_storage(macro(name, rich("<p>Inside.</p>")) + "<p>After.</p>")) == "Inside.\n\nAfter."


@pytest.mark.parametrize(
    "markup",
    [
        macro("toc", maxLevel="3"),
        macro("jira", key="OPS-7", server="tracker"),
        macro("children", depth="2"),
        macro("vendor-chart", colour="red"),
        '<ac:image ac:alt="diagram"><ri:attachment ri:filename="x.png"/></ac:image>',
        '<ac:emoticon ac:name="tick" ac:emoji-fallback=":check:"/>',
        "<ac:placeholder>Type your text here</ac:placeholder>",
        macro("style", plain("h1 { color: red }")),
    ],
)
def test_what_has_no_text_of_its_own_is_left_out(markup: str) -> None:
    assert read_storage(f"<p>Before.</p>{markup}<p>After {markup}it.</p>").sections == [
        {"heading": None, "text": "Before.\n\nAfter it."}
    ]


def test_a_status_keeps_its_title() -> None:
    assert (
        text_of(read_storage(f"<p>Plan: {macro('status', colour='Green', title='DONE')} since May</p>"))
        == "Plan: DONE since May"
    )


def test_noformat_code_and_plain_bodies_of_others_stay_preformatted() -> None:
    storage = read_storage(macro("noformat", plain("a\n  b")) + macro("mermaid", plain("graph TD;\n  A-->B;")))
    assert text_of(storage) == "```\na\n  b\n```\n\n```\ngraph TD;\n  A-->B;\n```"


def test_an_html_macro_is_read_as_html() -> None:
    storage = read_storage(macro("html", plain("<p>Shown <b>bold</b></p><script>hidden()</script>")))
    assert text_of(storage) == "Shown bold"


def test_tasks_become_a_list_with_check_boxes() -> None:
    def task(status: str, body: str) -> str:
        about = f"<ac:task-id>7</ac:task-id><ac:task-status>{status}</ac:task-status>"
        return f"<ac:task>{about}<ac:task-body>{body}</ac:task-body></ac:task>"

    inner = f"<ac:task-list>{task('incomplete', 'Inner')}</ac:task-list>"
    dated = '<span class="placeholder-inline-tasks">Done <time datetime="2026-03-01" /></span>'
    storage = read_storage(
        f"<ac:task-list>{task('complete', dated)}{task('incomplete', f'<p>Open</p>{inner}')}</ac:task-list>"
    )
    assert text_of(storage) == "- [x] Done 2026-03-01\n- [ ] Open\n  - [ ] Inner"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ('<ri:page ri:content-title="Home" ri:space-key="HR"/>', "Home"),
        (
            '<ri:page ri:content-title="Home"/><ac:plain-text-link-body><![CDATA[start]]></ac:plain-text-link-body>',
            "start",
        ),
        ('<ri:page ri:content-title="Home"/><ac:link-body>see <b>this</b></ac:link-body>', "see this"),
        ('<ri:page ri:content-title="Home"/><ac:link-body><ac:image/></ac:link-body>', "Home"),
        ('<ri:blog-post ri:content-title="News" ri:posting-day="2026/01/02"/>', "News"),
        ('<ri:attachment ri:filename="plan.pdf"/>', "plan.pdf"),
        ('<ri:user ri:account-id="557058:aa"/><ac:link-body>Ann</ac:link-body>', "Ann"),
        ('<ri:user ri:account-id="557058:aa"/>', ""),
        ('<ri:space ri:space-key="HR"/>', ""),
    ],
)
def test_a_link_reads_as_its_text_or_as_the_title_it_leads_to(inside: str, text: str) -> None:
    assert text_of(read_storage(f"<p>[<ac:link>{inside}</ac:link>]</p>")) == f"[{text}]"


def test_references_are_pages_by_title_and_addresses_each_once() -> None:
    storage = read_storage(
        '<p><ac:link><ri:page ri:content-title="A"/></ac:link><ac:link><ri:page ri:content-title="A"/></ac:link>'
        '<ac:link><ri:page ri:space-key="HR" ri:content-title="A &amp; B"/></ac:link><a href="/display/OPS/C">c</a></p>'
        + macro("include", "", **{"": '<ac:link><ri:page ri:content-title="Parts"/></ac:link>'})
    )
    assert storage.references == (
        Reference(title="A"),
        Reference(title="A & B", space="HR"),
        Reference(address="/display/OPS/C"),
        Reference(title="Parts"),
    )
    assert "Parts" not in text_of(storage)


def test_columns_tables_and_lists_stay_readable() -> None:
    storage = read_storage(
        '<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>left</p></ac:layout-cell>'
        "<ac:layout-cell><h2>Right</h2><ol><li>one<ul><li>a</li></ul></li></ol></ac:layout-cell></ac:layout-section></ac:layout>"
        "<table><tbody><tr><th>Name</th><th>Port</th></tr><tr><td><p>web</p></td><td>80|443</td></tr></tbody></table>"
    )
    assert [section["text"] for section in storage.sections] == [
        "left",
        "1. one\n   - a\n\n| Name | Port |\n| --- | --- |\n| web | 80\\|443 |",
    ]


def test_headings_one_to_three_make_sections_with_their_trail() -> None:
    storage = read_storage(
        "<h1>Setup</h1><h2>Linux</h2><p>a</p><h3>Arch</h3><p>b</p><h4>Deep</h4><p>c</p><h2>Mac</h2><p>d</p>"
    )
    assert headings(storage) == ["Setup › Linux", "Setup › Linux › Arch", "Setup › Mac"]
    assert storage.sections[1]["text"] == "b\n\nDeep\n\nc"


def test_what_the_new_editor_writes_twice_is_read_once() -> None:
    storage = read_storage(
        '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-attribute key="panel-type">note</ac:adf-attribute>'
        "<ac:adf-content><p>Mind the gap.</p></ac:adf-content></ac:adf-node>"
        "<ac:adf-fallback><div><p>Mind the gap.</p></div></ac:adf-fallback></ac:adf-extension>"
        '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-content><p>No copy.</p></ac:adf-content></ac:adf-node>'
        "</ac:adf-extension>"
    )
    assert text_of(storage) == "Mind the gap.\n\nNo copy."


def test_text_with_a_comment_mark_keeps_its_words_together() -> None:
    marked = '<p>A <ac:inline-comment-marker ac:ref="1-2">marked word</ac:inline-comment-marker>.</p>'
    assert text_of(read_storage(marked)) == "A marked word."


def test_markup_that_is_not_well_formed_is_still_read() -> None:
    storage = read_storage(
        f"<p>open <b>bold{macro('code', plain('a < b && c'))}<p>Then <ac:link><ri:page ri:content-title='X'/></ac:link>"
        "<h2>Later</h2>end & done"
    )
    assert headings(storage) == [None, "Later"]
    assert "a < b && c" in text_of(storage) and "Then X" in text_of(storage) and text_of(storage).endswith("end & done")
    assert storage.references == (Reference(title="X"),)


@pytest.mark.parametrize("body", ["", " \n", "<p/>", "<p>&nbsp;</p>", macro("toc")])
def test_a_page_without_text_has_no_sections(body: str) -> None:
    assert read_storage(body).sections == []


def test_a_long_section_is_cut_and_keeps_its_heading() -> None:
    storage = read_storage("<h2>Log</h2>" + "".join(f"<p>{'word ' * 60}{n}.</p>" for n in range(12)))
    assert len(storage.sections) > 2
    assert set(headings(storage)) == {"Log"}
