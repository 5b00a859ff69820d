"""`check_embedder`: what every embedder must do, tried on a real one.

    def test_my_embedder():
        with closing(CommandEmbedder("mine", ["python", "my_embedder.py"], min_similarity=0.8)) as embedder:
            check_embedder(embedder)

It takes anything with the interface of `passageway.embedder.Embedder`. The rules carry the numbers of
docs/reference/embedder-protocol.md.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import numpy as np

from passageway.embedder import Embedder, EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError

RULES = {
    "E2": "`info` names the model and says how many numbers a vector has, the same every time.",
    "E4": "`embed` gives one vector a text, in the order of the texts, each with as many numbers as `info` says.",
    "E5": "Vectors are finite and not all zero; passageway brings them to length 1.",
    "E6": "A question and a passage may be embedded differently, and fit together.",
    "E16": "The same text has the same vector every time, alone and among others.",
    "E17": "A text is embedded whatever its script, and at any length that a passage may have, about 500 tokens.",
}

_LIGHT = "Lighthouses guide ships along the coast when the night is dark."
_FRUIT = "Bananas are a sweet yellow fruit and grow in bunches."
_QUESTION = "How do lighthouses guide ships?"
_OTHERS = ("A lock lifts a boat.", "Tea is made of leaves.", "The year has twelve months.")

_SAME = 0.999
"""Cosine of two vectors of one text. Half precision on a GPU stays above 0.9999; another text is far below."""

_AMONG_OTHERS = 0.99
"""The same, alone and in a batch: 8-bit models round by what else is in the batch."""

_Result = TypeVar("_Result")


def check_embedder(embedder: Embedder) -> None:
    """Nothing when the embedder keeps the rules that can be tried. AssertionError says which one it breaks, and how."""
    info = _check_info(embedder)
    texts = [_LIGHT, _FRUIT, *_OTHERS]
    passages = _checked_vectors(embedder, info, texts, "passage")
    _check_repetition(embedder, info, texts, passages)
    _check_many(embedder, info, passages[0])
    _check_meaning(embedder, info, passages)
    _check_odd_texts(embedder, info)


def _check_info(embedder: Embedder) -> EmbedderInfo:
    info = _try("E2", embedder.info)
    if not info.name.strip() or info.dimension < 1:
        _broken("E2", f"the name {info.name!r} and {info.dimension} numbers")
    if _try("E2", embedder.info) != info:
        _broken("E2", f"first {info}, then another answer")
    return info


def _checked_vectors(embedder: Embedder, info: EmbedderInfo, texts: Sequence[str], kind: Kind) -> Vectors:
    vectors = _try("E4", lambda: embedder.embed(texts, kind))
    if vectors.shape != (len(texts), info.dimension) or vectors.dtype != np.float32:
        _broken("E4", f"{vectors.dtype} of shape {vectors.shape} for {len(texts)} texts of {info.dimension} numbers")
    if not np.isfinite(vectors).all():
        _broken("E5", "a number that is not finite")
    lengths = np.linalg.norm(vectors, axis=1)
    if len(texts) and not np.allclose(lengths, 1.0, atol=1e-3):
        _broken("E5", f"lengths from {lengths.min():.4f} to {lengths.max():.4f}, expected 1")
    return vectors


def _check_repetition(embedder: Embedder, info: EmbedderInfo, texts: Sequence[str], before: Vectors) -> None:
    again = _checked_vectors(embedder, info, texts, "passage")
    _same(before, again, _SAME, "E16", "embedded twice")
    alone = np.concatenate([_checked_vectors(embedder, info, [text], "passage") for text in texts])
    for number, row in enumerate(alone @ before.T):
        if row[number] < _AMONG_OTHERS <= row.max():
            _broken("E4", f"in a batch, text {int(row.argmax()) + 1} has the vector of text {number + 1}")
    _same(before, alone, _AMONG_OTHERS, "E16", "embedded alone and in a batch")


def _check_many(embedder: Embedder, info: EmbedderInfo, light: Vectors) -> None:
    """More texts than one request holds with the default batch size."""
    vectors = _checked_vectors(embedder, info, [_FRUIT] * 33 + [_LIGHT], "passage")
    _same(vectors[-1:], light[np.newaxis], _AMONG_OTHERS, "E4", "the last of 34 texts")
    if len(_checked_vectors(embedder, info, [], "passage")):
        _broken("E4", "vectors for no texts")


def _check_meaning(embedder: Embedder, info: EmbedderInfo, passages: Vectors) -> None:
    question = _checked_vectors(embedder, info, [_QUESTION], "query")[0]
    light, fruit = (float(question @ passages[number]) for number in (0, 1))
    if light <= fruit:
        seen = f"similarity {light:.3f} to a passage about lighthouses, {fruit:.3f} to one about bananas"
        _broken("E6", f"{_QUESTION!r} has {seen}")


def _check_odd_texts(embedder: Embedder, info: EmbedderInfo) -> None:
    for what, text in (
        ("1,600 characters", f"{_LIGHT} " * 25),
        ("line ends and quotes", 'One "line"\nand\tanother.'),
        ("several scripts", "Größe 停车 🪝 Маяк"),
    ):
        for kind in ("query", "passage"):
            try:
                _checked_vectors(embedder, info, [text], kind)
            except AssertionError as error:
                _broken("E17", f"with {what}: {error}")


def _same(one: Vectors, other: Vectors, least: float, rule: str, what: str) -> None:
    cosine = float((one * other).sum(axis=1).min())
    if cosine < least:
        _broken(rule, f"{what}, a text has cosine {cosine:.4f} to itself, expected {least} or more")


def _try(rule: str, call: Callable[[], _Result]) -> _Result:
    try:
        return call()
    except EmbedderError as error:
        _broken(rule, str(error))


def _broken(rule: str, seen: str) -> NoReturn:
    raise AssertionError(f"rule {rule}: {RULES[rule]} Seen: {seen}") from None
