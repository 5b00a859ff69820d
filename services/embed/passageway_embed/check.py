"""A question whose vector is known, asked of a model that was just loaded: does this machine compute what it should?"""

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from passageway_embed.onnx import OnnxModel

logger = logging.getLogger(__name__)

ENOUGH = 0.99
"""Cosine. Other processors and releases of onnxruntime stay above 0.999; a kernel that overflows falls far below."""


def agreement(model: "OnnxModel", path: Path) -> float | None:
    """The cosine between the stored vector and the model's, None when the file is unusable. Warns below `ENOUGH`."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        expected = np.asarray(known["vector"], np.float32)
        seen = model.vector(known["text"], "query" if known["kind"] == "query" else "passage")
        cosine = float(expected @ seen / np.linalg.norm(expected))
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("%s cannot be compared with: %s", path, error)
        return None
    if cosine < ENOUGH:
        logger.warning(
            "%s computes other vectors here than it should: cosine %.3f on a known question, expected %.2f or more. "
            "Answers will be worse; please report the processor and the version of onnxruntime",
            model.name,
            cosine,
            ENOUGH,
        )
    return cosine
