"""The built-in models: what each needs to know about itself, and which files of the hub are its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from passageway.config import DEFAULT_PRESET
from passageway.embedder import Kind
from passageway.errors import SettingsError
from passageway.settings import DEFAULT_PRESET_FOLDER


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of a hub repository: its path there, its SHA-256 in hexadecimal and its size."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Pin:
    """One revision of a hub repository. `name` is what an index records when these files are used."""

    name: str
    repository: str
    revision: str
    graph: PinnedFile
    tokenizer: PinnedFile

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """All that a download fetches, the small file first."""
        return self.tokenizer, self.graph

    @property
    def size_bytes(self) -> int:
        """Of a whole download."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Preset:
    """A model by its name in the configuration.

    `min_similarity` is the gate, a cosine measured on the sample corpus; `prefixes` go in front of every text of a
    kind; a text is cut at `max_tokens`; `pin` is None when no checksum of its public files is known.
    """

    name: str
    folder: str
    dimension: int
    min_similarity: float
    prefixes: Mapping[Kind, str]
    pin: Pin | None
    max_tokens: int = 512


_E5_PREFIXES: Mapping[Kind, str] = MappingProxyType({"query": "query: ", "passage": "passage: "})
_NO_PREFIXES: Mapping[Kind, str] = MappingProxyType({"query": "", "passage": ""})

# Revisions and sums as several independent public projects pin them; the sums of both tokenizers were also reached by
# building the files anew.
_SMALL = Pin(
    name="multilingual-e5-small-int8",
    repository="Xenova/multilingual-e5-small",
    revision="761b726dd34fb83930e26aab4e9ac3899aa1fa78",
    graph=PinnedFile(
        "onnx/model_quantized.onnx",
        "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
        118_308_185,
    ),
    tokenizer=PinnedFile(
        "tokenizer.json", "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39", 17_082_730
    ),
)
_BASE = Pin(
    name="multilingual-e5-base-int8",
    repository="Xenova/multilingual-e5-base",
    revision="1ec9243030a27d1a115d5c340572074c125b58b2",
    graph=PinnedFile(
        "onnx/model_quantized.onnx",
        "df7a9a29309e3ad491e1783adf8baee710262cc06079c7cbab63c630277fac94",
        278_647_662,
    ),
    tokenizer=PinnedFile(
        "tokenizer.json", "62c24cdc13d4c9952d63718d6c9fa4c287974249e16b7ade6d5a85e7bbb75626", 17_082_660
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(DEFAULT_PRESET, DEFAULT_PRESET_FOLDER, 384, 0.845, _E5_PREFIXES, _SMALL),
            Preset("multilingual-e5-base", "multilingual-e5-base", 768, 0.83, _E5_PREFIXES, _BASE),
            Preset("jina-v2-base-de", "jina-v2-base-de", 768, 0.56, _NO_PREFIXES, None),
        )
    }
)


def preset_named(name: str) -> Preset:
    """The preset. Raises SettingsError listing the names there are."""
    try:
        return PRESETS[name]
    except KeyError:
        raise SettingsError(f"model {name!r}: no such preset; there are {', '.join(PRESETS)}") from None
