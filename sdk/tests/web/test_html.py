import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passageway_sdk.records import item_line
from passageway_sdk.web import attribute, name_of, page_of, parse_html, parse_xhtml


def texts(html: str, *levels: int) -> list[tuple[str | None, str | None]]:
    page = page_of(parse_html(html), levels or (1, 2, 3, 4, 5, 6))
    return [(section["heading"], section["text"]) for section in page.sections]


def text(html: str) -> str | None:
    return texts(html)[0][1]


def test_headings_split_a_page_and_carry_the_trail_of_their_parents() -> None:
    html = "<p>Before.</p><h2>Setup</h2><p>One.</p><h3>Linux</h3><p>Two.</p><h2>Use</h2><p>Three.</p><h3>Empty</h3>"
    assert texts(html) == [(None, "Before."), ("Setup", "One."), ("Setup › Linux", "Two."), ("Use", "Three.")]


def test_a_heading_of_another_level_is_a_line_of_text() -> None:
    assert texts("<h2>A</h2>x<h4>Low</h4>y", 1, 2, 3) == [("A", "x\n\nLow\n\ny")]


def test_a_heading_in_a_list_or_a_table_starts_no_section() -> None:
    assert texts("<ul><li><h2>In list</h2>x</li></ul>") == [(None, "- In list\n  x")]
    assert texts("<table><tr><td><h2>In cell</h2></td><td>y</td></tr></table>") == [
        (None, "| In cell | y |\n| --- | --- |")
    ]


def test_a_skipped_level_leaves_no_gap_in_the_trail() -> None:
    assert texts("<h1>A</h1><h4>B</h4>x<h2>C</h2>y") == [("A › B", "x"), ("A › C", "y")]


def test_blanks_and_line_breaks_are_those_a_reader_sees() -> None:
    assert text("<p>one\n  two&nbsp;three\u200b<br>four <b> five</b>\n</p>") == "one two three\nfour five"
    assert text("<div>a<div>b</div>c</div>") == "a\n\nb\n\nc"
    assert text("<p>a<span>b</span> <i>c</i></p>") == "ab c"


def test_lists_keep_their_markers_and_their_nesting() -> None:
    html = "<ul><li>a<ul><li>b</li><li>c</li></ul></li><li><p>d</p><p>e</p></li></ul>"
    assert text(html) == "- a\n  - b\n  - c\n- d\n  e"
    assert text("<ol start='9'><li>i</li><li>j<ol><li>k</li></ol></li></ol>") == "9. i\n10. j\n    1. k"
    assert text("<ul><li><input type='checkbox' checked>done</li><li><input type='checkbox'>open</li></ul>") == (
        "- [x] done\n- [ ] open"
    )


def test_tables_become_rows_between_bars() -> None:
    html = """<table><caption>Ports</caption><thead><tr><th>Name</th><th>Port</th></tr></thead><tbody>
        <tr><td rowspan="2">web</td><td>80</td></tr><tr><td>a|b <p>c</p></td></tr>
        <tr><td colspan="2">end</td></tr><tr><td></td></tr></tbody></table>"""
    assert text(html) == ("Ports\n\n| Name | Port |\n| --- | --- |\n| web | 80 |\n| web | a\\|b c |\n| end |  |")


def test_a_table_of_one_cell_is_a_frame() -> None:
    assert text("<table><tr><td><p>one</p><p>two</p></td></tr></table>") == "one\n\ntwo"


def test_code_keeps_its_lines_between_fences() -> None:
    html = '<pre><code class="language-python">if x:\n\n    y = "&lt;h1&gt;"\n</code></pre>'
    assert text(html) == '```python\nif x:\n\n    y = "<h1>"\n```'
    assert text("<pre>a\n```\nb</pre>") == "````\na\n```\nb\n````"
    assert text("<pre>a<br>b</pre>") == "```\na\nb\n```"
    assert text("<p>Use <code>a  b</code>.</p>") == "Use `a b`."
    assert text("<code><p>a</p><p>b</p></code>") == "a\n\nb"


def test_what_no_reader_sees_is_left_out() -> None:
    html = (
        "<script>no</script><style>no</style><p hidden>no</p><p style='color:red; display: none'>no</p><!-- no -->"
        "<svg><text>no</text></svg><p>yes</p>tail"
    )
    assert texts(html) == [(None, "yes\n\ntail")]


def test_the_caller_can_leave_elements_out() -> None:
    root = parse_html("<p>a<sup class=ref>1</sup> b</p>")
    page = page_of(root, skip=lambda element: element.get("class") == "ref")
    assert page.sections == [{"heading": None, "text": "a b"}]


