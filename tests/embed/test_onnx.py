"""Texts into tokens and vectors: what is cut, what is made harmless, what another graph may look like."""

import json
import logging
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from passageway.errors import ModelError, SettingsError
from passageway_embed.check import agreement
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel, TokenReader, saturates
from passageway_embed.presets import PRESETS

TinyModel = Callable[[Path, str], None]

JINA = PRESETS["jina-v2-base-de"]


@pytest.fixture(scope="module")
def plain(files: ModelFiles) -> Tokenizer:
    """The published tokenizer, untouched."""
    return Tokenizer.from_file(str(files.tokenizer))


@pytest.fixture(scope="module")
def reader(files: ModelFiles) -> TokenReader:
    return TokenReader(Tokenizer.from_file(str(files.tokenizer)), 512)


def tiny(folder: Path, graph: str) -> OnnxModel:
    return OnnxModel(ModelFiles("tiny", JINA, folder, folder / graph, folder / "tokenizer.json"))


def test_ordinary_texts_have_the_tokens_of_the_published_tokenizer(
    plain: Tokenizer, reader: TokenReader, texts: list[str]
) -> None:
    shorter = [text for text in texts if len(plain.encode(text).ids) <= 512]

    assert [reader.read(text) for text in shorter] == [plain.encode(text).ids for text in shorter]
    assert len(shorter) >= 200


@pytest.mark.parametrize("name", ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "＜/s＞", "＜ｍａｓｋ＞"])
def test_the_name_of_a_special_token_in_a_text_is_only_words(reader: TokenReader, plain: Tokenizer, name: str) -> None:
    ids = reader.read(f"what does {name} stand for, and {name}?")

    assert (ids[0], ids[-1]) == (0, 2)
    assert not {0, 1, 2, 3, 250001} & set(ids[1:-1])
    letters = unicodedata.normalize("NFKC", name).strip("</>")
    assert plain.decode(ids).replace(" ", "").count(letters) >= 2


def test_characters_the_model_does_not_know_stay_unknown(reader: TokenReader, plain: Tokenizer) -> None:
    text = "runes \U00012000 here"

    assert 3 in reader.read(text)
    assert reader.read(text) == plain.encode(text).ids


def test_a_book_is_cut_where_the_model_stops_reading(reader: TokenReader, plain: Tokenizer) -> None:
    book = "The keeper wrote the weather into a book. " * 25_000

    ids = reader.read(book)

    assert len(ids) == 512
    assert ids[:-1] == plain.encode(book[:20_000]).ids[:511]
    assert ids[-1] == 2


def test_a_megabyte_of_spaces_before_a_word_still_ends_in_that_word(reader: TokenReader) -> None:
    assert reader.read(" " * 1_000_000 + "tea") == reader.read("tea")


def test_half_a_surrogate_pair_is_read_as_a_question_mark(reader: TokenReader) -> None:
    assert reader.read("broken \ud83d text") == reader.read("broken ? text")


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\0", "\u200b"])
def test_a_text_of_nothing_still_has_a_unit_vector(model: OnnxModel, text: str) -> None:
    assert float(np.linalg.norm(model.vector(text, "passage"))) == pytest.approx(1, abs=1e-5)


def test_a_question_and_a_passage_of_the_same_words_differ(model: OnnxModel) -> None:
    question, passage = model.vector("lighthouse", "query"), model.vector("lighthouse", "passage")

    assert 0.8 < float(question @ passage) < 0.999


def test_a_graph_that_gives_a_vector_a_token_is_averaged_to_unit_length(tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path, "onnx/model_quantized.onnx")

    model = tiny(tmp_path, "onnx/model_quantized.onnx")
    vector = model.vector("tea bread", "query")

    # <s> tea bread </s>: each number of the table is 0.01, and 1.01 where its word is meant
    expected = np.array([1 + 4 * 0.01, 1 + 4 * 0.01, 4 * 0.01, 4 * 0.01])
    assert model.dimension == 4
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_no_texts_give_no_rows(model: OnnxModel) -> None:
    assert model.vectors([], "passage").shape == (0, 384)


def test_a_graph_that_is_none_is_an_error_with_its_folder(tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path, "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"not a graph")

    with pytest.raises(ModelError, match=f"{tmp_path} holds no usable model"):
        tiny(tmp_path, "model.onnx")


def test_a_tokenizer_that_is_none_is_an_error_with_its_folder(tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path, "model.onnx")
    (tmp_path / "tokenizer.json").write_text("[]", encoding="utf-8")

    with pytest.raises(ModelError, match=f"{tmp_path} holds no usable model"):
        tiny(tmp_path, "model.onnx")


def test_a_device_this_machine_lacks_is_said_with_those_it_has(files: ModelFiles) -> None:
    with pytest.raises(SettingsError, match=r"'coreml' needs CoreMLExecutionProvider, .*CPUExecutionProvider"):
        OnnxModel(files, "coreml")


@pytest.mark.parametrize(
    ("machine", "flags", "exact_way_needed"),
    [
        ("x86_64", "fpu avx2 avx512f avx512_vnni", False),
        ("x86_64", "fpu avx2 avx_vnni", False),
        ("x86_64", "fpu avx2 avx512f", True),
        ("aarch64", "fp asimd", False),
    ],
)
def test_processors_that_overflow_are_told_from_those_that_do_not(
    machine: str, flags: str, exact_way_needed: bool
) -> None:
    cpuinfo = f"processor\t: 0\nmodel name\t: avx512_vnni by name only\nflags\t\t: {flags}\n"

    assert saturates(machine, cpuinfo) is exact_way_needed


def test_the_known_question_has_its_known_vector_here(
    files: ModelFiles, model: OnnxModel, caplog: pytest.LogCaptureFixture
) -> None:
    assert files.check is not None

    cosine = agreement(model, files.check)

    assert cosine is not None
    assert cosine > 0.995
    assert caplog.text == ""


def test_a_machine_that_computes_other_vectors_is_noticed(
    files: ModelFiles, model: OnnxModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert files.check is not None
    known = json.loads(files.check.read_text(encoding="utf-8"))
    known["vector"] = known["vector"][::-1]
    path = tmp_path / "check.json"
    path.write_text(json.dumps(known), encoding="utf-8")

    with caplog.at_level(logging.WARNING):
        cosine = agreement(model, path)

    assert cosine is not None
    assert cosine < 0.9
    assert "multilingual-e5-small-q4 computes other vectors here than it should" in caplog.text
    assert known["text"] not in caplog.text


def test_an_unusable_check_is_said_and_does_no_harm(
    model: OnnxModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "check.json"
    path.write_text('{"kind": "query", "text": "tea", "vector": [1, 2]}', encoding="utf-8")

    assert agreement(model, path) is None
    assert f"{path} cannot be compared with" in caplog.text


def test_a_model_takes_the_gate_of_its_preset(model: OnnxModel, tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path, "model.onnx")

    assert tiny(tmp_path, "model.onnx").min_similarity == 0.56
    assert model.min_similarity == 0.845
