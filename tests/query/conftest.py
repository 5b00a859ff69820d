"""A small index on disk, a deterministic embedder, and the query service on a port of its own."""

import fcntl
import shutil
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from passageway.embedder import EmbedderInfo, Kind, Vectors
from passageway.errors import EmbedderError
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter, PreparedItem
from passageway.passages import split_item
from passageway.records import Item, Section
from passageway.settings import Settings, load_settings
from passageway_query.app import create_app
from passageway_query.search import Search

PASSWORD = "correct horse battery"
AUTH = {"Authorization": f"Bearer {PASSWORD}"}
DIMENSION = 512
CHALLENGE = "CrlVwe1WSHWuTQYh3iczmx3aS-faRx6C92k9_hNxl4A"
"""That of fifty times `v`, by S256."""


class WordEmbedder:
    """An embedder of words alone: texts that share longer words are similar. It can be told to be slow or to fail."""

    def __init__(self) -> None:
        self.name = "words"
        self.failure: str | None = None
        self.release = threading.Event()
        self.release.set()

    def info(self) -> EmbedderInfo:
        if self.failure:
            raise EmbedderError(self.failure)
        return EmbedderInfo(self.name, DIMENSION, 0.35)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        assert self.release.wait(30)
        if self.failure:
            raise EmbedderError(self.failure)
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[0] = 0.1
            for word in "".join(letter if letter.isalnum() else " " for letter in text.lower()).split():
                if len(word) > 3:
                    row[1 + zlib.crc32(word[:6].encode()) % (DIMENSION - 1)] += 1
            row /= np.linalg.norm(row)
        return vectors

    def close(self) -> None:
        """Nothing to give back."""


ITEMS = [
    Item(
        id="ops/certificates.md",
        title="Rotating certificates",
        url="https://notes.example/certificates",
        version="1",
        sections=(
            Section(None, "All certificates are kept in the vault."),
            Section("Steps", "Rotate the signing certificate every March. Two people have to be present."),
        ),
        path=("Ops", "Security"),
        links=("ops/vault.md",),
        labels=("decision",),
        updated="2026-10-28T09:00:00Z",
    ),
    Item(
        id="ops/vault.md",
        title="The vault",
        url="https://notes.example/vault",
        version="1",
        sections=(Section(None, "The vault opens with three of five keys."),),
        path=("Ops",),
    ),
    Item(
        id="shop/returns.md",
        title="Return policy",
        url="https://notes.example/returns",
        version="1",
        sections=(Section(None, "Customers may return goods within thirty days of delivery."),),
        path=("Shop",),
        updated="2025-01-05",
    ),
]

Build = Callable[..., None]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def password() -> str:
    return PASSWORD


@pytest.fixture
def auth() -> dict[str, str]:
    return dict(AUTH)


@pytest.fixture
def items() -> list[Item]:
    return list(ITEMS)


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def write_index(
    data_dir: Path,
    embedder: WordEmbedder,
    name: str = "notes",
    items: Sequence[Item] = ITEMS,
    state: SourceState | None = None,
) -> None:
    """Write a source's file as sync does."""
    now = time.time()
    with IndexWriter.open(data_dir / f"{name}.db") as writer:
        writer.use_model(embedder.name, DIMENSION)
        for item in items:
            passages = split_item(item)
            vectors = embedder.embed([passage.embedded for passage in passages], "passage")
            writer.store([PreparedItem(item, passages, vectors)])
        writer.write_state(state or SourceState("ok", heartbeat=now, last_success=now, built=True))
        writer.finish()


@pytest.fixture
def build(data_dir: Path, embedder: WordEmbedder) -> Build:
    """Write a source's file: `build("notes", items)`, with a state of its own if wanted."""
    return partial(write_index, data_dir, embedder)


@pytest.fixture
def settings(data_dir: Path, tmp_path: Path) -> Settings:
    return settings_with(data_dir, tmp_path)


def settings_with(data_dir: Path, home: Path, **variables: str) -> Settings:
    return load_settings(
        {
            "HOME": str(home),
            "PASSAGEWAY_DATA_DIR": str(data_dir),
            "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
            "APP_VERSION": "9.9.9",
            **variables,
        }
    )


@pytest.fixture
def make_settings(data_dir: Path, tmp_path: Path) -> Callable[..., Settings]:
    """Settings as an environment gives them: `make_settings(PASSAGEWAY_INSTANCE="work")`."""
    return lambda **variables: settings_with(data_dir, tmp_path, **variables)


