"""A writer killed at any moment leaves a whole file, and the next one goes on."""

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from passageway.index.writer import IndexWriter

BATCH = 7

# Stores batches of seven items for ever, takes out an older one with every second, and says when each is stored.
ENDLESS_WRITER = f"""
import itertools, sys
from pathlib import Path
import numpy as np
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section

def prepared(item_id):
    item = Item(item_id, "Tea", "", "1", tuple(Section(f"Part {{n}}", f"leaf {{item_id}}") for n in range(3)))
    passages = split_item(item)
    return PreparedItem(item, passages, np.full((len(passages), 16), 0.25, dtype=np.float32))

with IndexWriter.open(Path(sys.argv[1])) as writer:
    writer.use_model("test-model", 16)
    first = max([int(item_id.split("-")[0]) for item_id in writer.versions()], default=-1) + 1
    for batch in itertools.count(first):
        old = [f"{{batch // 2}}-{{n}}" for n in range({BATCH})] if batch % 2 else []
        writer.store([prepared(f"{{batch}}-{{n}}") for n in range({BATCH})], remove=old)
        if batch % 5 == 0:
            writer.finish()
        print(batch, flush=True)
"""


def test_a_killed_writer_leaves_whole_calls_and_nothing_of_the_broken_one(path: Path) -> None:
    chance = random.Random(4)
    stored = -1
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS_WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        with process:
            assert process.stdout is not None
            for _ in range(chance.randint(1, 12)):
                stored = int(process.stdout.readline())
            # Somewhere within the next call, which takes a few milliseconds.
            try:
                process.wait(timeout=chance.uniform(0, 0.01))
            except subprocess.TimeoutExpired:
                process.kill()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        with IndexWriter.open(path) as writer:
            batches = {item_id.split("-")[0] for item_id in writer.versions()}
            assert writer.counts().items == BATCH * len(batches)
            assert writer.counts().sections == 3 * BATCH * len(batches)
            assert str(stored) in batches
