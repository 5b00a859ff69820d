"""Index files come, change, break and go while questions are asked."""

import os
import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.errors import StorageError
from passageway.index.layout import CHANGES_KEPT
from passageway.index.news import Model
from passageway.index.writer import IndexWriter
from passageway.records import Item
from passageway_query.answer import Question, SilenceReason
from passageway_query.search import Search
from passageway_query.sources import Sources

Index = Callable[..., Path]
MakeItem = Callable[..., Item]


def ids(search: Search, text: str) -> list[str]:
    return [hit.id for hit in search.ask(Question(text)).hits]


def look(sources: Sources, model: Model | None = None) -> None:
    with sources.current(model):
        pass


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def test_a_change_is_found_by_the_next_question(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", item("a", "Tide", "High tide at noon"))
    assert ids(search, "high tide") == ["a"]
    index("notes", item("b", "Mooring", "The mooring buoy"))
    assert ids(search, "mooring buoy") == ["b"]
    index("notes", item("b", "Mooring", "The anchor chain"))
    assert (ids(search, "mooring buoy chain"), ids(search, "anchor chain")) == (["b"], ["b"])
    assert search.item("notes", "b").sections[0].text == "The anchor chain"  # type: ignore[union-attr]
    index("notes", remove=("a",))
    assert ids(search, "high tide") == []


def test_only_new_and_removed_sections_are_read(index: Index, item: MakeItem, data_dir: Path) -> None:
    index("notes", *(item(f"i{number}", "Tide", f"High tide at pier {number}") for number in range(20)))
    sources = Sources(data_dir)
    look(sources)
    before = sources.rows
    first = before.section.used.tolist()
    index("notes", item("i3", "Tide", "Low tide"), item("new", "Oar", "An oar of ash"), remove=("i7",))
    look(sources)
    assert sources.rows is before
    assert before.section.used[:20].tolist() == first
    assert before.section.used[20:].tolist() == [21, 22]
    assert sorted(before.section.used[~before.live.used].tolist()) == [4, 8]
    assert before.living == 20
    sources.close()


def test_words_asked_before_are_found_in_sections_that_came_later(
    index: Index, item: MakeItem, words_alone: Search
) -> None:
    index("notes", item("a", "Tide", "High tide at noon"))
    index("other", item("x", "Oar", "An oar of ash"))
    assert ids(words_alone, "tide") == ["a"]
    index("other", item("y", "Tide", "Low tide at six"))
    index("third", item("z", "Tide", "No tide at all"))
    assert sorted(ids(words_alone, "tide")) == ["a", "y", "z"]
    index("notes", item("a", "Tide", "High tide and low tide"), item("b", "Ebb", "After the tide"))
    assert len(ids(words_alone, "tide")) == 3
    assert ids(words_alone, "ebb tide") == ["b"]


def test_a_reader_far_behind_reads_the_file_anew(index: Index, item: MakeItem, search: Search, data_dir: Path) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"), item("b", "Oar", "An oar of ash"))
    assert ids(search, "high tide") == ["a"]
    index("notes", remove=("a",))
    change(path, f"INSERT INTO changes (id) VALUES ({CHANGES_KEPT * 2})")
    index("notes", item("c", "Sail", "A sail of cotton"))
    assert (ids(search, "high tide"), ids(search, "sail cotton"), ids(search, "oar ash")) == ([], ["c"], ["b"])


def test_a_file_that_goes_takes_its_passages_along(index: Index, item: MakeItem, search: Search) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    index("other", item("x", "Oar", "An oar of ash"))
    assert ids(search, "high tide noon") == ["a"]
    path.unlink()
    assert ids(search, "high tide noon") == []
    assert ids(search, "oar of ash") == ["x"]
    assert [report.name for report in search.sources()] == ["other"]


def test_a_file_put_in_the_place_of_another_is_read_anew(
    index: Index, item: MakeItem, search: Search, tmp_path: Path
) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    assert ids(search, "high tide noon") == ["a"]
    shutil.copy(path, tmp_path / "copy")
    path.unlink()
    index("notes", item("b", "Oar", "An oar of ash"))
    assert (ids(search, "high tide noon"), ids(search, "oar of ash")) == ([], ["b"])
    (tmp_path / "copy").replace(path)
    path.with_name("notes.db-wal").unlink(missing_ok=True)
    assert (ids(search, "high tide noon"), ids(search, "oar of ash")) == (["a"], [])


def test_a_folder_that_is_not_there_yet_is_silence_and_not_an_error(
    tmp_path: Path, embedder: CommandEmbedder, item: MakeItem
) -> None:
    search = Search(tmp_path / "later", embedder)
    assert search.ask(Question("anything")).silence is SilenceReason.NOTHING_INDEXED
    assert search.sources() == []
    search.close()


def test_many_removed_sections_are_packed_away_and_nothing_is_mixed_up(
    index: Index, item: MakeItem, search: Search
) -> None:
    words = ["alder", "birch", "cedar", "ebony", "hazel", "larch"]

    def forest(number: int) -> Item:
        return item(f"f{number}", "", sections=[(f"Stand {n}", f"{words[number % 6]} {n}") for n in range(150)])

    index("trees", *(forest(number) for number in range(41)))
    index("other", item("x", "Oar", "An oar of ash"))
    assert ids(search, "larch stand")[0] in ("f5", "f11", "f17", "f23", "f29", "f35")
    index("trees", remove=tuple(f"f{number}" for number in range(40)))
    assert ids(search, "hazel stand")[0] == "f40"
    rows = search._sources.rows
    assert (rows.dead, rows.count) == (0, 151)
    assert ids(search, "oar of ash")[0] == "x"
    assert "larch" not in {word for hit in search.ask(Question("larch stand")).hits for word in hit.matched}
    index("trees", item("f40", "Shrub", "juniper berries"))
    assert ids(search, "juniper berries") == ["f40"]


@pytest.mark.parametrize("damage", ["text", "foreign", "keywords", "truncated", "empty"])
def test_a_damaged_file_is_named_and_the_others_answer(
    index: Index, item: MakeItem, search: Search, damage: str
) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    index("other", item("x", "Oar", "An oar of ash"))
    if damage == "keywords":
        change(path, "DELETE FROM words_data")
    elif damage == "foreign":
        path.unlink()
        change(path, "CREATE TABLE contacts (name TEXT)")
    else:
        content = {"text": b"shopping list\n" * 400, "truncated": path.read_bytes()[:5000], "empty": b""}[damage]
        path.unlink()
        path.write_bytes(content)
    answer = search.ask(Question("high tide at noon"))
    assert answer.hits == ()
    assert answer.silence is SilenceReason.SOURCE_FAILING
    assert len(answer.problems) == 1 and "notes.db" in answer.problems[0]
    assert ids(search, "oar of ash") == ["x"]
    report = next(report for report in search.sources() if report.name == "notes")
    assert report.state.state == "failing"
    assert report.state.error is not None and "notes.db" in report.state.error
    with pytest.raises(StorageError, match=r"notes\.db"):
        search.item("notes", "a")


def test_a_keyword_index_damaged_between_two_questions_is_noticed(index: Index, item: MakeItem, search: Search) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    assert ids(search, "high tide noon") == ["a"]
    change(path, "DELETE FROM words_data")
    answer = search.ask(Question("high tide noon"))
    assert answer.silence is SilenceReason.SOURCE_FAILING
    assert "the keyword index is damaged" in answer.problems[0]
    # The next sync finds the damage as well, sets the file aside and builds it anew.
    index("notes", item("a", "Tide", "High tide at noon"))
    assert ids(search, "high tide noon") == ["a"]


def test_a_page_that_breaks_under_a_running_search_is_an_error_on_its_source(
    index: Index, item: MakeItem, search: Search
) -> None:
    path = index("notes", *(item(f"i{n}", f"Tide {n}", "High tide at noon " * 40) for n in range(200)))
    index("other", item("x", "Oar", "An oar of ash"))
    assert len(ids(search, "high tide noon")) == 3
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    answer = search.ask(Question("high tide at midnight"))
    assert answer.hits == () and answer.silence is SilenceReason.SOURCE_FAILING
    assert ids(search, "oar of ash") == ["x"]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET codes = x'00'",
        "UPDATE items SET labels = '[broken'",
        "UPDATE sections SET text = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_value_that_no_writer_wrote_is_an_error_on_its_source(
    index: Index, item: MakeItem, search: Search, damage: str
) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    index("other", item("x", "Oar", "An oar of ash"))
    change(path, damage)
    answer = search.ask(Question("high tide at noon"))
    assert answer.hits == () and answer.silence is SilenceReason.SOURCE_FAILING
    assert ids(search, "oar of ash") == ["x"]


