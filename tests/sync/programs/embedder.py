"""A deterministic embedder: words hashed into buckets. It notes every text in the file named in TEXTS.

NAME and DIM name the model; while the file named in BROKEN exists, every request is an error.
"""

import json
import os
import re
import sys
import zlib
from pathlib import Path

name, dim = os.environ.get("NAME", "toy"), int(os.environ.get("DIM", "64"))


def embed(text):
    vector = [0.0] * dim
    for word in re.findall(r"\w+", text.lower()) or ["?"]:
        vector[zlib.crc32(word.encode()) % dim] += 1.0
    return vector


for line in sys.stdin:
    request = json.loads(line)
    if Path(os.environ["BROKEN"]).exists():
        reply = {"error": "the model is out of order"}
    elif request["op"] == "info":
        reply = {"name": name, "dim": dim}
    else:
        with open(os.environ["TEXTS"], "a", encoding="utf-8") as texts:
            texts.writelines(json.dumps(text) + "\n" for text in request["texts"])
        reply = {"vectors": [embed(text) for text in request["texts"]]}
    print(json.dumps(reply), flush=True)
