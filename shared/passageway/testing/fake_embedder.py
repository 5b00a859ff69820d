"""An embedder for tests: words hashed into buckets, `python -m passageway.testing.fake_embedder`.

Settings, all in the environment:

FAKE_NAME        the model's name; `fake-hash` by default
FAKE_DIM         numbers in a vector; 64 by default
FAKE_LOG         a file that gets a line at every start (`start`) and for every request (`embed query 3`)
FAKE_DELAY       seconds before each reply to `embed`
FAKE_MISBEHAVE   one of the names in MISBEHAVIOURS
FAKE_ONCE        when set to `1`, only the first process that writes to FAKE_LOG misbehaves

Only the standard library is needed here, so that it starts quickly.
"""

import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

_HOUR_S = 3600
_DIMENSION = int(os.environ.get("FAKE_DIM", "64"))

_PENDULUM = itertools.cycle([1000.0, -1000.0, 1000.0])

_Message = dict[str, Any]


def main() -> None:
    """Answer requests until stdin ends."""
    first = _log("start") == 1
    misbehaviour = os.environ.get("FAKE_MISBEHAVE", "")
    if misbehaviour and misbehaviour not in MISBEHAVIOURS:
        sys.exit(f"fake embedder: FAKE_MISBEHAVE is {misbehaviour!r}, expected one of {', '.join(MISBEHAVIOURS)}")
    if os.environ.get("FAKE_ONCE") == "1" and not first:
        misbehaviour = ""
    for line in sys.stdin:
        request = json.loads(line)
        reply = _reply(request)
        if misbehaviour:
            reply = MISBEHAVIOURS[misbehaviour](request, reply)
        _print(json.dumps(reply))


def embed(text: str) -> list[float]:
    """How often words of each bucket are in the text; the last number is there for a text without words."""
    vector = [0.0] * _DIMENSION
    vector[-1] = 0.01
    for word in re.findall(r"\w+", text.lower()):
        bucket = hashlib.blake2b(word.encode(), digest_size=4).digest()
        vector[int.from_bytes(bucket, "big") % _DIMENSION] += 1.0
    return vector


def _reply(request: _Message) -> _Message:
    if request["op"] == "info":
        _log("info")
        return {"name": os.environ.get("FAKE_NAME", "fake-hash"), "dim": _DIMENSION}
    _log(f"embed {request['kind']} {len(request['texts'])}")
    time.sleep(float(os.environ.get("FAKE_DELAY", "0")))
    return {"vectors": [embed(text) for text in request["texts"]]}


def _log(line: str) -> int:
    """How many processes have started so far, this one included."""
    path = os.environ.get("FAKE_LOG")
    if not path:
        return 1
    with open(path, "a", encoding="utf-8") as log:
        log.write(line + "\n")
    return Path(path).read_text(encoding="utf-8").splitlines().count("start")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _die(request: _Message, reply: _Message) -> NoReturn:
    print(f"out of luck with {os.environ.get('FAKE_SECRET', 'nothing')}", file=sys.stderr)
    sys.exit(4)


def _die_mid_reply(request: _Message, reply: _Message) -> NoReturn:
    sys.stdout.write(json.dumps(reply)[:-20])
    sys.stdout.flush()
    _die(request, reply)


def _hang(request: _Message, reply: _Message) -> NoReturn:
    child = subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({_HOUR_S})"])
    print(f"child {child.pid}", file=sys.stderr, flush=True)
    while True:
        time.sleep(_HOUR_S)


def _endless_line(request: _Message, reply: _Message) -> NoReturn:
    while True:
        sys.stdout.write("1" * 65_536)


def _chatter(request: _Message, reply: _Message) -> _Message:
    _print("loading the model")
    return reply


def _answer_twice(request: _Message, reply: _Message) -> NoReturn:
    """Twice in one write, so that both are there when the first is read."""
    _print(f"{json.dumps(reply)}\n{json.dumps(reply)}")
    _hang(request, reply)


def _flood(request: _Message, reply: _Message) -> NoReturn:
    _print(f"{json.dumps(reply)}\n")
    while True:
        sys.stdout.write("more and more\n")


