"""The marked block: found where it is meant to be, and nothing else of the page touched."""

from pathlib import Path

import pytest

from passageway.errors import SettingsError
from passageway_cli.eval.page import END, START, load_page, split_page, write_page


def test_only_the_block_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{START}\nold\n{END}\n\nNotes, without a line break at the end", encoding="utf-8")
    write_page(load_page(page), "new\n\n| a |\n")
    assert page.read_text(encoding="utf-8") == (
        f"# Title\n\n{START}\n\nnew\n\n| a |\n\n{END}\n\nNotes, without a line break at the end"
    )


def test_writing_the_same_block_again_changes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{START}\n{END}\n", encoding="utf-8")
    write_page(load_page(page), "block")
    first = page.read_bytes()
    write_page(load_page(page), "block")
    assert page.read_bytes() == first


def test_line_endings_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(f"\ufeff{START}\r\n{END}\r\nlast\nmixed\r\n".encode())
    write_page(load_page(page), "one\ntwo")
    assert page.read_bytes() == f"\ufeff{START}\r\n\r\none\r\ntwo\r\n\r\n{END}\r\nlast\nmixed\r\n".encode()


@pytest.mark.parametrize(
    "code",
    [
        f"```\n{START}\n{END}\n```\n",
        f"````markdown\n```\n{START}\n```\n{END}\n````\n",
        f"~~~ text\n{START}\n```\n{END}\n~~~\n",
        f"    {START}\n    {END}\n",
        f"\t{START}\n",
        f"as in `{START}`, alone on its line\n",
    ],
)
def test_markers_in_code_are_only_shown(code: str) -> None:
    page = split_page(Path("page.md"), f"{code}\n{START}\nold\n{END}\n")
    assert page.with_block("new") == f"{code}\n{START}\n\nnew\n\n{END}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Empty\n", "no line with <!-- passageway:results:start -->"),
        (f"{START}\n", "no line with <!-- passageway:results:end -->"),
        (f"{START} {END}\n", "no line with"),
        (f"{START}\n{END}\n{START}\n{END}\n", "lines 1 and 3"),
        (f"{END}\n{START}\n", "comes before"),
        (f"```\n{START}\n{END}\n", "no line with"),
    ],
)
def test_a_page_without_one_pair_of_markers_is_refused(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        split_page(Path("page.md"), text)
    assert words in str(caught.value)


def test_a_missing_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        load_page(tmp_path / "none.md")
