"""`passageway.toml`: the embedder and the sources, checked key by key."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from passageway.embedder import DEFAULT_MIN_SIMILARITY
from passageway.errors import SettingsError
from passageway.secrets import check_reference

DEFAULT_PRESET = "multilingual-e5-small"

CALL_TIMEOUT_S = 300.0
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""For one call of a connector: 50 items at most, so a megabyte for each."""

_NAME = r"^[a-z0-9][a-z0-9_-]*$"

Command = Annotated[list[str], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


def _check_references(secrets: dict[str, str]) -> dict[str, str]:
    for name, reference in secrets.items():
        try:
            check_reference(reference, f"secret {name!r}")
        except SettingsError as error:
            raise ValueError(str(error)) from None
    return secrets


class ConnectorConfig(_Table):
    """One `[[connector]]`: a source with an index file of its own. Times in seconds, sizes in bytes."""

    name: Annotated[str, Field(pattern=_NAME, max_length=64)]
    command: Command
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    timeout: Annotated[float, Field(gt=0)] = CALL_TIMEOUT_S
    max_line_bytes: Annotated[int, Field(ge=1)] = MAX_LINE_BYTES
    max_output_bytes: Annotated[int, Field(ge=1)] = MAX_OUTPUT_BYTES
    max_delete_fraction: Annotated[float, Field(ge=0, le=1)] = 0.3

    _references = field_validator("secrets")(_check_references)


class EmbedderConfig(_Table):
    """`[embedder]` or `[embedders.NAME]`. `min_similarity` None means the preset's measured gate."""

    kind: Literal["onnx", "command"] = "onnx"
    min_similarity: Annotated[float, Field(ge=0, le=1)] | None = None
    model: str = DEFAULT_PRESET
    device: Literal["auto", "cpu", "coreml"] = "auto"
    download: bool = True
    model_dir: str | None = None
    command: Command | None = None
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    batch_size: Annotated[int, Field(ge=1, le=1024)] = 32
    timeout: Annotated[float, Field(gt=0)] = 60

    _references = field_validator("secrets")(_check_references)

    @model_validator(mode="after")
    def _keys_belong_to_the_kind(self) -> "EmbedderConfig":
        own = {
            "onnx": {"model", "device", "download", "model_dir"},
            "command": {"command", "env", "secrets", "batch_size", "timeout"},
        }
        other = own["command" if self.kind == "onnx" else "onnx"]
        strays = sorted(self.model_fields_set & other)
        if strays:
            raise ValueError(f"{', '.join(strays)} does not belong to kind = {self.kind!r}")
        if self.kind == "command" and self.command is None:
            raise ValueError("kind = 'command' needs a command")
        return self

    def gate(self, measured: float | None) -> float:
        """The similarity gate: the configured one, else the preset's measured one, else the default."""
        if self.min_similarity is not None:
            return self.min_similarity
        return DEFAULT_MIN_SIMILARITY if measured is None else measured


class Config(_Table):
    """A whole `passageway.toml`."""

    embedder: EmbedderConfig = EmbedderConfig()
    embedders: dict[Annotated[str, Field(pattern=_NAME)], EmbedderConfig] = {}
    connectors: Annotated[list[ConnectorConfig], Field(alias="connector")] = []

    @field_validator("connectors")
    @classmethod
    def _names_are_unique(cls, connectors: list[ConnectorConfig]) -> list[ConnectorConfig]:
        seen: set[str] = set()
        for connector in connectors:
            if connector.name in seen:
                raise ValueError(f"two connectors are named {connector.name!r}; a name is one index file")
            seen.add(connector.name)
        return connectors


def parse_config(text: str, where: str = "passageway.toml") -> Config:
    """The configuration in TOML text. Raises SettingsError listing every problem with its place."""
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{where}: not valid TOML: {error}") from error
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        problems = "; ".join(
            _problem(detail["loc"], detail["msg"], detail["type"], tables) for detail in error.errors()
        )
        raise SettingsError(f"{where}: {problems}") from None


def load_config(path: Path) -> Config:
    """The configuration in the file. Raises SettingsError when it is missing, not UTF-8 or wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SettingsError(f"{path} does not exist; `passageway init` writes one to fill in") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    return parse_config(text, str(path))


def _problem(place: tuple[int | str, ...], message: str, kind: str, tables: dict[str, Any]) -> str:
    """`connector 'notes': timeout: Input should be greater than 0`: never the value, which may be a secret."""
    parts: list[str] = []
    for key in place:
        if isinstance(key, int) and parts and parts[-1] == "connector":
            entries = tables.get("connector")
            entry = entries[key] if isinstance(entries, list) and key < len(entries) else None
            name = entry.get("name") if isinstance(entry, dict) else None
            parts[-1] = f"connector {name!r}" if isinstance(name, str) else f"connector number {key + 1}"
        else:
            parts.append(str(key))
    if kind == "missing":
        return f"{': '.join(parts)}: missing"
    if kind == "extra_forbidden":
        return f"{': '.join(parts)}: unknown key, a typo?"
    return f"{': '.join(parts)}: {message.removeprefix('Value error, ')}"
