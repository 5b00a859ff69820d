"""The two searches against what they must find: exact cosines, and one big file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from passageway.embedder import Vectors
from passageway.index.news import SectionRows
from passageway.index.vectors import pack, unpack
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import Passage
from passageway.records import Item
from passageway_query.lexical import Lexicon
from passageway_query.postings import PostingsCache
from passageway_query.rows import Rows
from passageway_query.semantic import highest, nearest, widened_products
from passageway_query.sources import Sources
from passageway_query.words import Tokenizer, question_words

DIMENSION = 384


def clustered(rng: np.random.Generator, count: int, clusters: Vectors) -> Vectors:
    """Rows around few centres, as texts of few subjects are: neighbours differ in the second digit of the cosine."""
    noise = rng.standard_normal((count, DIMENSION), dtype=np.float32)
    rows: Vectors = clusters[rng.integers(0, len(clusters), count)] + noise / np.float32(60)
    return unit(rows)


def unit(rows: Vectors) -> Vectors:
    unit_rows: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit_rows


def rows_of(vectors: Vectors) -> Rows:
    count = len(vectors)
    rows = Rows(DIMENSION)
    numbers = np.arange(1, count + 1)
    rows.append(
        SectionRows(numbers, numbers, np.full(count, 100), np.ones(count, dtype=np.bool_), pack(vectors)),
        0,
        np.arange(count, dtype=np.int32),
    )
    return rows


@pytest.fixture(scope="module")
def clusters() -> Vectors:
    return unit(np.random.default_rng(5).standard_normal((40, DIMENSION), dtype=np.float32))


def test_the_scan_finds_the_exact_fifty_nearest(clusters: Vectors) -> None:
    rng = np.random.default_rng(6)
    vectors = clustered(rng, 30_000, clusters)
    rows = rows_of(vectors)
    for question in clustered(rng, 20, clusters):
        exact = vectors @ question
        best = set(np.argsort(-exact)[:50].tolist())
        found = nearest(rows, question, None, 50)
        # A pair closer than the rounding of two bytes may swap places at the edge.
        missed = best - set(found.rows.tolist())
        assert all(exact[row] - exact[found.rows[-1]] < 1e-5 for row in missed)
        assert len(missed) <= 1
        assert np.abs(found.similarity - exact[found.rows]).max() < 1e-4
        assert (np.diff(found.similarity) <= 0).all()


def test_dead_and_filtered_rows_are_never_found(clusters: Vectors) -> None:
    rng = np.random.default_rng(7)
    vectors = clustered(rng, 2_000, clusters)
    rows = rows_of(vectors)
    question = vectors[10]
    assert nearest(rows, question, None, 1).rows.tolist() == [10]
    rows.kill(np.array([10], dtype=np.int32))
    assert 10 not in nearest(rows, question, None, 50).rows
    allowed = np.zeros(2_000, dtype=np.bool_)
    allowed[[10, 400, 401]] = True
    assert sorted(nearest(rows, question, allowed, 50).rows.tolist()) == [400, 401]


def test_numpy_gives_the_products_that_simsimd_gives(clusters: Vectors) -> None:
    simsimd = pytest.importorskip("simsimd")
    high = pack(clustered(np.random.default_rng(8), 9_000, clusters)).high
    question = high[3]
    expected = np.asarray(simsimd.cdist(question[None], high, "dot", out_dtype="float32"))[0]
    assert (widened_products(high, question) == expected).all()


def test_packed_vectors_are_within_half_a_step(clusters: Vectors) -> None:
    vectors = clustered(np.random.default_rng(9), 500, clusters)
    vectors[7] = 0
    back = unpack(pack(vectors))
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(back - vectors) <= largest / 32_000).all()
    assert (back[7] == 0).all()


@pytest.mark.parametrize("count", [0, 1, 10, 255, 256, 257, 30_000])
def test_the_highest_scores_are_found_whatever_their_number(count: int) -> None:
    scores = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    scores[::3] = -np.inf
    expected = [row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > -np.inf][:20]
    assert sorted(highest(scores, 20).tolist()) == sorted(expected)


VOCABULARY = [f"word{number}" for number in range(300)]


def pages(count: int) -> list[PreparedItem]:
    """Pages of random words, frequent and rare ones as in real text."""
    rng = np.random.default_rng(10)
    chance = 1 / np.arange(3, 303)
    vectors = np.eye(1, 8, dtype=np.float32)
    made = []
    for number in range(count):
        words = rng.choice(VOCABULARY, rng.integers(10, 80), p=chance / chance.sum())
        text = " ".join(words)
        passage = Passage(None, text, text, hashlib.sha256(f"{number} {text}".encode()).digest())
        made.append(PreparedItem(Item(f"i{number}", f"Page {number}", "", "1", ()), [passage], vectors))
    return made


def store(path: Path, items: Sequence[PreparedItem]) -> None:
    with IndexWriter.open(path) as writer:
        writer.use_model("none", 8)
        writer.store(items)


def best_pages(data_dir: Path, questions: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Title and score of the best fifty by keywords, for each question."""
    sources, tokenizer = Sources(data_dir), Tokenizer()
    with sources.current(None):
        pass
    lexicon = Lexicon(PostingsCache(sources))
    found = []
    for question in questions:
        matches = lexicon.search(sources.rows, question_words(question, tokenizer).searched, None, 50)
        titles = []
        for row in matches.rows.tolist():
            source = sources.by_number[int(sources.rows.source.used[row])]
            assert source.reader is not None
            number = int(sources.item_number.used[sources.rows.item.used[row]])
            titles.append(source.reader.items([number])[number].title)
        found.append(list(zip(titles, matches.scores.tolist(), strict=True)))
    sources.close()
    tokenizer.close()
    return found


def test_many_files_rank_as_one_big_file_does(tmp_path: Path) -> None:
    items = pages(600)
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    many.mkdir()
    store(one / "all.db", items)
    for number in range(12):
        # By subject, so that a word is frequent in one file and rare in another.
        own = [item for item in items if len(item.passages[0].text) % 12 == number]
        store(many / f"part{number}.db", own)
    rng = np.random.default_rng(11)
    questions = [" ".join(rng.choice(VOCABULARY, 5)) for _ in range(40)]
    for in_one, in_many in zip(best_pages(one, questions), best_pages(many, questions), strict=True):
        assert [score for _, score in in_one] == pytest.approx([score for _, score in in_many], rel=1e-5)
        last = in_one[-1][1]
        sure = {title for title, score in in_one if score > last * 1.0001}
        assert sure <= {title for title, _ in in_many}


def test_common_words_are_left_out_when_a_rarer_one_is_there(tmp_path: Path) -> None:
    items = pages(30)
    common, rare = "everywhere", "seldom"
    many = []
    for number in range(5_200):
        text = f"{common} {rare if number % 1300 == 0 else 'other'}"
        passage = Passage(None, text, text, hashlib.sha256(str(number).encode()).digest())
        many.append(PreparedItem(Item(f"c{number}", f"C{number}", "", "1", ()), [passage], items[0].vectors))
    store(tmp_path / "all.db", [*items, *many])
    rare_only, both, common_only = best_pages(tmp_path, [rare, f"{common} {rare}", common])
    assert both == rare_only
    assert {title for title, _ in both} == {"C0", "C1300", "C2600", "C3900"}
    assert len(common_only) == 50
