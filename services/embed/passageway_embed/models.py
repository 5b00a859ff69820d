"""Which files a preset runs on, and where they come from.

In this order: the model folder, with the pinned files of the hub, the files of a package or a model of one's own in it;
an installed model package; a download of the pinned files. A file with a known SHA-256 is compared before every use.
"""

import logging
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from passageway.config import DEFAULT_PRESET, EmbedderConfig
from passageway.errors import ModelError
from passageway.settings import Settings
from passageway_embed.checksums import sha256_of
from passageway_embed.download import Progress, fetch
from passageway_embed.packages import (
    Manifest,
    ModelPackage,
    damage,
    fill,
    installed_package,
    is_unfinished,
    read_manifest,
)
from passageway_embed.presets import PinnedFile, Preset, preset_named

logger = logging.getLogger(__name__)

GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
CHECK = "check.json"

_OWN_GRAPHS = (GRAPH, f"onnx/{GRAPH}")
_UNPINNED_GRAPHS = ("onnx/model_quantized.onnx", "model_quantized.onnx", *_OWN_GRAPHS)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is ready to be loaded.

    `name` is what an index records; `check` holds a question and its vector, to be compared once the model runs.
    """

    name: str
    preset: Preset
    folder: Path
    graph: Path
    tokenizer: Path
    check: Path | None = None


def model_folder(config: EmbedderConfig, settings: Settings) -> Path:
    """Where the preset's files are or will be: `model_dir`, else PASSAGEWAY_MODEL_DIR for the default preset."""
    if config.model_dir is not None:
        return Path(config.model_dir).expanduser().absolute()
    if config.model == DEFAULT_PRESET and settings.model_dir is not None:
        return settings.model_dir
    return settings.models_dir / preset_named(config.model).folder


def ready_model(
    config: EmbedderConfig, settings: Settings, *, offline: bool = False, progress: Progress | None = None
) -> ModelFiles:
    """The files of the configured preset, fetched or made when they are missing.

    `offline` forbids both for this call, as `download = false` forbids the download always. Raises ModelError saying
    what was looked for and which command helps, SettingsError for an unknown preset.
    """
    preset = preset_named(config.model)
    folder = model_folder(config, settings)
    package = installed_package(preset.name)
    found = find_model(preset, folder, package)
    if found is None and package is not None and not offline:
        found = _of_package(preset, folder, fill(folder, package))
    if found is None:
        hub = settings.model_hub if config.download and not offline else None
        found = fetched_model(preset, folder, hub, progress)
    return found


def fetched_model(preset: Preset, folder: Path, hub: str | None, progress: Progress | None = None) -> ModelFiles:
    """The preset's pinned files, those that are missing fetched from the hub; None stands for no hub. ModelError."""
    if preset.pin is None:
        raise ModelError(_unpinned(preset, folder))
    if hub is None:
        raise ModelError(_missing(preset, folder))
    for file in preset.pin.files:
        if _intact(folder, file) is None:
            fetch(file, preset.pin, folder, hub, progress)
    found = _pinned(preset, folder)
    if found is None:
        raise ModelError(f"{folder}: the files that were just fetched and compared are not there any more")
    return found


def find_model(preset: Preset, folder: Path, package: ModelPackage | None = None) -> ModelFiles | None:
    """The model in the folder, or None. Files of an older version of the installed package do not count."""
    return _pinned(preset, folder) or _packaged(preset, folder, package) or _own(preset, folder)


def _pinned(preset: Preset, folder: Path) -> ModelFiles | None:
    if preset.pin is None:
        return None
    graph = _intact(folder, preset.pin.graph)
    tokenizer = _intact(folder, preset.pin.tokenizer) if graph else None
    if graph is None or tokenizer is None:
        return None
    return ModelFiles(preset.pin.name, preset, folder, graph, tokenizer)


def _intact(folder: Path, file: PinnedFile) -> Path | None:
    """The file, as the hub lays it out or without the hub's subfolder."""
    for path in dict.fromkeys((folder / file.path, folder / Path(file.path).name)):
        if not path.is_file():
            continue
        if path.stat().st_size == file.size_bytes and sha256_of(path) == file.sha256:
            return path
        logger.warning("%s is not the pinned file: its SHA-256 should be %s", path, file.sha256)
    return None


def _packaged(preset: Preset, folder: Path, package: ModelPackage | None) -> ModelFiles | None:
    manifest = read_manifest(folder)
    if manifest is None or (package is not None and manifest.package != package.label):
        return None
    if wrong := damage(folder, manifest):
        logger.warning("the model of %s is damaged: %s", manifest.package, wrong)
        return None
    return _of_package(preset, folder, manifest)


def _of_package(preset: Preset, folder: Path, manifest: Manifest) -> ModelFiles:
    check = folder / CHECK if CHECK in manifest.files else None
    return ModelFiles(manifest.name, preset, folder, folder / GRAPH, folder / TOKENIZER, check)


def _own(preset: Preset, folder: Path) -> ModelFiles | None:
    """A model that its owner put there. Nobody knows its sums, so they become its name."""
    if is_unfinished(folder) or read_manifest(folder) is not None:
        return None
    tokenizer = folder / TOKENIZER
    graphs = _OWN_GRAPHS if preset.pin else _UNPINNED_GRAPHS
    graph = next((folder / name for name in graphs if (folder / name).is_file()), None)
    if graph is None or not tokenizer.is_file():
        return None
    identity = sha256(f"{sha256_of(graph)} {sha256_of(tokenizer)}".encode("ascii")).hexdigest()[:12]
    name = f"{preset.name}-{identity}"
    logger.info("using the model of one's own in %s as %s", graph.parent, name)
    check = folder / CHECK
    return ModelFiles(name, preset, folder, graph, tokenizer, check if check.is_file() else None)


def _unpinned(preset: Preset, folder: Path) -> str:
    return (
        f"{preset.name}: no model in {folder}, and no checksum of its public files is known, so nothing is "
        f"downloaded. Put {_UNPINNED_GRAPHS[0]} (or {GRAPH}) and {TOKENIZER} into that folder, "
        "or name another one with model_dir"
    )


def _missing(preset: Preset, folder: Path) -> str:
    return (
        f"{preset.name}: no usable model in {folder}, and none may be downloaded now (download = false). "
        f"Run `passageway model download {preset.name}`, here or on another machine whose folder you copy"
    )
