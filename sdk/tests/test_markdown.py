import time

import pytest

from passageway_sdk import first_h1, split_markdown, strip_code


def sections(text: str, *, skip_first_h1: bool = False) -> list[tuple[str | None, str | None]]:
    return [(section["heading"], section["text"]) for section in split_markdown(text, skip_first_h1)]


def headings(text: str) -> list[str | None]:
    return [heading for heading, _ in sections(text)]


def test_each_heading_starts_a_section_named_by_the_trail_of_its_parents() -> None:
    text = "Before.\n\n# Setup\n\nAll.\n\n## Linux\n\nApt.\n\n### Old\n\nYum.\n\n## Mac\n\nBrew.\n\n# Use\n\nRun."
    assert sections(text) == [
        (None, "Before."),
        ("Setup", "All."),
        ("Setup › Linux", "Apt."),
        ("Setup › Linux › Old", "Yum."),
        ("Setup › Mac", "Brew."),
        ("Use", "Run."),
    ]


def test_the_first_level_1_heading_is_left_out_of_every_trail_when_it_is_the_title() -> None:
    text = "## Preface\n\nHi.\n\n# Manual\n\nIntro.\n\n## Install\n\nRun.\n\n# Appendix\n\nMore."
    assert sections(text, skip_first_h1=True) == [
        ("Preface", "Hi."),
        (None, "Intro."),
        ("Install", "Run."),
        ("Appendix", "More."),
    ]


def test_sections_without_text_are_dropped_but_stay_in_the_trail_of_their_children() -> None:
    assert sections("# A\n\n## B\n\n  \n### C\n\nText.\n\n## D\n") == [("A › B › C", "Text.")]


def test_a_skipped_level_leaves_no_hole_in_the_trail() -> None:
    assert sections("# A\n### C\nx\n## B\ny\n") == [("A › C", "x"), ("A › B", "y")]


def test_a_heading_without_words_ends_a_section_and_is_in_no_trail() -> None:
    assert sections("# A\n##\ntext\n### C\nmore\n") == [("A", "text"), ("A › C", "more")]


def test_a_fence_is_closed_only_by_its_own_character_as_long_and_alone_on_the_line() -> None:
    text = "\n".join(
        ["# Guide", "`````py", "````", "# no", "~~~~~", "````` x", "# no", "``````  ", "## Yes", "a"]
        + ["~~~", "# no", "```", "# no", "~~~", "## Also", "b"]
    )
    assert headings(text) == ["Guide", "Guide › Yes", "Guide › Also"]
    assert first_h1("```\n# no\n```\n# yes\n") == "yes"


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert headings("# A\nx\n```\n# no\n## no\n") == ["A"]


def test_backticks_with_a_backtick_after_them_open_no_fence() -> None:
    assert headings("# A\n``` not ` a fence\n# B\nx") == ["A", "B"]


def test_a_fence_may_be_indented_by_three_spaces_and_not_by_four() -> None:
    assert headings("# A\nx\n   ```\n# no\n   ```\n# B\nx\n    ```\n# C\nx") == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## Closed ##", "Closed"),
        ("## Closed ####   ", "Closed"),
        ("## C#", "C#"),
        ("## A ## B", "A ## B"),
        ("#\tTab", "Tab"),
        ("   ### Indented", "Indented"),
        ("## [Release 2](https://example.org/r2 'notes') ✨", "Release 2 ✨"),
        ("## See [x](https://example.org/a_(b)) too", "See x too"),
        ("## Anchored [\u200b](#anchored)", "Anchored"),
    ],
)
def test_a_heading_is_its_words(line: str, heading: str) -> None:
    assert headings(f"{line}\ntext") == [heading]


@pytest.mark.parametrize(
    "line", ["#tag line", "####### seven", "##NoSpace", "    # code", "\t# code", "\\# no", "> # quote"]
)
def test_what_only_looks_like_a_heading_stays_text(line: str) -> None:
    assert sections(f"# A\n{line}\ntext") == [("A", f"{line}\ntext")]


@pytest.mark.parametrize(
    "block",
    ["<!--\n# no\n\n# no\n-->", "<!-- a -->", "<pre>\n# no\n\n# no\n</pre>", "<Script type='x'>\n# no\n</SCRIPT>"],
)
def test_raw_html_holds_no_heading_and_ends_where_it_ends(block: str) -> None:
    assert sections(f"# A\n{block}\n# B\nx") == [("A", block), ("B", "x")]


def test_line_ends_and_a_byte_order_mark_leave_no_trace() -> None:
    assert sections("\ufeff# A\r\n\r\nOne.\r\nTwo.\r# B\rThree.\r\n") == [("A", "One.\nTwo."), ("B", "Three.")]


def test_only_newlines_are_line_ends() -> None:
    assert sections("# A\none\u2028# two\x0c# three") == [("A", "one\u2028# two\x0c# three")]


def test_the_indentation_of_the_first_line_is_kept() -> None:
    assert sections("# A\n\n    code\n    more\n\n") == [("A", "    code\n    more")]


def test_a_document_without_text_has_no_sections_and_no_title() -> None:
    assert split_markdown("") == []
    assert split_markdown("# Title\n\n \n") == []
    assert first_h1("## Only\n\n#\n") is None


def test_the_title_is_the_first_level_1_heading_with_words() -> None:
    assert first_h1("## Two\n#\n# Title ##\n# Other\n") == "Title"


def test_code_is_gone_and_the_rest_is_left() -> None:
    text = "See [[A]] and `[[B]]` and ``[[C]] ` ``.\n\n```\n[[D]]\n```\n\n~~~md\n[[E]]\n~~~\nEnd [[F]]."
    stripped = strip_code(text)
    assert [name for name in "ABCDEF" if f"[[{name}]]" in stripped] == ["A", "F"]
    assert stripped.startswith("See [[A]] and  and .") and stripped.endswith("End [[F]].")


def test_a_backtick_that_nothing_closes_is_no_code() -> None:
    assert strip_code("a ` b [[X]]\n\nc ` d") == "a ` b [[X]]\n\nc ` d"
    assert strip_code("a `` b ` [[X]]") == "a `` b ` [[X]]"


def test_an_escaped_backtick_opens_no_code() -> None:
    assert strip_code(r"\`[[X]] and \\`[[Y]]` end") == r"\`[[X]] and \\ end"


def test_inline_code_may_run_over_one_line_end() -> None:
    assert strip_code("a `b\nc` d") == "a  d"


@pytest.mark.parametrize(
    "text", ["`a " * 200_000, "` `` " * 100_000, "# " + "#" * 500_000, "[" * 300_000, "\\" * 500_000 + "`a`"]
)
def test_long_odd_text_takes_no_longer_than_its_length_asks(text: str) -> None:
    started = time.process_time()
    split_markdown(f"# {text}\n{text}")
    strip_code(text)
    assert time.process_time() - started < 5
