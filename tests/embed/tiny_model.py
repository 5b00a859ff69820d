"""`tiny_model.py FOLDER GRAPH`: a model of a few words and four numbers, laid out like those of the hub."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = {"<s>": 0, "</s>": 1, "<unk>": 2, "tea": 3, "bread": 4, "query": 5, "passage": 6, "poison": 7}


def graph() -> onnx.ModelProto:
    """One vector a token from three inputs, not pooled: what `onnx/model_quantized.onnx` gives."""
    table = np.eye(len(WORDS), 4, k=-3, dtype=np.float32) + 0.01
    table[WORDS["poison"]] = np.nan
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["vectors", "wide"], ["masked"]),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["types", "last"], ["wide_types"]),
        helper.make_node("Add", ["masked", "wide_types"], ["last_hidden_state"]),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 4])
    constants = [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2]), "last")]
    whole = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tokenizer() -> Tokenizer:
    """Words between spaces, with the begin and end of a text."""
    made = Tokenizer(models.WordLevel(WORDS, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(["<s>", "</s>", "<unk>"])
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    return made


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    (folder / sys.argv[2]).write_bytes(graph().SerializeToString())
    tokenizer().save(str(folder / "tokenizer.json"))