def test_vectors_of_another_model_leave_the_words_and_are_never_mixed(
    index: Index, item: MakeItem, data_dir: Path, embedder: CommandEmbedder, other_embedder: CommandEmbedder
) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"), item("b", "Oar", "An oar of ash"))
    search = Search(data_dir, other_embedder)
    answer = search.ask(Question("high tide at noon"))
    assert [(hit.id, hit.similarity) for hit in answer.hits] == [("a", None)]
    assert answer.keyword_only is not None and "another model" in answer.keyword_only
    info = other_embedder.info()
    with IndexWriter.open(path) as writer:
        assert writer.use_model(info.name, info.dimension) is True
        first, second = writer.stale_sections(10)
        writer.refresh_vectors([first.section], other_embedder.embed([first.embedded], "passage"))
        half = search.ask(Question("high tide at noon"))
        assert half.keyword_only is None
        assert half.hits[0].similarity is not None
        assert [report.vectors_current for report in search.sources()] == [False]
        assert [hit.similarity for hit in search.ask(Question("oar ash")).hits if hit.id == "b"] == [None]
        writer.refresh_vectors([second.section], other_embedder.embed([second.embedded], "passage"))
    assert search.ask(Question("oar ash")).hits[0].similarity is not None
    assert [report.vectors_current for report in search.sources()] == [True]
    search.close()
    before = Search(data_dir, embedder)
    assert before.ask(Question("oar of ash")).keyword_only is not None
    before.close()


