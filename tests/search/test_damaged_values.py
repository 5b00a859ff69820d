"""A file whose pages are whole and whose values are not: SQLite notices nothing, so passageway has to."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from passageway.errors import StorageError
from passageway.records import Item
from passageway_query.answer import Question, SilenceReason
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]

QUESTION = Question("high tide at noon", context_words=frozenset(["tide"]))


@pytest.fixture
def notes(index: Index, item: MakeItem) -> Path:
    index("other", item("x", "Oar", "An oar of ash"))
    items = (item(f"i{n}", f"Tide {n}", "High tide at noon", path=("sea",), labels=("water",)) for n in range(9))
    return index("notes", *items)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("items.title", "x'00ff'"),
        ("items.title", "CAST(x'ff41' AS TEXT)"),
        ("items.path", "'sea'"),
        ("items.links", "'[1]'"),
        ("items.labels", "'{'"),
        ("items.weight", "'heavy'"),
        ("items.weight", "-1"),
        ("sections.text", "x'00ff'"),
        ("vectors.codes", "x'00'"),
        ("vectors.scale", "1e300"),
        ("vectors.item", "'i1'"),
        ("vectors.item", "99"),
        ("vectors.length", "1e300"),
        ("source.state", "'happy'"),
        ("source.state", "CAST(x'6f6bff' AS TEXT)"),
        ("source.heartbeat", "'now'"),
        ("source.error", "x'00'"),
    ],
)
def test_a_value_that_no_sync_wrote_is_an_error_of_its_source_alone(
    notes: Path, search: Search, column: str, value: str
) -> None:
    table, name = column.split(".")
    change(notes, f"UPDATE {table} SET {name} = {value}")
    answer = search.ask(QUESTION)
    assert (answer.hits, answer.silence) == ((), SilenceReason.SOURCE_FAILING)
    assert "notes.db: the index is damaged" in answer.problems[0]
    assert [hit.id for hit in search.ask(Question("oar of ash")).hits] == ["x"]


@pytest.mark.parametrize("table", ["items", "sections", "vectors", "source", "file"])
def test_rows_that_are_gone_are_an_error_and_never_silence(notes: Path, search: Search, table: str) -> None:
    change(notes, f"DELETE FROM {table}")
    answer = search.ask(QUESTION)
    assert (answer.hits, answer.silence) == ((), SilenceReason.SOURCE_FAILING)
    assert "notes.db: the index is damaged" in answer.problems[0]
    assert [hit.id for hit in search.ask(Question("oar of ash")).hits] == ["x"]


def test_rows_that_go_between_two_questions_are_an_error_and_never_silence(notes: Path, search: Search) -> None:
    assert search.ask(QUESTION).hits
    change(notes, "DELETE FROM sections")
    answer = search.ask(QUESTION)
    assert (answer.hits, answer.silence) == ((), SilenceReason.SOURCE_FAILING)


def test_whatever_byte_is_broken_the_other_sources_answer(notes: Path, search: Search) -> None:
    whole = notes.read_bytes()
    chance = random.Random(20)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            broken[chance.randrange(100, len(broken))] = chance.randrange(256)
        notes.unlink()
        notes.write_bytes(broken)
        answer = search.ask(QUESTION)
        assert answer.hits or answer.problems
        assert [hit.id for hit in search.ask(Question("oar of ash")).hits] == ["x"]
        assert {report.name for report in search.sources()} == {"notes", "other"}
        try:
            list(search.items())
        except StorageError as error:
            assert "notes" in str(error)


def test_the_greatest_weight_there_is_puts_its_item_first(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", item("a", "Tide", "High tide at noon", weight=1e308), item("b", "Tide", "High tide at noon"))
    assert [hit.id for hit in search.ask(QUESTION).hits] == ["a", "b"]
