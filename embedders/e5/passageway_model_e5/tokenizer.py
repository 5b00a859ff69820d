"""Writes `tokenizer.json`, byte for byte the file that is published with multilingual-e5-small."""

import base64
import json
import lzma
from importlib.resources import files
from typing import Any

from passageway_model_e5.container import Vocabulary

_SPECIAL_TOKENS = ((0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>"), (250001, "<mask>"))
_SPACE = "\u2581"


def charsmap() -> bytes:
    """The compiled Unicode map `nmt_nfkc` of SentencePiece 0.1.91, 237,539 bytes. The README says where it is from."""
    return lzma.decompress(files("passageway_model_e5").joinpath("charsmap.xz").read_bytes())


def tokenizer_json(vocabulary: Vocabulary, character_map: bytes) -> bytes:
    """The tokenizer as the `tokenizers` library reads it."""
    spaces = {"type": "Metaspace", "replacement": _SPACE, "add_prefix_space": True}
    pieces = [
        [piece, _published(score)] for piece, score in zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True)
    ]
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special_token(number, text) for number, text in _SPECIAL_TOKENS],
        "normalizer": _normalizer(character_map),
        "pre_tokenizer": spaces,
        "post_processor": _post_processor(),
        "decoder": spaces,
        "model": {"type": "Unigram", "unk_id": vocabulary.unknown, "vocab": pieces},
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8")


def _special_token(number: int, text: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": text, **flags}


def _normalizer(character_map: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(character_map).decode("ascii")
    steps = [
        {"type": "Precompiled", "precompiled_charsmap": encoded},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
    return {"type": "Sequence", "normalizers": steps}


def _post_processor() -> dict[str, Any]:
    def special(text: str) -> dict[str, Any]:
        return {"SpecialToken": {"id": text, "type_id": 0}}

    def sequence(name: str) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": 0}}

    begin, end = special("<s>"), special("</s>")
    return {
        "type": "TemplateProcessing",
        "single": [begin, sequence("A"), end],
        "pair": [begin, sequence("A"), end, end, sequence("B"), end],
        "special_tokens": {
            "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
            "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
        },
    }


def _published(score: float) -> float:
    """The score as the published file prints it.

    Its scores once passed through a JSON reader that computes digits / 10ⁿ in doubles, which is not always the nearest
    double: doing the same gives the same digits.
    """
    digits = repr(abs(score))
    if "e" in digits or "." not in digits:
        return score
    whole, fraction = digits.split(".")
    magnitude = float(int(whole + fraction)) / 10.0 ** len(fraction)
    return -magnitude if repr(score).startswith("-") else magnitude
