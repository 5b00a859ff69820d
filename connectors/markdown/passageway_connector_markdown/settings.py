"""The connector's settings, read from its environment."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from passageway_connector_markdown.patterns import Patterns
from passageway_sdk import SettingsError


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable of the environment; `default` is None when it must be given."""

    name: str
    default: str | None


SETTINGS = (
    Setting("FOLDER", None),
    Setting("INCLUDE", "*.md|*.markdown"),
    Setting("EXCLUDE", ""),
    # The core takes lines of 4 MiB (connector protocol v1), and a character that is not ASCII grows up to threefold
    # when it is escaped.
    Setting("MAX_FILE_BYTES", "1048576"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What to index: files of `folder` (absolute, links resolved) that `include` matches and `exclude` does not."""

    folder: Path
    include: Patterns
    exclude: Patterns
    max_file_bytes: int


def read_settings(env: Mapping[str, str]) -> Settings:
    """The settings in `env`. Raises SettingsError naming the setting that is wrong."""
    texts = {setting.name: env.get(setting.name, "").strip() or (setting.default or "") for setting in SETTINGS}
    return Settings(
        folder=_folder(texts["FOLDER"]),
        include=_include(texts["INCLUDE"]),
        exclude=Patterns.parse(texts["EXCLUDE"]),
        max_file_bytes=_max_file_bytes(texts["MAX_FILE_BYTES"]),
    )


def _folder(text: str) -> Path:
    if not text:
        raise SettingsError("FOLDER is not set; expected the folder to index, such as FOLDER=/home/you/notes")
    folder = Path(os.path.realpath(os.path.expanduser(text)))
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        raise SettingsError(
            f"FOLDER is {text!r}, which does not exist; correct the path, or mount the drive it is on"
        ) from None
    except OSError as error:
        raise SettingsError(f"FOLDER is {text!r}, which cannot be reached: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise SettingsError(f"FOLDER is {text!r}, which is not a folder; name the folder that holds the files")
    return folder


def _include(text: str) -> Patterns:
    if not text.strip("| "):
        raise SettingsError(f"INCLUDE is {text!r}, which holds no pattern; expected some such as '*.md|*.markdown'")
    return Patterns.parse(text)


def _max_file_bytes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingsError(f"MAX_FILE_BYTES is {text!r}, expected a whole number of bytes above 0, such as 1048576")
    return int(text)
