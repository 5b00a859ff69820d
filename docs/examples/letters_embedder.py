#!/usr/bin/env python3
"""A toy embedder: runs of three letters, counted in 256 buckets. Put your model into embed()."""

import json
import sys
from zlib import crc32

NAME = "letters-256"
DIMENSION = 256


def embed(texts, kind):
    """A list of DIMENSION numbers for each text. `kind` is "query" or "passage"; a toy treats them alike."""
    return [counts(text) for text in texts]


def counts(text):
    vector = [0] * DIMENSION
    for word in text.lower().split():
        for start in range(len(word) + 1):
            letters = f" {word} "[start : start + 3]
            vector[crc32(letters.encode()) % DIMENSION] += 1
    return vector


def reply(request):
    if request["op"] == "info":
        return {"name": NAME, "dim": DIMENSION}
    return {"vectors": embed(request["texts"], request["kind"])}


for line in sys.stdin:
    try:
        message = reply(json.loads(line))
    except Exception as error:  # this request failed; the next one may not
        message = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(message), flush=True)
