"""Builds `model.onnx`: the encoder with 8-bit matrices, mean pooling and unit length inside.

Input `input_ids` int64 (1, tokens), output `sentence_embedding` float32 (1, 384). There is no mask, so every run holds
one text without padding and a vector never depends on other texts. The order of nodes and names is part of the result:
the file has the same bytes on every machine.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from passageway_model_e5.container import Blocks, Container
from passageway_model_e5.outliers import divisors

_MICROSOFT = "com.microsoft"
_OPSET = 21
_IR_VERSION = 10
_LARGEST_INT8 = 127


class _Graph:
    """Nodes and constants in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._names: set[str] = set()

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        if name not in self._names:
            self._names.add(name)
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def packed(self, name: str, shape: Sequence[int], content: bytes) -> str:
        """A 4-bit constant, two values a byte."""
        tensor = TensorProto(name=name, data_type=TensorProto.INT4, dims=shape, raw_data=content)
        self.constants.append(tensor)
        return name

    def node(self, kind: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """The name of the new node's output."""
        name = f"{kind}_{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}_o"], name=name, domain=domain, **attributes))
        return f"{name}_o"

    def thirds(self, tensor: str) -> list[str]:
        """The three outputs of a node that cuts the last axis into three."""
        name = f"Split_{len(self.nodes) + 1}"
        outputs = [f"{name}_o{number}" for number in range(3)]
        self.nodes.append(helper.make_node("Split", [tensor], outputs, name=name, domain="", axis=-1, num_outputs=3))
        return outputs


def build_model(weights: Container) -> bytes:
    """The serialised graph."""
    graph = _Graph()
    state = _embeddings(graph, weights)
    for layer in range(weights.sizes.layers):
        state = _attention(graph, weights, f"l{layer}", state)
        state = _feed_forward(graph, weights, f"l{layer}", state)
    pooled = graph.node("ReduceMean", [state, graph.constant("ax1", np.array([1], np.int64))], keepdims=0)
    unit = graph.node("LpNormalization", [pooled], axis=-1, p=2)
    graph.nodes.append(helper.make_node("Identity", [unit], ["sentence_embedding"], name="out"))
    return _serialised(graph, weights.sizes.hidden)


def _serialised(graph: _Graph, hidden: int) -> bytes:
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "seq"])
    vector = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", hidden])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "e5", [ids], [vector], graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)],
        ir_version=_IR_VERSION,
        producer_name="e5-convert",
        producer_version="1",
    )
    return bytes(model.SerializeToString(deterministic=True))


def _embeddings(graph: _Graph, weights: Container) -> str:
    """Token vectors, straight from the 4-bit table, plus positions; normalised."""
    hidden = weights.sizes.hidden
    table = weights.blocks("emb.word", hidden)
    graph.packed("emb.word.q4", [weights.sizes.vocabulary, hidden], _signed_nibbles(table).tobytes())
    graph.constant("emb.word.s", table.scales.astype(np.float32))
    tokens = graph.node(
        "GatherBlockQuantized",
        ["emb.word.q4", "input_ids", "emb.word.s"],
        domain=_MICROSOFT,
        block_size=32,
        gather_axis=0,
        quantize_axis=1,
    )
    # Every token is of the first type, so its vector is added to the positions once and for all.
    positions = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type").reshape(-1, hidden)[0]
    graph.constant("emb.pos", positions.astype(np.float32))
    length = graph.node("Shape", ["input_ids"], start=1, end=2)
    zero = graph.constant("c0", np.array([0], np.int64))
    axis = graph.constant("ax0", np.array([0], np.int64))
    places = graph.node("Slice", ["emb.pos", zero, length, axis])
    return _normalised_sum(graph, weights, tokens, places, "emb.ln")


def _attention(graph: _Graph, weights: Container, layer: str, state: str) -> str:
    mixed = _linear(graph, weights, f"{layer}.qkv", [f"{layer}.{part}" for part in "qkv"], state)
    inputs = [*graph.thirds(mixed), "", ""]  # no bias and no mask
    context = graph.node("MultiHeadAttention", inputs, domain=_MICROSOFT, num_heads=weights.sizes.heads)
    output = _linear(graph, weights, f"{layer}.ao", [f"{layer}.ao"], context)
    return _normalised_sum(graph, weights, output, state, f"{layer}.aln")


def _feed_forward(graph: _Graph, weights: Container, layer: str, state: str) -> str:
    wide = graph.node("Gelu", [_linear(graph, weights, f"{layer}.fi", [f"{layer}.fi"], state)])
    output = _linear(graph, weights, f"{layer}.fo", [f"{layer}.fo"], wide)
    return _normalised_sum(graph, weights, output, state, f"{layer}.oln")


def _normalised_sum(graph: _Graph, weights: Container, left: str, right: str, name: str) -> str:
    """LayerNormalization(left + right) as two nodes.

    The fused SkipLayerNormalization of onnxruntime 1.32 is slower on a CPU: 16.8 ms against 2.5 ms a passage of 350
    tokens.
    """
    scale = graph.constant(f"{name}.w", weights.vector(f"{name}.w"))
    bias = graph.constant(f"{name}.b", weights.vector(f"{name}.b"))
    total = graph.node("Add", [left, right])
    return graph.node("LayerNormalization", [total, scale, bias], axis=-1, epsilon=weights.sizes.epsilon)


def _linear(graph: _Graph, weights: Container, name: str, parts: Sequence[str], state: str) -> str:
    """state · Wᵀ + b with 8-bit weights, the parts side by side, outliers divided out of the state first."""
    columns = weights.sizes.feed_forward if name.endswith(".fo") else weights.sizes.hidden
    matrix = np.concatenate([weights.blocks(f"{part}.w", columns).matrix() for part in parts])
    outliers = divisors(name, columns)
    if outliers is not None:
        inverse = graph.constant(f"{name}.inv", (1.0 / outliers).astype(np.float32))
        state = graph.node("Mul", [state, inverse])
        matrix = matrix * outliers[None, :]
    bias = graph.constant(f"{name}.b", np.concatenate([weights.vector(f"{part}.b") for part in parts]))
    whole, scales = _eight_bit(matrix)
    graph.constant(f"{name}.w", whole.T)
    graph.constant(f"{name}.s", scales)
    graph.constant(f"{name}.z", np.zeros(len(scales), np.int8))
    inputs = [state, f"{name}.w", f"{name}.s", f"{name}.z", bias]
    return graph.node("DynamicQuantizeMatMul", inputs, domain=_MICROSOFT)


def _eight_bit(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(int8 (rows, columns), float32 (rows,)): one scale a row, so that its largest weight becomes ±127."""
    scales = np.abs(matrix).max(1) / _LARGEST_INT8
    scales[scales == 0] = 1
    whole = np.clip(np.rint(matrix / scales[:, None]), -_LARGEST_INT8, _LARGEST_INT8)
    return whole.astype(np.int8), scales.astype(np.float32)


def _signed_nibbles(table: Blocks) -> NDArray[np.uint8]:
    """Nibbles 0 to 15 as signed 4-bit values -8 to 7, the even column in the low half of a byte."""
    signed = (table.nibbles.reshape(len(table.nibbles), -1) + np.uint8(8)) & np.uint8(15)  # -8 and +8 agree modulo 16
    return np.asarray(signed[:, 0::2] | (signed[:, 1::2] << np.uint8(4)), np.uint8)
