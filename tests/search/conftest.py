"""Index files made through the writer, and a search over them with a real embedder program."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import Embedder
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section
from passageway_query.search import Search

FAKE = [sys.executable, "-m", "passageway.testing.fake_embedder"]

Index = Callable[..., Path]
MakeItem = Callable[..., Item]


def word_embedder(name: str, dimension: int = 256) -> CommandEmbedder:
    """Texts with the same words are near each other; unrelated texts are at about 0."""
    env = {"FAKE_NAME": name, "FAKE_DIM": str(dimension)}
    return CommandEmbedder(name, FAKE, env=env, min_similarity=0.25)


@pytest.fixture(scope="session")
def embedder() -> Iterator[CommandEmbedder]:
    made = word_embedder("words")
    yield made
    made.close()


@pytest.fixture(scope="session")
def other_embedder() -> Iterator[CommandEmbedder]:
    """Of another model than the stored vectors, so that answers are by words alone."""
    made = word_embedder("other-words", 64)
    yield made
    made.close()


@pytest.fixture
def item() -> MakeItem:
    """`item("d1", "Title", "text")` or with `sections=[(heading, text), …]` and other fields of the record."""

    def make(item_id: str, title: str = "", text: str = "", **fields: Any) -> Item:
        sections = tuple(Section(*pair) for pair in fields.pop("sections", [(None, text)]))
        url = f"https://example.org/{item_id}"
        return Item(id=item_id, title=title or item_id, url=url, version="1", sections=sections, **fields)

    return make


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def index(data_dir: Path, embedder: CommandEmbedder) -> Index:
    """`index("notes", item, …, remove=[ids])` stores items in a source's file; the source counts as built."""

    def store(name: str, *items: Item, remove: tuple[str, ...] = (), model: Embedder = embedder) -> Path:
        path = data_dir / f"{name}.db"
        info = model.info()
        with IndexWriter.open(path) as writer:
            writer.use_model(info.name, info.dimension)
            prepared = []
            for one in items:
                passages = split_item(one)
                vectors = model.embed([passage.embedded for passage in passages], "passage")
                prepared.append(PreparedItem(one, passages, vectors))
            writer.store(prepared, remove=remove)
            writer.write_state(SourceState("ok", built=True))
        return path

    return store


@pytest.fixture
def search(data_dir: Path, embedder: CommandEmbedder) -> Iterator[Search]:
    made = Search(data_dir, embedder)
    yield made
    made.close()


@pytest.fixture
def words_alone(data_dir: Path, other_embedder: CommandEmbedder) -> Iterator[Search]:
    """A search whose embedder is of another model than the stored vectors."""
    made = Search(data_dir, other_embedder)
    yield made
    made.close()
