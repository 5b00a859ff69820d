"""Models that an installed package supplies, found through the entry point group `passageway.models`.

What such a package is like is known here only as far as its entry point goes: a function that fills a folder and says
what it put there.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
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
    kept = _kept(folder)
    with suppress(OSError):  # a folder that cannot be written may hold everything already
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(folder / _UNFINISHED, json.dumps(kept))
    manifest = _provided(folder, package)
    if ours and _remove_wrong(folder, _not_kept(manifest, kept)):
        manifest = _provided(folder, package)
    if wrong := damage(folder, manifest):
        _remove_added(folder, _not_kept(manifest, kept))
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


def _kept(folder: Path) -> tuple[str, ...]:
    """What stood in the folder before its first fill: it is its owner's, also for the fills after one that failed."""
    try:
        if is_unfinished(folder):
            return tuple(json.loads((folder / _UNFINISHED).read_text(encoding="utf-8") or "[]"))
        if read_manifest(folder) is None and folder.exists():
            return tuple(sorted(path.name for path in folder.iterdir()))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} cannot be read: {error}; make it readable, or name another folder") from error
    return ()


def _not_kept(manifest: Manifest, kept: Sequence[str]) -> dict[str, str]:
    """The sums of the files that the package added, by name."""
    return {name: digest for name, digest in manifest.files.items() if Path(name).parts[0] not in kept}


def _remove_added(folder: Path, files: Mapping[str, str]) -> None:
    """Leave the folder as it was, so that its owner can complete a model there; best effort, an error follows."""
    with suppress(OSError):
        for name in files:
            (folder / name).unlink(missing_ok=True)
        (folder / _UNFINISHED).unlink(missing_ok=True)


def _remove_wrong(folder: Path, files: Mapping[str, str]) -> bool:
    wrong = [
        folder / name
        for name, expected in files.items()
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
    _write_whole(folder / MANIFEST, json.dumps(values, indent=2) + "\n")


def _write_whole(path: Path, text: str) -> None:
    """Write the file, so that a crash leaves the old one or the new one."""
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
