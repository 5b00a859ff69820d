"""The folders that a measurement writes to, found fit for it before anything is measured."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from passageway.config import Config
from passageway.errors import SettingsError
from passageway.settings import Settings


@contextmanager
def index_folder(kept: Path | None) -> Iterator[Path]:
    """The folder to keep the index in, or one that is gone afterwards."""
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="passageway-eval-") as folder:
        yield Path(folder)


def prepare_kept_folder(folder: Path, settings: Settings, config: Config) -> None:
    """Create the folder if need be. Raises SettingsError for the live one, one with other sources in it, or one that
    cannot be written."""
    if folder.resolve() == settings.data_dir.resolve():
        raise SettingsError(
            f"--data-dir {folder} is the folder that the server serves from; name another, such as eval-index"
        )
    make_folder("--data-dir", folder)
    strangers = {path.stem for path in folder.glob("*.db")} - {connector.name for connector in config.connectors}
    if strangers:
        raise SettingsError(
            f"--data-dir {folder} also holds {', '.join(sorted(strangers))}, which the configuration does not name; "
            "passages from there would be found too, so delete the files or name another folder"
        )


def make_folder(option: str, folder: Path) -> None:
    """Create the folder that an option names, if need be. Raises SettingsError when it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{option} {folder} is no folder and cannot become one: {error}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SettingsError(f"{option} {folder} is not to be written to; look at its owner and permissions")
