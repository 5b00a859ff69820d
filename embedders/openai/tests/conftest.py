import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zlib import crc32

import pytest

from passageway.embed_command import CommandEmbedder
from passageway_embedder_openai.service import Service
from passageway_embedder_openai.settings import Settings, load_settings

DIMENSION = 64


def counts(text: str) -> list[float]:
    """Words counted in buckets: enough to tell texts apart."""
    vector = [0.0] * DIMENSION
    vector[-1] = 0.01
    for word in re.findall(r"\w+", text.lower()):
        vector[crc32(word.encode()) % DIMENSION] += 1
    return vector


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """What the server says: JSON of the body, or its bytes; never, or a byte at a time."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drip: bool = False


@dataclass
class FakeAPI:
    """An HTTP server that speaks the embeddings APIs of OpenAI, Voyage and Ollama."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    script: list[Callable[[Request], Answer]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """How long a service of `make_service` would have waited, in seconds."""
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def say(self, status: int = 200, body: Any = None, times: int = 1, **how: Any) -> None:
        """Answer that many of the next requests so, instead of with vectors."""
        self.script += [lambda request: Answer(status, body, **how)] * times

    def vectors(self, *texts: str) -> list[list[float]]:
        return [counts(text) for text in texts]

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if self.script:
            return self.script.pop(0)(request)
        vectors = [counts(text) for text in request.body["input"]]
        if request.path == "/api/embed":
            return Answer(body={"model": request.body["model"], "embeddings": vectors, "total_duration": 14})
        if request.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return Answer(body={"object": "list", "data": data, "model": request.body["model"], "usage": usage})
        return Answer(404, {"error": "404 page not found"})


def handler_of(api: FakeAPI) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            api.connections += 1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = api.answer(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if answer.hang:
                api.stopped.wait(60)
                return
            data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if not answer.drip:
                self.wfile.write(data)
                return
            for byte in data:
                if api.stopped.wait(0.05):
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return Handler


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what some of these tests are about."""


@pytest.fixture
def api() -> Iterator[FakeAPI]:
    api = FakeAPI()
    server = QuietServer(("127.0.0.1", 0), handler_of(api))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    yield api
    api.stopped.set()
    server.shutdown()
    thread.join()
    server.server_close()


def settings_for(api: FakeAPI, **environ: str) -> Settings:
    path = "" if environ.get("PROVIDER") == "ollama" else "/v1"
    return load_settings({"MODEL": "toy", "BASE_URL": api.url + path, **environ})


@pytest.fixture
def make_service(api: FakeAPI) -> Iterator[Callable[..., Service]]:
    """Makes services that note in `api.waits` how long they would wait, instead of waiting."""
    made: list[Service] = []

    async def note(seconds: float) -> None:
        api.waits.append(seconds)

    def make(**environ: str) -> Service:
        made.append(Service(settings_for(api, **environ), sleep=note))
        return made[-1]

    yield make
    for service in made:
        service.close()


@pytest.fixture
def make_embedder(api: FakeAPI) -> Iterator[Callable[..., CommandEmbedder]]:
    """Makes embedders the way passageway does, with the program as a process."""
    made: list[CommandEmbedder] = []

    def make(secrets: dict[str, str] | None = None, **environ: str) -> CommandEmbedder:
        path = "" if environ.get("PROVIDER") == "ollama" else "/v1"
        env = {"MODEL": "toy", "BASE_URL": api.url + path, **environ}
        command = [sys.executable, "-m", "passageway_embedder_openai"]
        made.append(CommandEmbedder("cloud", command, env=env, secrets=secrets, min_similarity=0.5))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()
