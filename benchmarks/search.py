"""How fast questions are answered and sections stored, beside a plain script over the same data, in one run.

    .venv/bin/python benchmarks/search.py [--sections 100000] [--files 20] [--questions 200] [--data-dir DIR]

The plain script is what a few lines of Python do: numpy over 32-bit vectors, FTS5 with the words joined by OR, and
reciprocal rank fusion. Embedding is left out on both sides. Times differ from machine to machine and with whatever
else runs there; the two take turns question by question, so the ratios are what to look at. In such turns the script's
150 MB push ours out of the processor's caches, so questions right after one another are measured too. Peers that are
installed (chromadb, lancedb) are measured on the same data.
"""

import argparse
import hashlib
import importlib.util
import multiprocessing
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray
from search_data import DIMENSION, SUBJECTS, Data, made_up
from search_peers import PEERS

from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway.index.news import Model
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import Passage, embedded_text
from passageway.records import Item
from passageway_query.answer import Question
from passageway_query.search import Search
from passageway_query.semantic import nearest
from passageway_query.sources import Sources

ITEMS_A_CALL = 50
SMALL = 1_300
MODEL = "made-up"


class GivenVectors:
    """An embedder that is told beforehand what the next question's vector is."""

    def __init__(self) -> None:
        self.next: Vectors = np.zeros((1, DIMENSION), dtype=np.float32)

    def info(self) -> EmbedderInfo:
        return EmbedderInfo(MODEL, DIMENSION, 0.5)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        return self.next

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Times:
    """Wall times of questions in milliseconds."""

    ms: NDArray[np.float64]

    @property
    def p50(self) -> float:
        return float(np.percentile(self.ms, 50))

    @property
    def p95(self) -> float:
        return float(np.percentile(self.ms, 95))

    def __str__(self) -> str:
        return f"p50 {self.p50:8.2f} ms   p95 {self.p95:8.2f} ms"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--data-dir", type=Path, help="where the files are kept; a temporary folder by default")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {arguments.sections:,} sections\n")
    data = made_up(arguments.sections, arguments.questions)
    with tempfile.TemporaryDirectory(dir=arguments.data_dir) as folder:
        _large(Path(folder), data, arguments.files)
        _small(Path(folder), data)
        for peer, measure in PEERS.items():
            if importlib.util.find_spec(peer):
                measure(Path(folder) / peer, data)


def _large(folder: Path, data: Data, files: int) -> None:
    data_dir = folder / "large"
    stored_s = _store(data_dir, data, files, len(data.pages))
    on_disk = sum(path.stat().st_size for path in data_dir.glob("*.db"))
    plain = PlainScript(folder / "plain.db", data)
    embedder = GivenVectors()
    before = psutil.Process().memory_info().rss
    with closing(Search(data_dir, embedder)) as search:
        loaded = _seconds(search.sources)
        memory = psutil.Process().memory_info().rss - before
        cold, _ = _take_turns(search, embedder, plain, data)
        warm = _ask_all(search, embedder, data)
        turns, scripted = _take_turns(search, embedder, plain, data)
        sections = len(data.pages)
        print(f"stored                    {stored_s:8.1f} s CPU   {on_disk / sections:6.0f} bytes a section on disk")
        print(f"read into memory          {loaded:8.2f} s       {memory / sections:6.0f} bytes a section")
        print(f"question, words not asked before  {cold}")
        print(f"question, warm                    {warm}")
        print(f"question, turn by turn            {turns}")
        print(f"the same by the plain script      {scripted}   {scripted.p50 / turns.p50:.1f} x slower")
        print(f"recall of the exact best fifty    {_recall(data_dir, data):.4f}")
        print(f"taking in 50 new sections         {_refresh(data_dir, data)}")
        busy = _beside_a_writer(data_dir, search, embedder, data)
        print(f"question beside a busy writer     {busy}   p95 {busy.p95 / warm.p95:.1f} x the idle one\n")


def _small(folder: Path, data: Data) -> None:
    data_dir = folder / "small"
    _store(data_dir, data, 1, SMALL)
    embedder = GivenVectors()
    with closing(Search(data_dir, embedder)) as search:
        _ask_all(search, embedder, data)
        print(f"question, warm, {SMALL:,} sections     {_ask_all(search, embedder, data)}\n")


def _store(data_dir: Path, data: Data, files: int, sections: int) -> float:
    """Seconds of CPU that storing takes, with everything about the items prepared before."""
    data_dir.mkdir()
    place = np.random.default_rng(1).permutation(SUBJECTS) % files
    seconds = 0.0
    for number in range(files):
        own = [row for row in range(sections) if place[data.pages[row].subject] == number]
        items = [_prepared(data, row) for row in own]
        started = time.process_time()
        with IndexWriter.open(data_dir / f"file{number:02}.db") as writer:
            writer.use_model(MODEL, DIMENSION)
            for start in range(0, len(items), ITEMS_A_CALL):
                writer.store(items[start : start + ITEMS_A_CALL])
            writer.write_state(SourceState("ok", built=True))
            writer.finish()
        seconds += time.process_time() - started
    return seconds


def _prepared(data: Data, row: int, item_id: str = "") -> PreparedItem:
    page = data.pages[row]
    embedded = embedded_text(page.title, (), page.heading, page.text)
    passage = Passage(page.heading, page.text, embedded, hashlib.sha256(embedded.encode()).digest())
    item = Item(item_id or f"page-{row}", page.title, f"https://example.org/{row}", "1", ())
    return PreparedItem(item, [passage], data.vectors[row : row + 1])