def _blank_line(request: _Message, reply: _Message) -> _Message:
    _print("")
    return reply


def _close_output(request: _Message, reply: _Message) -> NoReturn:
    os.close(1)
    _hang(request, reply)


def _blind(reply: _Message) -> _Message:
    return {"vectors": [[1.0] * len(vector) for vector in reply["vectors"]]}


def _unless(good: Callable[[str], bool], request: _Message, reply: _Message) -> _Message:
    return reply if all(map(good, request["texts"])) else {"error": "cannot read this text"}


def _on(op: str, misbehave: Callable[[_Message, _Message], _Message]) -> Callable[[_Message, _Message], _Message]:
    return lambda request, reply: misbehave(request, reply) if request["op"] == op else reply


def _with_vectors(change: Callable[[list[list[Any]]], object]) -> Callable[[_Message, _Message], _Message]:
    return _on("embed", lambda request, reply: {"vectors": change(reply["vectors"])})


def _with_error(text: object) -> Callable[[_Message, _Message], _Message]:
    return _on("embed", lambda request, reply: {"error": text})


MISBEHAVIOURS: Mapping[str, Callable[[_Message, _Message], _Message]] = {
    "die": _on("embed", _die),
    "die-mid-reply": _on("embed", _die_mid_reply),
    "die-at-info": _on("info", _die),
    "hang": _on("embed", _hang),
    "hang-at-info": _on("info", _hang),
    "endless-line": _on("embed", _endless_line),
    "close-output": _on("embed", _close_output),
    "chatter": _on("info", _chatter),
    "chatter-later": _on("embed", _chatter),
    "answer-twice": _on("embed", _answer_twice),
    "flood": _on("embed", _flood),
    "blank-line": _blank_line,
    "error": _with_error(f"the service refused the key {os.environ.get('FAKE_SECRET', '')}"),
    "error-at-info": _on("info", lambda request, reply: {"error": "the service is down"}),
    "error-no-text": _with_error({"code": 7}),
    "no-object": _on("embed", lambda request, reply: reply["vectors"]),
    "no-vectors": _on("embed", lambda request, reply: {}),
    "too-few": _with_vectors(lambda vectors: vectors[1:]),
    "too-many": _with_vectors(lambda vectors: vectors + vectors[:1]),
    "too-short": _with_vectors(lambda vectors: [*vectors[:-1], vectors[-1][1:]]),
    "text-in-vector": _with_vectors(lambda vectors: [["1", *vectors[0][1:]], *vectors[1:]]),
    "null-in-vector": _with_vectors(lambda vectors: [[None, *vectors[0][1:]], *vectors[1:]]),
    "nan": _with_vectors(lambda vectors: [[float("nan"), *vectors[0][1:]], *vectors[1:]]),
    "infinite": _with_vectors(lambda vectors: [[float("inf"), *vectors[0][1:]], *vectors[1:]]),
    "zero": _with_vectors(lambda vectors: [*vectors[:-1], [0] * len(vectors[-1])]),
    "constant": _with_vectors(lambda vectors: [[1] * len(vector) for vector in vectors]),
    "shuffled": _with_vectors(lambda vectors: vectors[::-1]),
    "restless": _with_vectors(lambda vectors: [[next(_PENDULUM), *vector[1:]] for vector in vectors]),
    "no-question": _on("embed", lambda request, reply: _blind(reply) if request["kind"] == "query" else reply),
    "ascii-only": _on("embed", lambda request, reply: _unless(str.isascii, request, reply)),
    "short-only": _on("embed", lambda request, reply: _unless(lambda text: len(text) < 1000, request, reply)),
    "big-numbers": _with_vectors(lambda vectors: [[number * 1e300 for number in vector] for vector in vectors]),
    "wrong-version": _on("info", lambda request, reply: {**reply, "protocol": "2"}),
    "no-name": _on("info", lambda request, reply: {"dim": 64}),
    "no-dim": _on("info", lambda request, reply: {"name": "x", "dim": 0}),
}

if __name__ == "__main__":
    main()
