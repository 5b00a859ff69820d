"""A writer on a fresh file, items in a line, and vectors that depend on the text alone."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from passageway.embedder import Vectors
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section

DIMENSION = 16

Prepare = Callable[..., PreparedItem]


def text_vectors(texts: Sequence[str], dimension: int = DIMENSION) -> Vectors:
    """Unit rows, float32 (len(texts), dimension); the same text gives the same row."""
    rows = np.empty((len(texts), dimension), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        row[:] = np.random.default_rng(seed).standard_normal(dimension)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@pytest.fixture
def prepare() -> Prepare:
    """Makes an item with passages and vectors: `prepare("a", "Title", ("Heading", "text"), …, weight=2)`."""

    def make(item_id: str, title: str = "", *sections: tuple[str | None, str], **fields: object) -> PreparedItem:
        item = Item(
            id=item_id,
            title=title or item_id,
            url=f"https://example.org/{item_id}",
            version=str(fields.pop("version", "1")),
            sections=tuple(Section(heading, text) for heading, text in sections),
            **fields,  # type: ignore[arg-type]
        )
        passages = split_item(item)
        return PreparedItem(item, passages, text_vectors([passage.embedded for passage in passages]))

    return make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def writer(path: Path) -> Iterator[IndexWriter]:
    with IndexWriter.open(path) as opened:
        opened.use_model("test-model", DIMENSION)
        yield opened
