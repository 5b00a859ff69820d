import sys
from contextlib import closing
from pathlib import Path

from passageway.embed_command import CommandEmbedder
from passageway.testing.embedder_contract import check_embedder

SCRIPT = Path(__file__).with_name("letters_embedder.py")


def test_the_letters_embedder_keeps_the_protocol():
    with closing(CommandEmbedder("letters", [sys.executable, str(SCRIPT)], min_similarity=0.5)) as embedder:
        check_embedder(embedder)
