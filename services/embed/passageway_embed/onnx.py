"""A model in onnxruntime: a text becomes tokens, tokens a unit vector. One text a run, never a batch.

A run of one text needs no padding, so its vector cannot depend on other texts, and on the processors this was measured
on batches were only slower (12.2 passages of 350 tokens a second alone, 10.8 in batches of 8, one thread).
"""

import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from passageway.embedder import Kind, Vectors
from passageway.errors import ModelError, SettingsError
from passageway_embed.hugepages import huge_pages
from passageway_embed.models import ModelFiles

POOLED = "sentence_embedding"
"""The output of graphs that average tokens themselves."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")

_ENOUGH_CHARACTERS = 32 * 1024
"""More than 512 tokens of the longest piece (16 characters) four times over: no need to tokenise the rest of a book."""

_PROVIDERS = {"auto": "CPUExecutionProvider", "cpu": "CPUExecutionProvider", "coreml": "CoreMLExecutionProvider"}


class OnnxModel:
    """The session and the tokenizer of one model. Thread-safe: any number of threads may ask at once."""

    def __init__(self, files: ModelFiles, device: str = "auto") -> None:
        """Load the model. Raises ModelError when the files are not a usable model, SettingsError for the device."""
        self.provider = _provider(device)
        self.name = f"{files.name}-coreml" if device == "coreml" else files.name
        self._prefixes: Mapping[Kind, str] = files.preset.prefixes
        self.min_similarity = files.preset.min_similarity
        try:
            with huge_pages():
                self._session = _session(files.graph, self.provider)
            self._tokens = TokenReader(Tokenizer.from_file(str(files.tokenizer)), files.preset.max_tokens)
        except Exception as error:  # onnxruntime and tokenizers raise plain exceptions of their own
            raise ModelError(f"{files.graph.parent} holds no usable model: {error}") from error
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        if not set(self._inputs) <= set(_INPUTS):
            raise ModelError(f"{files.graph} asks for {', '.join(self._inputs)}; expected {', '.join(_INPUTS)}")
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._output = POOLED if POOLED in outputs else outputs[0]
        self.dimension = len(self.vector("", "query"))

    def vector(self, text: str, kind: Kind) -> NDArray[np.float32]:
        """The unit vector of one text, float32 (dimension,). Raises ModelError when the model gives no direction."""
        ids = np.array([self._tokens.read(self._prefixes[kind] + text)], np.int64)
        try:
            (output,) = self._session.run([self._output], self._feed(ids))
        except Exception as error:
            raise ModelError(f"{self.name} failed on {ids.size} tokens: {error}") from error
        vector = np.asarray(output[0], np.float32)
        if vector.ndim == 2:  # one vector a token
            vector = vector.mean(axis=0)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0:
            raise ModelError(f"{self.name} gave a vector of length {length}, expected a finite one above 0")
        return vector / np.float32(length)

    def vectors(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors, one row a text, float32 (len(texts), dimension); one run a text."""
        rows = [self.vector(text, kind) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def _feed(self, ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """What the graph asks for: nothing is masked, and every token is of the first type."""
        known = dict(zip(_INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
        return {name: known[name] for name in self._inputs}


class TokenReader:
    """Token numbers of a text as the model expects them, at most `max_tokens`.

    The names of special tokens in a text (`</s>`, `<mask>`) are only words here: the tokenizer would turn them into the
    tokens themselves, and a page about tokenizers would read as several.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        special = {number: token.content for number, token in tokenizer.get_added_tokens_decoder().items()}
        self._special = frozenset(special)
        self._names = re.compile("|".join(re.escape(name) for name in special.values()) or r"(?!)")

    def read(self, text: str) -> list[int]:
        """The tokens, begun and ended as the model wants it."""
        text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no text
        ids = self._encode(text)
        if self._special.isdisjoint(ids[1:-1]):
            return ids
        normalizer = self._tokenizer.normalizer
        plain = text if normalizer is None else normalizer.normalize_str(text)  # full-width letters become names there
        broken, names = self._names.subn(lambda name: f"{name[0][0]} {name[0][1:]}", plain)
        return self._encode(broken) if names else ids  # else only unknown characters

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text[:_ENOUGH_CHARACTERS]).ids
        if len(ids) < self._max_tokens and len(text) > _ENOUGH_CHARACTERS:
            ids = self._tokenizer.encode(text).ids  # mostly white space, which the tokenizer drops
        return ids


def _session(graph: Path, provider: str) -> onnxruntime.InferenceSession:
    # The fused layer is slower on a CPU than its parts: 16.8 ms against 2.5 ms a passage of 350 tokens.
    fusions = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
    return onnxruntime.InferenceSession(graph, _options(), providers=[provider], disabled_optimizers=fusions)


def _provider(device: str) -> str:
    provider = _PROVIDERS[device]
    available = onnxruntime.get_available_providers()
    if provider not in available:
        raise SettingsError(f"device {device!r} needs {provider}, this onnxruntime has {', '.join(available)}")
    return provider


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    # A second thread makes a question anything from 0.7 to 1.1 times as fast and burns ten times the processor time;
    # several texts at once are what a second processor is for.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; warnings about the graph mean nothing to who runs it
    if saturates(platform.machine(), _cpuinfo()):
        options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def saturates(machine: str, cpuinfo: str) -> bool:
    """Whether 8-bit products may overflow 16-bit sums, so that the slower exact way is needed.

    So it is on x86 processors without VNNI. With it the exact way is only 1.6 times slower.
    """
    return machine in ("x86_64", "AMD64") and re.search(r"^flags\b.*\bavx(512)?_vnni\b", cpuinfo, re.MULTILINE) is None


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux: nothing is known, so the exact way
        return ""
