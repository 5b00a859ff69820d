"""Files that cannot be used, and disks that will not take more: an error that names the file, and nothing lost."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.errors import IndexDamagedError, StorageError
from passageway.index.writer import IndexWriter, PreparedItem

Prepare = Callable[..., PreparedItem]


def stored(path: Path) -> dict[str, str]:
    with IndexWriter.open(path) as writer:
        return writer.versions()


def build(path: Path, *items: PreparedItem) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        writer.store(items)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def test_a_text_file_is_set_aside_and_the_index_starts_anew(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text("shopping list\n" * 500, encoding="utf-8")
    assert stored(path) == {}
    assert path.with_name("notes.db.damaged").read_text(encoding="utf-8").startswith("shopping list")
    assert "notes.db: not a usable index" in caplog.text


def test_a_database_of_another_program_is_set_aside(path: Path) -> None:
    change(path, "CREATE TABLE contacts (name TEXT)")
    assert stored(path) == {}
    with closing(sqlite3.connect(path.with_name("notes.db.damaged"))) as connection:
        assert connection.execute("SELECT count(*) FROM contacts").fetchone() == (0,)


def test_an_index_of_a_later_version_is_set_aside(path: Path, prepare: Prepare) -> None:
    build(path, prepare("a"))
    change(path, "PRAGMA user_version = 999")
    assert stored(path) == {}


def test_an_index_that_lacks_a_table_is_set_aside(path: Path, prepare: Prepare) -> None:
    build(path, prepare("a"))
    change(path, "DROP TABLE words")
    assert stored(path) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE items SET title = CAST(x'ff41' AS TEXT)",
        "UPDATE source SET state = CAST(x'6f6bff' AS TEXT)",
        "UPDATE sections SET text = CAST(x'c3' AS TEXT)",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = CAST(x'66ff6c65' AS TEXT) WHERE name = 'file'",
    ],
)
@pytest.mark.parametrize("in_use", [False, True], ids=["before a start", "in use"])
def test_a_text_that_is_no_text_any_more_is_damage(
    path: Path, prepare: Prepare, statement: str, *, in_use: bool
) -> None:
    build(path, prepare("a", "Tea", (None, "leaf")))
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(IndexWriter.open(path)) if in_use else None
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(statement)
        if writer is not None:
            with pytest.raises(IndexDamagedError, match=r"notes\.db: the index is damaged"):
                writer.check()
    assert stored(path) == {}
    assert path.with_name("notes.db.damaged").exists()


def test_a_version_that_is_no_text_any_more_is_damage_when_it_is_read(path: Path, prepare: Prepare) -> None:
    build(path, prepare("a", "Tea", (None, "leaf")))
    change(path, "UPDATE items SET version = CAST(x'ff41' AS TEXT)")
    with IndexWriter.open(path) as writer, pytest.raises(IndexDamagedError, match="not UTF-8"):
        writer.versions()
    assert stored(path) == {}


def test_an_empty_file_becomes_an_index(path: Path) -> None:
    path.touch()
    assert stored(path) == {}
    assert not path.with_name("notes.db.damaged").exists()


def test_a_file_with_a_broken_page_is_set_aside(path: Path, prepare: Prepare) -> None:
    build(path, *(prepare(str(number), "Tea", (None, "leaf " * 300)) for number in range(40)))
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 4)
    assert stored(path) == {}


def test_a_keyword_index_that_lost_its_root_is_found_at_the_next_store(path: Path, prepare: Prepare) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        writer.store([prepare("a")])
        change(path, "DELETE FROM words_data")
        with pytest.raises(IndexDamagedError, match=r"notes\.db: the keyword index is damaged"):
            writer.store([prepare("b")])
    assert path.with_name("notes.db.damaged").exists()
    assert stored(path) == {}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM items",
        "DELETE FROM sections WHERE id = 1",
        "DELETE FROM vectors WHERE section = 1",
        "DELETE FROM words WHERE rowid = 1",
        "DELETE FROM words_config",
        "DELETE FROM file",
        "DELETE FROM source",
        "DROP TABLE changes",
        "DROP VIEW passages",
        "UPDATE items SET path = '{'",
        "UPDATE items SET labels = '[1]'",
        "UPDATE items SET title = x'00ff'",
        "UPDATE items SET title = CAST(x'54ff' AS TEXT)",
        "UPDATE items SET weight = -1",
        "UPDATE sections SET text = 'another text'",
        "UPDATE vectors SET codes = x'00'",
        "UPDATE vectors SET scale = 1e300",
        "UPDATE source SET state = 'happy'",
        "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'sections'",
        "DELETE FROM sqlite_sequence",
    ],
)
def test_a_file_that_lost_or_changed_a_row_is_set_aside(path: Path, prepare: Prepare, statement: str) -> None:
    build(path, *(prepare(str(number), "Tea", (None, "leaf")) for number in range(3)))
    change(path, statement)
    assert stored(path) == {}
    assert path.with_name("notes.db.damaged").exists()


def test_damage_that_comes_while_the_file_is_open_is_found_by_a_check(path: Path, prepare: Prepare) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        writer.store([prepare("a", "Tea", (None, "leaf"))])
        writer.check()
        change(path, "UPDATE sections SET text = 'another text'")
        with pytest.raises(IndexDamagedError, match=r"notes\.db: the index is damaged"):
            writer.check()
    assert path.with_name("notes.db.damaged").exists()


@pytest.mark.parametrize("size_bytes", [0, 100, 8192, 40_960])
def test_a_file_cut_off_by_another_program_is_found_by_a_check(path: Path, prepare: Prepare, size_bytes: int) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        writer.store([prepare("a", "Tea", (None, "leaf"))])
        writer.finish()
        writer.check()
        assert path.stat().st_size > size_bytes
        os.truncate(path, size_bytes)
        with pytest.raises(IndexDamagedError, match=r"notes\.db: the index is damaged"):
            writer.check()
    assert path.with_name("notes.db.damaged").exists()


ANY_TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("ßİıﬁ停车\x00 \n\u0301a_.")))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), ANY_TEXT, st.lists(ANY_TEXT, max_size=3)), max_size=8))
def test_whatever_a_sync_writes_passes_the_check(
    tmp_path_factory: pytest.TempPathFactory, prepare: Prepare, edits: list[tuple[str, str, list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("index") / "notes.db"
    with IndexWriter.open(path) as writer:
        writer.use_model("test-model", 16)
        for item_id, title, texts in edits:
            writer.store([prepare(item_id, title or "t", *((title or None, text) for text in texts), path=(title,))])
            writer.check()
        writer.remove(["a"])
        writer.finish()
        writer.check()
        kept = writer.versions()
    assert stored(path) == kept
    assert not path.with_name("notes.db.damaged").exists()


def test_the_file_set_aside_last_takes_the_place_of_an_earlier_one(path: Path) -> None:
    for text in ("first", "second"):
        path.write_text(text * 1000, encoding="utf-8")
        assert stored(path) == {}
    assert path.with_name("notes.db.damaged").read_text(encoding="utf-8").startswith("second")


def test_a_folder_in_the_place_of_the_file_is_an_error_that_names_it(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StorageError, match=r"notes\.db: the file cannot be opened"):
        IndexWriter.open(path)


def test_a_missing_data_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing/notes\.lock: cannot be locked"):
        IndexWriter.open(tmp_path / "missing" / "notes.db")


def test_a_file_locked_by_another_program_is_an_error_after_a_wait(
    path: Path, writer: IndexWriter, prepare: Prepare
) -> None:
    writer._db.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"notes\.db: another program keeps it locked"):
            writer.store([prepare("a")])
        other.execute("ROLLBACK")
    writer.store([prepare("a")])
    assert writer.versions() == {"a": "1"}


def test_a_folder_without_a_write_ahead_log_still_takes_an_index(
    path: Path, prepare: Prepare, caplog: pytest.LogCaptureFixture
) -> None:
    # SQLite cannot map its shared memory here, as on some network drives.
    path.with_name("notes.db-shm").mkdir()
    build(path, prepare("a"))
    assert "no write-ahead log in this folder" in caplog.text
    assert stored(path) == {"a": "1"}


FULL_DISK = """
import sys
from pathlib import Path
import numpy as np
from passageway.errors import StorageError
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section

def prepared(number):
    item = Item(f"i{number}", "Tea", "", "1", (Section(None, f"leaf{number} " * 150),))
    passages = split_item(item)
    return PreparedItem(item, passages, np.full((len(passages), 16), 0.25, dtype=np.float32))

path = Path(sys.argv[1]) / "notes.db"
with IndexWriter.open(path) as writer:
    writer.use_model("test-model", 16)
    for batch in range(1000):
        try:
            writer.store([prepared(batch * 5 + number) for number in range(5)])
        except StorageError as error:
            print(error)
            break
    print(batch * 5 == len(writer.versions()))
with IndexWriter.open(path) as writer:
    print(batch * 5 == writer.counts().items and batch > 0)
"""


def test_a_full_disk_is_an_error_and_what_was_stored_stays(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && exec {sys.executable} - {tmp_path}"
    prefix = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *prefix, "--mount", "sh", "-c", mount]
    if subprocess.run([*command[:-1], f"mount -t tmpfs tmpfs {tmp_path}"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system of its own")
    done = subprocess.run(command, input=FULL_DISK, capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert "notes.db: the disk is full" in lines[0]
    assert lines[1:] == ["True", "True"]
