"""Where a preset's files come from: the folder, an installed package, and what is refused."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from passageway.config import EmbedderConfig
from passageway.errors import ModelError, SettingsError
from passageway.settings import Settings, load_settings
from passageway_embed.models import ModelFiles, find_model, model_folder, ready_model
from passageway_embed.packages import ModelPackage, fill, installed_package
from passageway_embed.presets import PRESETS

TinyModel = Callable[[Path, str], None]

SMALL = PRESETS["multilingual-e5-small"]
JINA = PRESETS["jina-v2-base-de"]


@dataclass(frozen=True)
class Provided:
    name: str
    files: Mapping[str, str]


class Package:
    """A model package like those that entry points name: writes what is missing and says the sums."""

    def __init__(self, content: bytes = b"graph") -> None:
        self.contents = {"model.onnx": content, "tokenizer.json": b"{}"}
        self.calls = 0

    def provide(self, folder: Path) -> Provided:
        self.calls += 1
        for name, content in self.contents.items():
            if not (folder / name).exists():
                (folder / name).write_bytes(content)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in self.contents.items()}
        return Provided("small-from-a-package", sums)

    def installed(self, version: str = "1.0") -> ModelPackage:
        return ModelPackage(f"model-package {version}", self.provide)


def here(tmp_path: Path, **environ: str) -> Settings:
    return load_settings({"HOME": str(tmp_path), "PASSAGEWAY_DATA_DIR": str(tmp_path / "data"), **environ})


def test_the_installed_package_supplies_the_default_model_under_a_name_of_its_own(files: ModelFiles) -> None:
    assert files.name == "multilingual-e5-small-q4"
    assert files.folder.name == "e5-small"
    assert files.check is not None


def test_a_model_that_is_ready_is_found_again_without_its_package(files: ModelFiles) -> None:
    assert find_model(SMALL, files.folder) == files


def test_the_default_folder_is_the_presets_own_below_the_shared_models(tmp_path: Path) -> None:
    settings = here(tmp_path)

    assert model_folder(EmbedderConfig(), settings) == tmp_path / "data/models/e5-small"
    assert model_folder(EmbedderConfig(model="jina-v2-base-de"), settings) == tmp_path / "data/models/jina-v2-base-de"


def test_the_environment_moves_the_default_model_only_and_model_dir_wins(tmp_path: Path) -> None:
    settings = here(tmp_path, PASSAGEWAY_MODEL_DIR="/models/e5")

    assert model_folder(EmbedderConfig(), settings) == Path("/models/e5")
    assert model_folder(EmbedderConfig(model="multilingual-e5-base"), settings).name == "multilingual-e5-base"
    assert model_folder(EmbedderConfig(model_dir="/elsewhere"), settings) == Path("/elsewhere")


def test_an_unknown_preset_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'e5-large': no such preset; there are multilingual-e5-small, "):
        ready_model(EmbedderConfig(model="e5-large"), here(tmp_path))


def test_a_package_is_asked_once(tmp_path: Path) -> None:
    package = Package()

    manifest = fill(tmp_path, package.installed())
    found = find_model(SMALL, tmp_path, package.installed())

    assert found is not None
    assert found.name == manifest.name == "small-from-a-package"
    assert package.calls == 1


def test_another_version_of_the_package_makes_its_files_anew(tmp_path: Path) -> None:
    fill(tmp_path, Package(b"old graph").installed("1.0"))
    newer = Package(b"new graph").installed("1.1")
    assert find_model(SMALL, tmp_path, newer) is None

    fill(tmp_path, newer)

    assert (tmp_path / "model.onnx").read_bytes() == b"new graph"
    assert find_model(SMALL, tmp_path, newer) is not None


def test_a_damaged_file_of_a_package_is_not_used_and_made_again(tmp_path: Path) -> None:
    package = Package().installed()
    fill(tmp_path, package)
    (tmp_path / "model.onnx").write_bytes(b"grapf")
    assert find_model(SMALL, tmp_path, package) is None

    fill(tmp_path, package)

    assert (tmp_path / "model.onnx").read_bytes() == b"graph"


def test_what_a_killed_fill_left_is_nobodys_own_model(tmp_path: Path) -> None:
    def killed(folder: Path) -> Provided:
        (folder / "model.onnx").write_bytes(b"gra")
        (folder / "tokenizer.json").write_bytes(b"{}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path, ModelPackage("model-package 1.0", killed))
    assert find_model(SMALL, tmp_path) is None

    fill(tmp_path, Package().installed())

    assert (tmp_path / "model.onnx").read_bytes() == b"graph"


def test_a_file_of_ones_own_in_the_way_of_a_package_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"precious")

    for _again in range(3):
        with pytest.raises(ModelError, match=r"model\.onnx has SHA-256 .* move it away"):
            fill(tmp_path, Package().installed())

    assert (tmp_path / "model.onnx").read_bytes() == b"precious"
    (tmp_path / "tokenizer.json").write_bytes(b"the other half")
    found = find_model(SMALL, tmp_path, Package().installed())
    assert found is not None and found.name.startswith("multilingual-e5-small-")


def test_a_file_of_ones_own_outlives_a_fill_that_was_killed_beside_it(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"precious")

    def killed(folder: Path) -> Provided:
        (folder / "tokenizer.json").write_bytes(b"{")
        raise OSError("killed here")

    with pytest.raises(ModelError, match="killed here"):
        fill(tmp_path, ModelPackage("a package 1.0", killed))
    with pytest.raises(ModelError, match="move it away"):
        fill(tmp_path, Package().installed())

    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_bytes() == b"precious"


def test_a_folder_that_cannot_be_written_is_no_trouble_while_its_files_are_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    package = Package()
    package.provide(tmp_path)
    (tmp_path / ".package.json").mkdir()  # stands in the way of the manifest

    assert fill(tmp_path, package.installed()).name == "small-from-a-package"
    assert "the package is asked at every start" in caplog.text


def test_a_package_that_fails_is_named_with_its_reason(tmp_path: Path) -> None:
    def failing(_folder: Path) -> Provided:
        raise RuntimeError("no weights today")

    with pytest.raises(ModelError, match=r"model-package 2\.0 could not supply .*no weights today"):
        fill(tmp_path, ModelPackage("model-package 2.0", failing))


def test_a_package_whose_file_has_another_sum_than_it_says_is_refused(tmp_path: Path) -> None:
    def lying(folder: Path) -> Provided:
        (folder / "model.onnx").write_bytes(b"graph")
        return Provided("lie", {"model.onnx": "0" * 64})

    with pytest.raises(ModelError, match=f"expected {'0' * 64}"):
        fill(tmp_path, ModelPackage("model-package 1.0", lying))

    assert find_model(SMALL, tmp_path) is None


def test_a_model_of_ones_own_is_named_by_its_content(tmp_path: Path, tiny_model: TinyModel) -> None:
    one, same, other = tmp_path / "one", tmp_path / "same", tmp_path / "other"
    tiny_model(one, "model.onnx")
    shutil.copytree(one, same)
    shutil.copytree(one, other)
    tokenizer = json.loads((other / "tokenizer.json").read_text(encoding="utf-8"))
    (other / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")

    names = [ready_model(EmbedderConfig(model_dir=str(folder)), here(tmp_path)).name for folder in (one, same, other)]

    assert names[0] == names[1] != names[2]
    assert names[0].startswith("multilingual-e5-small-")


def test_a_preset_without_known_sums_uses_the_files_its_owner_put_there(tmp_path: Path, tiny_model: TinyModel) -> None:
    folder = tmp_path / "data/models/jina-v2-base-de"
    tiny_model(folder, "onnx/model_quantized.onnx")

    found = ready_model(EmbedderConfig(model="jina-v2-base-de", download=False), here(tmp_path))

    assert found.graph == folder / "onnx/model_quantized.onnx"
    assert found.name.startswith("jina-v2-base-de-")


def test_a_file_under_a_pinned_name_with_another_sum_is_not_taken_for_ones_own(
    tmp_path: Path, tiny_model: TinyModel
) -> None:
    tiny_model(tmp_path, "onnx/model_quantized.onnx")

    assert find_model(PRESETS["multilingual-e5-base"], tmp_path) is None
    assert find_model(JINA, tmp_path) is not None


def test_nothing_is_made_or_fetched_when_the_models_are_said_to_be_ready(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="`passageway model download multilingual-e5-small`"):
        ready_model(EmbedderConfig(), here(tmp_path), offline=True)

    assert not (tmp_path / "data").exists()


def test_download_off_and_no_package_is_an_error_with_the_step_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="`passageway model download multilingual-e5-base`"):
        ready_model(EmbedderConfig(model="multilingual-e5-base", download=False), here(tmp_path))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": "x", "package": "y", "files": 3}', "\xff"])
def test_an_unusable_manifest_is_ignored_with_a_warning(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "package.json").write_text(content, encoding="latin-1")

    assert find_model(SMALL, tmp_path) is None
    assert "package.json is not usable" in caplog.text


def test_of_several_packages_for_a_preset_the_first_by_name_is_used_and_all_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = tmp_path / "another_model-9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: another-model\nVersion: 9\n", encoding="utf-8")
    points = "[passageway.models]\nmultilingual-e5-small = another_model:provide\n"
    (metadata / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    package = installed_package("multilingual-e5-small")

    assert package is not None
    assert package.label == "another-model 9"
    assert "another-model 9, passageway-model-e5" in caplog.text
    with pytest.raises(ModelError, match="another-model 9 could not supply"):
        fill(tmp_path / "folder", package)
