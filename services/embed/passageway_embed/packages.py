"""Models that an installed package supplies, found through the entry point group `passageway.models`.

What such a package is like is known here only as far as its entry point goes: a function that fills a folder and says
what it put there.
"""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from passageway.errors import ModelError
from passageway_embed.checksums import sha256_of

logger = logging.getLogger(__name__)

GROUP = "passageway.models"

MANIFEST = "package.json"
"""Written beside the files of a package: their name and sums, so that a folder is known again without the package."""

_UNFINISHED = ".unfinished"


class ProvidedModel(Protocol):
    """What an entry point returns: the name for the index, and each file's SHA-256 by its name in the folder."""

    @property
    def name(self) -> str: ...

    @property
    def files(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which package filled a folder, with what."""

    name: str
    package: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """An installed package with a model; `label` is its name and version."""

    label: str
    provide: Callable[[Path], ProvidedModel]


def installed_package(preset: str) -> ModelPackage | None:
    """The package that supplies the preset, or None. The first by name when there are several."""
    points = sorted(entry_points(group=GROUP, name=preset), key=_label)
    if not points:
        return None
    if len(points) > 1:
        logger.warning("%s is supplied by %s; using the first", preset, ", ".join(map(_label, points)))
    return ModelPackage(_label(points[0]), lambda folder: _call(points[0], folder))


def _label(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _call(point: EntryPoint, folder: Path) -> ProvidedModel:
    provided: ProvidedModel = point.load()(folder)
    return provided


def fill(folder: Path, package: ModelPackage) -> Manifest:
    """The manifest of the folder, now filled by the package, every sum compared. Raises ModelError.

    Files that an earlier fill left damaged or of another version are made again; others are never touched.
    """
    logger.info("%s makes its model in %s; this happens once", package.label, folder)
    ours = is_unfinished(folder) or read_manifest(folder) is not None
    with suppress(OSError):  # a folder that cannot be written may hold everything already
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _UNFINISHED).touch()
    manifest = _provided(folder, package)
    if ours and _remove_wrong(folder, manifest):
        manifest = _provided(folder, package)
    if wrong := damage(folder, manifest):
        raise ModelError(f"{wrong}. It is not what {package.label} supplies: move it away")
    try:
        _write_manifest(folder, manifest)
        (folder / _UNFINISHED).unlink(missing_ok=True)
    except OSError as error:
        logger.warning("%s cannot be written (%s), so the package is asked at every start", folder, error)
    return manifest


def is_unfinished(folder: Path) -> bool:
    """Whether a fill was cut short, so that the files there are nobody's own."""
    return (folder / _UNFINISHED).exists()


def _provided(folder: Path, package: ModelPackage) -> Manifest:
    try:
        provided = package.provide(folder)
        return Manifest(provided.name, package.label, dict(provided.files))
    except Exception as error:  # a program of someone else's: whatever it raises, the model is not there
        raise ModelError(f"{package.label} could not supply its model in {folder}: {error!r}") from error


def _remove_wrong(folder: Path, manifest: Manifest) -> bool:
    wrong = [
        folder / name
        for name, expected in manifest.files.items()
        if (folder / name).is_file() and sha256_of(folder / name) != expected
    ]
    for path in wrong:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ModelError(f"{path} is not right and cannot be replaced: {error.strerror or error}") from error
    return bool(wrong)


def damage(folder: Path, manifest: Manifest) -> str | None:
    """What is wrong with the folder's files, or None when each has the sum in the manifest."""
    for name, expected in manifest.files.items():
        if not (folder / name).is_file():
            return f"{folder / name} is missing"
        if (seen := sha256_of(folder / name)) != expected:
            return f"{folder / name} has SHA-256 {seen}, expected {expected}"
    return None


def read_manifest(folder: Path) -> Manifest | None:
    """The folder's manifest; None when there is none or it says nothing usable."""
    try:
        values = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): str(digest) for name, digest in values["files"].items()}
        return Manifest(str(values["name"]), str(values["package"]), files)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        logger.warning("%s is not usable and ignored: %s", folder / MANIFEST, error)
        return None


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    values = {"name": manifest.name, "package": manifest.package, "files": dict(manifest.files)}
    unfinished = folder / f".{MANIFEST}"
    unfinished.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(folder / MANIFEST)
