"""Searches and a writer at the same time: no lock is felt, and every answer is a whole one."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.embed_command import CommandEmbedder
from passageway.records import Item
from passageway_query.answer import Answer, Question
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]

# Replaces items without a pause: version after version, all sections of an item are of one version.
BUSY_WRITER = """
import itertools, sys, time
from pathlib import Path
import numpy as np
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section

def prepared(name, version):
    sections = tuple(Section(f"Part {n}", f"harbour log of the pier {version}") for n in range(4))
    item = Item(name, "Harbour log", "", str(version), sections)
    passages = split_item(item)
    return PreparedItem(item, passages, np.full((len(passages), 256), 1 / 16, dtype=np.float32))

with IndexWriter.open(Path(sys.argv[1])) as writer:
    writer.use_model("words", 256)
    for version in itertools.count(1):
        writer.store([prepared(f"i{n}", version) for n in range(10)], remove=[f"i{n}" for n in range(version % 3)])
        if version % 20 == 0:
            writer.finish()
        time.sleep(float(sys.argv[2]))
        if version == 3:
            print("busy", flush=True)
"""


class Asker(threading.Thread):
    """Asks again and again until it is stopped, and keeps the answers and the first error."""

    def __init__(self, search: Search) -> None:
        super().__init__(daemon=True)
        self.answers: list[Answer] = []
        self.error: Exception | None = None
        self.stopped = threading.Event()
        self._search = search

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                self.answers.append(self._search.ask(Question("harbour log pier")))
        except Exception as error:  # the thread ends here; the test raises it
            self.error = error


@pytest.mark.parametrize("log", ["wal", "delete"])
def test_two_searches_and_a_busy_writer_never_wait_on_a_lock(
    log: str, index: Index, item: MakeItem, data_dir: Path, embedder: CommandEmbedder
) -> None:
    path = index("harbour", item("i0", "Harbour log", "harbour log of the pier"))
    pause_s = "0"
    if log == "delete":
        # A commit waits for readers there and readers for a commit, so the writer embeds in between, as a sync does.
        pause_s = "0.02"
        # Shared memory cannot be had, so the writer does without a write-ahead log.
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.with_name("harbour.db-shm").mkdir()
    writer = subprocess.Popen(
        [sys.executable, "-c", BUSY_WRITER, str(path), pause_s],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    searches = [Search(data_dir, embedder) for _ in range(2)]
    askers = [Asker(search) for search in searches]
    with writer:
        assert writer.stdout is not None and writer.stdout.readline() == "busy\n"
        for asker in askers:
            asker.start()
        deadline = time.monotonic() + 60
        while min(len(asker.answers) for asker in askers) < 150 and time.monotonic() < deadline:
            if any(asker.error for asker in askers) or writer.poll() is not None:
                break
            askers[0].join(0.01)
        still_busy = writer.poll() is None
        for asker in askers:
            asker.stopped.set()
            asker.join(30)
        writer.kill()
    for search in searches:
        search.close()
    assert still_busy
    for asker in askers:
        assert asker.error is None
        assert len(asker.answers) >= 150
        assert [answer.problems for answer in asker.answers if answer.problems] == []
        assert all(answer.hits for answer in asker.answers)


def test_one_search_serves_many_threads(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", *(item(f"i{n}", f"Tree {n}", f"alder{n} wood") for n in range(20)))
    wrong: list[str] = []

    def ask(number: int) -> None:
        for _ in range(10):
            hits = search.ask(Question(f"alder{number} wood")).hits
            if hits[0].id != f"i{number}":
                wrong.append(hits[0].id)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
