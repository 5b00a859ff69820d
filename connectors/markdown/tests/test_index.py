"""What stays in the index when notes, or the whole folder, are gone: the connector under a real sync."""

import sqlite3
import sys
from contextlib import closing

import pytest

from passageway.config import ConnectorConfig
from passageway.embed_command import CommandEmbedder
from passageway.errors import ConnectorError, DeletionRefusedError
from passageway_sync.sync import build


@pytest.fixture
def sync(vault, tmp_path):
    """Reconciles the vault with an index of three notes that link to each other."""
    for name in ("a", "b", "c"):
        vault.write(f"{name}.md", f"Words of {name}. [[a]] [[b]] [[c]]")
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    config = ConnectorConfig(
        name="notes",
        command=[sys.executable, "-m", "passageway_connector_markdown"],
        env={"FOLDER": str(vault.folder)},
    )
    with closing(CommandEmbedder("fake", [sys.executable, "-m", "passageway.testing.fake_embedder"])) as embedder:
        build(config, data_dir, embedder)
        yield lambda: build(config, data_dir, embedder)


@pytest.fixture
def indexed(tmp_path):
    """Ids of the items in the index, with their links."""

    def read():
        with closing(sqlite3.connect(tmp_path / "data/notes.db")) as connection:
            return dict(connection.execute("select item_id, links from items order by item_id").fetchall())

    return read


def test_a_folder_that_is_gone_leaves_every_item_in_the_index(vault, sync, indexed):
    before = indexed()
    vault.folder.rename(vault.folder.with_name("elsewhere"))
    with pytest.raises(ConnectorError, match="FOLDER is .* does not exist"):
        sync()
    assert indexed() == before and list(before) == ["a.md", "b.md", "c.md"]


def test_a_folder_that_is_empty_leaves_every_item_in_the_index(vault, sync, indexed):
    before = indexed()
    for path in vault.folder.iterdir():
        path.unlink()
    with pytest.raises(DeletionRefusedError):
        sync()
    assert indexed() == before


def test_one_deleted_note_leaves_the_index_and_the_links_of_the_others(vault, sync, indexed):
    assert '"b.md"' in indexed()["a.md"]
    (vault.folder / "b.md").unlink()
    report = sync()
    assert (report.items, report.removed, report.changed) == (2, 1, 2)
    after = indexed()
    assert list(after) == ["a.md", "c.md"]
    assert not any('"b.md"' in links for links in after.values())
