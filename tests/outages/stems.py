"""A model of word stems behind the embedder protocol: words that begin alike lie close together.

MODEL names the model, and each has numbers of its own; PAUSE is how many seconds a request takes.
"""

import json
import os
import re
import sys
import time
import zlib

DIMENSION = 256
MODEL = os.environ["MODEL"]


def vector(text):
    numbers = [0.0] * DIMENSION
    numbers[0] = 0.01
    for word in re.findall(r"\w+", text.lower()):
        numbers[zlib.crc32(f"{MODEL} {word[:4]}".encode()) % DIMENSION] += 1.0
    return numbers


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "info":
        reply = {"name": MODEL, "dim": DIMENSION}
    else:
        time.sleep(float(os.environ["PAUSE"]))
        reply = {"vectors": [vector(text) for text in request["texts"]]}
    print(json.dumps(reply), flush=True)