def listening() -> socket.socket:
    """A socket that listens on a free loopback port."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


@contextmanager
def served(app: FastAPI, listener: socket.socket | None = None) -> Iterator[str]:
    """The address of the application, served by a real server until the block ends."""
    listener = listener or listening()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def until(condition: Callable[[], object], wait_s: float = 20) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + wait_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.01)


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    """`wait_until(condition)`: return as soon as it holds; fail when it does not in time."""
    return until


Serve = Callable[..., str]


@pytest.fixture
def serve(settings: Settings, data_dir: Path, embedder: WordEmbedder) -> Iterator[Serve]:
    """Serve the query service over the index on disk: `serve()`, or with other settings, connectors or an error."""
    with ExitStack() as stack:

        def start(
            settings: Settings = settings, *, connectors: Sequence[str] | None = None, config_error: str | None = None
        ) -> str:
            search = None
            if config_error is None:
                search = Search(data_dir, embedder)
                stack.callback(search.close)
            app = create_app(settings, search, config_error=config_error, connectors=connectors)
            return stack.enter_context(served(app))

        yield start


@pytest.fixture
def client(build: Build, serve: Serve) -> Iterator[httpx.Client]:
    """A client without a password, of a service that knows the notes."""
    build()
    with httpx.Client(base_url=serve(connectors=["notes"])) as client:
        yield client


@pytest.fixture(scope="session")
def standing_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that knows the notes and is shared, for tests that neither change anything nor guess at passwords."""
    folder, embedder = tmp_path_factory.mktemp("standing"), WordEmbedder()
    write_index(folder, embedder)
    search = Search(folder, embedder)
    try:
        with served(create_app(settings_with(folder, folder), search, connectors=["notes"])) as url:
            yield url
    finally:
        search.close()


@pytest.fixture
def standing(standing_url: str) -> Iterator[httpx.Client]:
    """A client of the shared service."""
    with httpx.Client(base_url=standing_url, timeout=20) as client:
        yield client


@asynccontextmanager
async def connected(url: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client with the password, in the newest era or (`legacy`) the one before it."""
    async with (
        create_mcp_http_client(headers=AUTH) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def connect() -> Callable[..., AbstractAsyncContextManager[Client]]:
    """`connect(url)`, or `connect(url, "legacy")`: the official client, connected."""
    return connected


@pytest.fixture(scope="session")
def served_on() -> Callable[..., object]:
    """`served(app, socket)`, for tests that have to know the address before there is an application."""
    return served


@pytest.fixture(scope="session")
def write_notes() -> Callable[[Path], WordEmbedder]:
    """Write the notes into a folder; the embedder they were written with comes back."""

    def write(folder: Path) -> WordEmbedder:
        embedder = WordEmbedder()
        write_index(folder, embedder)
        return embedder

    return write


@pytest.fixture(scope="session")
def settings_for() -> Callable[..., Settings]:
    """`settings_with(data_dir, home, **variables)`."""
    return settings_with


NODE_PACKAGES = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "axe-core@4.14.1",
    "mcp-remote@0.15.1",
)


@pytest.fixture(scope="session")
def node_packages() -> Path:
    """A folder with clients and tools of npm, installed once and kept; without npm or a registry, tests are skipped."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(__file__).parents[2] / ".dev" / f"npm-{zlib.crc32(repr(NODE_PACKAGES).encode()):08x}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1")
            command = [npm, "install", *quiet, "--prefix", str(folder), *NODE_PACKAGES]
            done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=240)
            if done.returncode:
                pytest.skip(f"npm cannot install {', '.join(NODE_PACKAGES)}: {done.stderr.strip()[-300:]}")
            (folder / "complete").touch()
    return folder


@pytest.fixture
def consent_page(
    build: Build,
    data_dir: Path,
    embedder: WordEmbedder,
    make_settings: Callable[..., Settings],
) -> Iterator[Callable[[str], str]]:
    """Where an app of that redirect address sends its person: `consent_page(redirect_uri)`."""
    build()
    with ExitStack() as stack:
        listener = stack.enter_context(listening())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        search = Search(data_dir, embedder)
        stack.callback(search.close)
        app = create_app(make_settings(PASSAGEWAY_BASE_URL=url), search)
        stack.enter_context(served(app, listener))

        def asked(redirect_uri: str) -> str:
            client = httpx.post(f"{url}/register", json={"redirect_uris": [redirect_uri], "client_name": "App"}).json()
            query = {
                "response_type": "code",
                "client_id": client["client_id"],
                "redirect_uri": redirect_uri,
                "code_challenge": CHALLENGE,
                "code_challenge_method": "S256",
                "state": "xyz",
            }
            return f"{url}/authorize?{urlencode(query)}"

        yield asked