def test_links_are_collected_once_each_in_order() -> None:
    html = "<a href='b'>x</a><a href=' a '>y</a><a href='b'>z</a><a>none</a><ul><li><a href='c'></a></li></ul>"
    assert page_of(parse_html(html)).links == ("b", "a", "c")


def test_a_page_nested_without_end_keeps_its_text() -> None:
    html = "<div>" * 20_000 + "deep" + "</div>" * 20_000 + "after"
    assert texts(html) == [(None, "deep after")]
    lists = "<ul><li>" * 100 + "deep" + "</li></ul>" * 100 + "<p>after</p>"
    assert "deep" in (text(lists) or "") and "after" in (text(lists) or "")


@pytest.mark.parametrize("html", ["", "   ", "<!-- -->", "\x00\x01", "<p></p>", "<table></table>", "<pre>\n</pre>"])
def test_nothing_to_read_gives_no_sections(html: str) -> None:
    assert texts(html) == []


def test_a_long_section_is_cut_and_every_piece_has_its_heading() -> None:
    html = "<h2>Long</h2>" + "".join(f"<p>Paragraph {number} of the text. {'word ' * 40}</p>" for number in range(20))
    sections = texts(html)
    assert len(sections) > 3 and {heading for heading, _ in sections} == {"Long"}


def test_entities_and_several_roots_of_stored_xhtml_are_read_whole() -> None:
    root = parse_xhtml(
        "<h2>Gr&ouml;&szlig;e</h2><p>A&nbsp;&mdash;&nbsp;B &amp; C &lt;d&gt; &unknown; &#8364; R&D</p><p>two</p>"
        '<ac:link><ri:page ri:content-title="Hull &amp; &auml;"/></ac:link>'
    )
    assert page_of(root).sections == [{"heading": "Größe", "text": "A — B & C <d> &unknown; € R&D\n\ntwo"}]
    assert [attribute(e, "ri:content-title") for e in root.iter() if name_of(e) == "ri:page"] == ["Hull & ä"]


def test_cdata_of_stored_xhtml_is_text_in_one_piece() -> None:
    root = parse_xhtml(
        '<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[if (t[i[0]]]]><![CDATA[> 9) '
        '{ puts("<h1>&amp;</h1>"); }]]></ac:plain-text-body></ac:structured-macro><h2>Next</h2><p>Tail.</p>'
    )
    body = next(element for element in root.iter() if name_of(element) == "ac:plain-text-body")
    assert body.text == 'if (t[i[0]]> 9) { puts("<h1>&amp;</h1>"); }'
    assert page_of(root).sections[-1] == {"heading": "Next", "text": "Tail."}


def test_xhtml_that_is_not_well_formed_is_read_as_html() -> None:
    root = parse_xhtml(
        '<p>a <b>b</p><ac:link><ri:page ri:content-title="Oven"/></ac:link><x:y><![CDATA[1 < 2]]></x:y><p>c</div>'
    )
    assert "c" in page_of(root).sections[-1]["text"].split()  # type: ignore[union-attr]
    assert "1 < 2" in "".join(map(str, root.itertext()))
    assert [attribute(e, "ri:content-title") for e in root.iter() if name_of(e) == "ri:page"] == ["Oven"]
    link = next(element for element in root.iter() if name_of(element) == "ac:link")
    assert len(link) == 1 and "1 < 2" not in "".join(map(str, link.itertext()))


def test_entities_of_a_document_type_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><p>&a; &b; kept</p>'
    for parse in (parse_xhtml, parse_html):
        words = " ".join(str(section["text"]) for section in page_of(parse(bomb)).sections)
        assert "kept" in words and "aaaa" not in words.replace('"aaaa"', "") and "root:" not in words


FRAGMENTS = st.sampled_from(
    [
        *(
            "<p>",
            "</p>",
            "<ul>",
            "<li>",
            "</ul>",
            "<ol start=4>",
            "<table>",
            "<tr>",
            "<td colspan=3 rowspan=2>",
            "</table>",
        ),
        *(
            "<h2>",
            "</h2>",
            "<pre>",
            "</pre>",
            "<code>",
            "</code>",
            "<br/>",
            "<a href='x'>",
            "</a>",
            "&nbsp;",
            "&#0;",
            "&",
        ),
        *(
            "<![CDATA[",
            "]]>",
            "<ac:x ac:y='z'/>",
            "</ac:x>",
            "<!--",
            "-->",
            "<?php",
            "?>",
            "text ",
            "\ud800",
            "\x00",
            "<",
        ),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=40).map("".join))
def test_any_text_gives_sections_the_core_takes(html: str) -> None:
    for parse in (parse_html, parse_xhtml):
        sections = page_of(parse(html)).sections
        item_line({"id": "a", "title": "a", "url": "", "version": "1", "sections": sections})
        assert all(str(section["text"]).strip() for section in sections)