class PlainScript:
    """Hybrid search as a short script has it: everything in one FTS5 table and one array."""

    def __init__(self, path: Path, data: Data) -> None:
        self._vectors = data.vectors
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE VIRTUAL TABLE pages USING fts5 (title, heading, text)")
        rows = ((row + 1, page.title, page.heading, page.text) for row, page in enumerate(data.pages))
        self._db.executemany("INSERT INTO pages (rowid, title, heading, text) VALUES (?, ?, ?, ?)", rows)
        self._db.execute("INSERT INTO pages (pages) VALUES ('optimize')")
        self._db.commit()

    def ask(self, question: str, vector: Vectors) -> list[tuple[str, str]]:
        """The best three."""
        similarity = self._vectors @ vector
        nearest_rows = np.argpartition(similarity, -50)[-50:]
        by_meaning = nearest_rows[np.argsort(-similarity[nearest_rows])].tolist()
        query = " OR ".join(f'"{word}"' for word in question.split())
        by_words = self._db.execute("SELECT rowid - 1 FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 50", (query,))
        scores: dict[int, float] = {}
        for ranking in (by_meaning, [row for (row,) in by_words]):
            for rank, row in enumerate(ranking, 1):
                scores[row] = scores.get(row, 0) + 1 / (60 + rank)
        best = sorted(scores, key=lambda row: -scores[row])[:3]
        select = "SELECT title, text FROM pages WHERE rowid = ?"
        return [self._db.execute(select, (row + 1,)).fetchone() for row in best]


def _take_turns(search: Search, embedder: GivenVectors, plain: PlainScript, data: Data) -> tuple[Times, Times]:
    ours, theirs = [], []
    for question, vector in zip(data.questions, data.question_vectors, strict=True):
        embedder.next = vector[None]
        ours.append(_seconds(lambda asked=question: search.ask(Question(asked))))  # type: ignore[misc]
        theirs.append(_seconds(lambda asked=question, own=vector: plain.ask(asked, own)))  # type: ignore[misc]
    return Times(np.array(ours) * 1000), Times(np.array(theirs) * 1000)


def _ask_all(search: Search, embedder: GivenVectors, data: Data) -> Times:
    times = []
    for question, vector in zip(data.questions, data.question_vectors, strict=True):
        embedder.next = vector[None]
        times.append(_seconds(lambda asked=question: search.ask(Question(asked))))  # type: ignore[misc]
    return Times(np.array(times) * 1000)


def _recall(data_dir: Path, data: Data) -> float:
    """Share of the exact fifty nearest by 32-bit numbers that the scan finds."""
    sources = Sources(data_dir)
    with closing(sources), sources.current(Model(MODEL, DIMENSION)):
        sections = sources.rows.section.used
        # A section's number within its file is its place among the file's pages.
        place = np.random.default_rng(1).permutation(SUBJECTS) % len(list(sources))
        subjects = np.array([page.subject for page in data.pages])
        pages = {source.number: np.flatnonzero(place[subjects] == number) for number, source in enumerate(sources)}
        page_of = np.array(
            [
                pages[int(number)][section - 1]
                for number, section in zip(sources.rows.source.used, sections, strict=True)
            ]
        )
        found = 0
        for vector in data.question_vectors:
            exact = data.vectors @ vector
            best = set(np.argpartition(exact, -50)[-50:].tolist())
            found += len(best & set(page_of[nearest(sources.rows, vector, None, 50).rows].tolist()))
        return found / (50 * len(data.question_vectors))


def _refresh(data_dir: Path, data: Data) -> Times:
    times = []
    sources = Sources(data_dir)
    with closing(sources), IndexWriter.open(data_dir / "file00.db") as writer:
        writer.use_model(MODEL, DIMENSION)
        with sources.current(Model(MODEL, DIMENSION)):
            pass
        for turn in range(20):
            writer.store([_prepared(data, row, f"new-{turn}-{row}") for row in range(50)])
            times.append(_seconds(lambda: _look(sources)))
        writer.remove([f"new-{turn}-{row}" for turn in range(20) for row in range(50)])
    return Times(np.array(times) * 1000)


def _look(sources: Sources) -> None:
    with sources.current(Model(MODEL, DIMENSION)):
        pass


def _beside_a_writer(data_dir: Path, search: Search, embedder: GivenVectors, data: Data) -> Times:
    with _writing(data_dir / "file00.db", data):
        return _ask_all(search, embedder, data)


@contextmanager
def _writing(path: Path, data: Data) -> Iterator[None]:
    ready = multiprocessing.Event()
    writer = multiprocessing.Process(target=_write_for_ever, args=(path, data, ready), daemon=True)
    writer.start()
    ready.wait(60)
    try:
        yield
    finally:
        writer.kill()
        writer.join()


def _write_for_ever(path: Path, data: Data, ready: "multiprocessing.synchronize.Event") -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model(MODEL, DIMENSION)
        for turn in count():
            rows = range(turn * ITEMS_A_CALL % 5_000, turn * ITEMS_A_CALL % 5_000 + ITEMS_A_CALL)
            writer.store([_prepared(data, row % len(data.pages), f"busy-{row}-{turn % 2}") for row in rows])
            ready.set()


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
