import time

import pytest

from passageway_connector_llmstxt.links import links_of

BASE = "https://docs.example.org/en/llms.txt"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[A](a.md)", ["https://docs.example.org/en/a.md"]),
        ("[A](/a.md 'Title') [B](<b c.md>)", ["https://docs.example.org/a.md", "https://docs.example.org/en/b%20c.md"]),
        ("[a [b] c](x_(y).md)", ["https://docs.example.org/en/x_(y).md"]),
        (
            "See https://docs.example.org/b.md, or (https://x.test/c.md).",
            ["https://docs.example.org/b.md", "https://x.test/c.md"],
        ),
        ("<https://x.test/a>", ["https://x.test/a"]),
        ("**https://x.test/a**", ["https://x.test/a"]),
        ("[A][1]\n\n[1]: ../a.md", ["https://docs.example.org/a.md"]),
        ("- [A](a.md): https://X.test:443/", ["https://docs.example.org/en/a.md", "https://x.test/"]),
        ("[A](a.md#x) [A](a.md#y)", ["https://docs.example.org/en/a.md"]),
        ("http://[::1]:8080/a http://[::1]/b", ["http://[::1]:8080/a", "http://[::1]/b"]),
        ("[Ä](ä.md)", ["https://docs.example.org/en/%C3%A4.md"]),
        ("![p](p.png) [m](mailto:a@b.test) [f](ftp://x.test/) [j](javascript:x) `[c](c.md)` [h](#here)", []),
        ("[w](http://[broken) [u](https://me:pw@x.test/)", []),
        ("```\n[c](c.md)\n```", []),
    ],
)
def test_links_are_found_in_every_form_and_made_whole(text: str, links: list[str]) -> None:
    assert list(links_of(text, BASE)) == links


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "[a](" * 20_000, "[a](b" + "(" * 20_000, "https://" * 10_000, "[x]: " * 20_000]
)
def test_a_hostile_index_is_read_in_good_time(text: str) -> None:
    started = time.perf_counter()
    list(links_of(text, BASE))
    assert time.perf_counter() - started < 5
