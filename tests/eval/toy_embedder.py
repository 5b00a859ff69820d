"""Counts of words as vectors, behind the embedder protocol. Settings: NAME, DIM, and FAIL_ON, a word in a text that
makes a request fail."""

import json
import os
import re
import sys
import zlib

NAME = os.environ.get("NAME", "toy")
DIM = int(os.environ.get("DIM", "512"))


def vector(text: str) -> list[float]:
    counts = [0.0] * DIM
    counts[0] = 0.05  # a text without words has a direction, too
    for word in re.findall(r"\w{4,}", text.casefold()):
        counts[zlib.crc32(word.encode()) % (DIM - 1) + 1] += 1.0
    return counts


def answer(request: dict[str, object]) -> dict[str, object]:
    if request["op"] == "info":
        return {"name": NAME, "dim": DIM}
    texts = request["texts"]
    assert isinstance(texts, list)
    fail_on = os.environ.get("FAIL_ON")
    if fail_on and any(fail_on in text for text in texts):
        return {"error": "told to fail"}
    return {"vectors": [vector(text) for text in texts]}


for line in iter(sys.stdin.readline, ""):
    print(json.dumps(answer(json.loads(line))), flush=True)