def test_files_of_two_models_are_both_searched_and_only_one_by_meaning(
    index: Index, item: MakeItem, search: Search, other_embedder: CommandEmbedder
) -> None:
    index("mine", item("a", "Tide", "High tide at noon"))
    index("theirs", item("b", "Tide", "High tide at noon"), model=other_embedder)
    similarities = {hit.id: hit.similarity for hit in search.ask(Question("high tide at noon")).hits}
    assert similarities["a"] is not None and similarities["b"] is None
    assert {report.name: report.vectors_current for report in search.sources()} == {"mine": True, "theirs": False}


def test_rows_of_a_model_never_seen_have_no_vectors(index: Index, item: MakeItem, data_dir: Path) -> None:
    index("notes", item("a", "Tide", "High tide at noon"))
    sources = Sources(data_dir)
    look(sources, Model("unheard of", 4))
    assert (sources.rows.living, sources.rows.has_vectors) == (1, False)
    assert sources.rows.high.used.shape == (1, 4)
    look(sources, Model("words", 256))
    assert (sources.rows.living, sources.rows.has_vectors) == (1, True)
    assert np.isfinite(sources.rows.scale.used).all()
    sources.close()


def test_a_source_that_is_read_only_on_disk_is_searched(index: Index, item: MakeItem, search: Search) -> None:
    path = index("notes", item("a", "Tide", "High tide at noon"))
    path.chmod(0o400)
    assert ids(search, "high tide noon") == ["a"]


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open no file further, as one with a thousand connections may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull, "rb") as lowest_free:
        number = lowest_free.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_folder_that_cannot_be_listed_for_a_moment_takes_no_source_out_of_the_search(
    index: Index, item: MakeItem, search: Search
) -> None:
    index("notes", item("a", "Tide", "High tide at noon"))
    assert ids(search, "high tide") == ["a"]
    index("other", item("b", "Tide", "Low tide at six"))
    with no_more_files():
        answer = search.ask(Question("high tide"))
    assert [hit.id for hit in answer.hits] == ["a"]
    assert answer.problems == ("the data folder cannot be read: Too many open files",)
    assert sorted(ids(search, "tide")) == ["a", "b"]
    assert search.ask(Question("high tide")).problems == ()


def test_a_folder_that_could_never_be_listed_is_a_failure_and_not_an_empty_one(
    index: Index, item: MakeItem, search: Search
) -> None:
    index("notes", item("a", "Tide", "High tide at noon"))
    with no_more_files():
        answer = search.ask(Question("high tide"))
    assert (answer.silence, answer.hits) == (SilenceReason.SOURCE_FAILING, ())
    assert "Too many open files" in answer.problems[0]
    assert ids(search, "high tide") == ["a"]


def test_a_source_whose_vectors_are_of_another_model_is_named_while_others_are_found_by_meaning(
    index: Index, item: MakeItem, search: Search, embedder: CommandEmbedder, other_embedder: CommandEmbedder
) -> None:
    said = "the stored vectors are of another model; they are being made anew, and until then only words are compared"
    index("notes", item("a", "Tide", "High tide at noon"))
    index("log", item("b", "Anchor", "The anchor chain rusts"), model=other_embedder)
    found = search.ask(Question("high tide"))
    assert ([hit.id for hit in found.hits], found.keyword_only) == (["a"], None)
    assert found.problems == (f"log: {said} there",)
    silent = search.ask(Question("rigging"))
    assert (silent.hits, silent.silence, silent.problems) == ((), SilenceReason.STILL_INDEXING, found.problems)
    index("log", item("b", "Anchor", "The anchor chain rusts"), model=embedder)
    silent = search.ask(Question("rigging"))
    assert (silent.hits, silent.silence, silent.problems) == ((), SilenceReason.BELOW_GATE, ())
