"""What `passageway model list` shows and what `passageway model download` does."""

from dataclasses import dataclass
from pathlib import Path

from passageway.config import EmbedderConfig
from passageway.settings import Settings
from passageway_embed.download import Progress
from passageway_embed.models import find_model, model_folder, ready_model
from passageway_embed.packages import installed_package
from passageway_embed.presets import PRESETS, Preset


@dataclass(frozen=True, slots=True)
class PresetRow:
    """One line of the list; `size` is of a download, `status` says where the files are or would come from."""

    name: str
    dimension: int
    min_similarity: float
    size: str
    status: str


def preset_rows(config: EmbedderConfig, settings: Settings) -> list[PresetRow]:
    """Every preset, the default first. Files that are there are compared with their sums."""
    return [
        PresetRow(
            preset.name, preset.dimension, preset.min_similarity, _size(preset), _status(preset, config, settings)
        )
        for preset in PRESETS.values()
    ]


def download_preset(name: str, config: EmbedderConfig, settings: Settings, progress: Progress | None = None) -> Path:
    """The folder that holds the preset, fetched or made if it was missing. Raises SettingsError or ModelError.

    Also with `download = false`: asking for it is the step that this setting leaves to its owner.
    """
    return ready_model(_config_of(name, config), settings, progress=progress).folder


def _config_of(name: str, config: EmbedderConfig) -> EmbedderConfig:
    """The preset's own configuration: `model_dir` belongs to the model it was written for."""
    own_folder = config.model_dir if config.kind == "onnx" and config.model == name else None
    return EmbedderConfig(model=name, model_dir=own_folder)


def _size(preset: Preset) -> str:
    return "–" if preset.pin is None else f"{preset.pin.size_bytes / 1e6:.0f} MB"


def _status(preset: Preset, config: EmbedderConfig, settings: Settings) -> str:
    folder = model_folder(_config_of(preset.name, config), settings)
    package = installed_package(preset.name)
    if (found := find_model(preset, folder, package)) is not None:
        return f"{found.name} in {found.folder}"
    if package is not None:
        return f"made from {package.label} at the first start"
    if preset.pin is None:
        return f"no checksum known: put its files into {folder}"
    return f"not here; `passageway model download {preset.name}` fetches it"
