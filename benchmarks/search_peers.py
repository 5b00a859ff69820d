"""Other engines on the data of benchmarks/search.py, for those that are installed. None is a dependency."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from search_data import DIMENSION, Data

_BATCH = 2_000


def _report(name: str, stored_s: float, times_s: list[float]) -> None:
    times = np.array(times_s) * 1000
    print(
        f"{name:10} stored {stored_s:8.1f} s CPU   question p50 {np.percentile(times, 50):8.2f} ms"
        f"   p95 {np.percentile(times, 95):8.2f} ms"
    )


def _timed(data: Data, ask: Callable[[str, Any], object]) -> list[float]:
    times = []
    for question, vector in zip(data.questions, data.question_vectors, strict=True):
        started = time.perf_counter()
        ask(question, vector)
        times.append(time.perf_counter() - started)
    return times


def _fused(by_meaning: list[str], by_words: list[str]) -> list[str]:
    scores: dict[str, float] = {}
    for ranking in (by_meaning, by_words):
        for rank, row in enumerate(ranking, 1):
            scores[row] = scores.get(row, 0) + 1 / (60 + rank)
    return sorted(scores, key=lambda row: -scores[row])[:3]


def measure_chroma(folder: Path, data: Data) -> None:
    """Chroma: its vector index, and its only word search, whether a document contains one of the words."""
    import chromadb

    started = time.process_time()
    client = chromadb.PersistentClient(str(folder), chromadb.config.Settings(anonymized_telemetry=False))
    pages = client.create_collection("pages", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    for start in range(0, len(data.pages), _BATCH):
        rows = range(start, min(start + _BATCH, len(data.pages)))
        texts = [f"{data.pages[row].title} {data.pages[row].heading} {data.pages[row].text}" for row in rows]
        pages.add(ids=[str(row) for row in rows], embeddings=data.vectors[rows.start : rows.stop], documents=texts)
    stored_s = time.process_time() - started

    def ask(question: str, vector: Any) -> list[str]:
        near = pages.query(query_embeddings=vector[None], n_results=50, include=["distances"])["ids"][0]
        contained = {"$or": [{"$contains": word} for word in question.split()]}
        return _fused(near, pages.get(where_document=contained, limit=50, include=[])["ids"])

    _report("chroma", stored_s, _timed(data, ask))


def measure_lance(folder: Path, data: Data) -> None:
    """LanceDB: its vector index with refinement, its BM25 index, and its own reciprocal rank fusion."""
    import lancedb
    import pyarrow
    from lancedb.rerankers import RRFReranker

    started = time.process_time()
    texts = [f"{page.title} {page.heading} {page.text}" for page in data.pages]
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(data.vectors.reshape(-1)), DIMENSION)
    table = lancedb.connect(folder).create_table(
        "pages",
        pyarrow.table({"id": pyarrow.array(range(len(texts))), "text": pyarrow.array(texts), "vector": vectors}),
    )
    table.create_fts_index("text")
    table.create_index(metric="cosine", vector_column_name="vector")
    stored_s = time.process_time() - started
    reranker = RRFReranker()

    def ask(question: str, vector: Any) -> object:
        found = table.search(query_type="hybrid").vector(vector).text(question).distance_type("cosine")
        return found.rerank(reranker).limit(50).to_arrow()

    _report("lancedb", stored_s, _timed(data, ask))


PEERS: dict[str, Callable[[Path, Data], None]] = {"chromadb": measure_chroma, "lancedb": measure_lance}
"""By the module that must be there."""
