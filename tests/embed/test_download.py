"""Downloads from a real HTTP server on this machine, which can be cut, wrong, slow to recover or a mirror."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from passageway.config import EmbedderConfig
from passageway.errors import ModelError
from passageway.settings import load_settings
from passageway_embed.download import ATTEMPTS, fetch
from passageway_embed.models import fetched_model, find_model, ready_model
from passageway_embed.presets import PRESETS, Pin, PinnedFile, Preset

GRAPH = bytes(range(256)) * 4096  # 1 MB
TOKENIZER = b'{"version": "1.0"}'


def pinned(path: str, content: bytes) -> PinnedFile:
    return PinnedFile(path, hashlib.sha256(content).hexdigest(), len(content))


PIN = Pin(
    name="tiny-int8",
    repository="someone/tiny",
    revision="0123456789abcdef",
    graph=pinned("onnx/model_quantized.onnx", GRAPH),
    tokenizer=pinned("tokenizer.json", TOKENIZER),
)
PRESET = Preset("tiny", "tiny", 4, 0.5, PRESETS["jina-v2-base-de"].prefixes, PIN)


class Hub(ThreadingHTTPServer):
    """Serves files under the hub's paths and notes what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        base = f"/{PIN.repository}/resolve/{PIN.revision}"
        self.files = {f"{base}/{PIN.graph.path}": GRAPH, f"{base}/{PIN.tokenizer.path}": TOKENIZER}
        self.requests: list[tuple[str, str | None]] = []
        self.cuts: list[int] = []
        """Bytes after which each of the next answers breaks off."""
        self.statuses: list[int] = []
        """What each of the next requests is answered with instead."""
        self.ranges = True

    def asked(self, name: str) -> list[str | None]:
        """The Range of each request for the file."""
        return [asked for path, asked in self.requests if path.endswith(name)]


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        if self.server.statuses and (status := self.server.statuses.pop(0)) != 200:
            self.send_error(status)
            return
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        if self.server.cuts:
            body = body[: self.server.cuts.pop(0)]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def running_hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as server:
        yield server


def test_a_fetched_preset_has_its_pinned_files_and_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    found = fetched_model(PRESET, tmp_path, hub.url)
    again = fetched_model(PRESET, tmp_path, hub.url)

    assert (found.name, found.folder) == ("tiny-int8", tmp_path)
    assert found.graph.read_bytes() == GRAPH
    assert again == found
    assert len(hub.requests) == 2
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "model_quantized.onnx",
        "tokenizer.json",
    ]


def test_a_cut_transfer_goes_on_where_it_was_cut(hub: Hub, tmp_path: Path) -> None:
    hub.cuts = [300_000, 200_000]

    path = fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert path.read_bytes() == GRAPH
    assert hub.asked("model_quantized.onnx") == [None, "bytes=300000-", "bytes=500000-"]


def test_a_later_start_continues_what_an_earlier_one_left(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx.part").write_bytes(GRAPH[:700_000])

    path = fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert path.read_bytes() == GRAPH
    assert hub.asked("model_quantized.onnx") == ["bytes=700000-"]


def test_a_server_without_ranges_sends_the_whole_file_again(hub: Hub, tmp_path: Path) -> None:
    hub.cuts, hub.ranges = [300_000], False

    path = fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert path.read_bytes() == GRAPH
    assert hub.asked("model_quantized.onnx") == [None, "bytes=300000-"]


def test_a_part_of_another_file_is_thrown_away_and_fetched_whole(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quantized.onnx.part").write_bytes(b"x" * 700_000)

    path = fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert path.read_bytes() == GRAPH
    assert hub.asked("model_quantized.onnx") == ["bytes=700000-", None]


def test_a_wrong_file_is_refused_with_both_sums_and_leaves_nothing(hub: Hub, tmp_path: Path) -> None:
    wrong = b"y" * len(GRAPH)
    hub.files = dict.fromkeys(hub.files, wrong)

    with pytest.raises(ModelError) as caught:
        fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert hashlib.sha256(wrong).hexdigest() in str(caught.value)
    assert PIN.graph.sha256 in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_file_that_is_longer_than_pinned_is_not_taken_in(hub: Hub, tmp_path: Path) -> None:
    hub.files = dict.fromkeys(hub.files, GRAPH * 4)

    with pytest.raises(ModelError, match="more than the 1,048,576 bytes"):
        fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)


def test_a_missing_file_is_said_at_once_with_its_address(hub: Hub, tmp_path: Path) -> None:
    hub.files = {}

    with pytest.raises(ModelError, match=rf"{hub.url}/someone/tiny/resolve/0123456789abcdef/\S+ answered 404"):
        fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert len(hub.requests) == 1


def test_a_server_that_recovers_is_asked_again(hub: Hub, tmp_path: Path) -> None:
    hub.statuses = [503, 429, 200]

    path = fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)

    assert path.read_bytes() == GRAPH


def test_a_server_that_never_recovers_is_given_up(hub: Hub, tmp_path: Path) -> None:
    hub.statuses = [503] * ATTEMPTS

    with pytest.raises(ModelError, match=f"answered 503; gave up after {ATTEMPTS} tries"):
        fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)


def test_an_address_where_nobody_listens_is_given_up_with_its_name_and_another_way(tmp_path: Path) -> None:
    with running_hub() as gone:
        url = gone.url

    with pytest.raises(ModelError, match=f"{url}.*passageway-model-e5"):
        fetch(PIN.graph, PIN, tmp_path, url, pause_s=0)


@pytest.mark.parametrize("hub_address", ["models.example.org", "ftp://models.example.org", "https:///models", ""])
def test_a_hub_that_is_no_web_address_names_its_variable(tmp_path: Path, hub_address: str) -> None:
    with pytest.raises(ModelError, match="PASSAGEWAY_MODEL_HUB is not a web address"):
        fetch(PIN.graph, PIN, tmp_path, hub_address, pause_s=0)


def test_the_password_of_a_mirror_stays_out_of_messages(hub: Hub, tmp_path: Path) -> None:
    hub.files = {}
    mirror = hub.url.replace("http://", "http://reader:hunter2@")

    with pytest.raises(ModelError) as caught:
        fetch(PIN.graph, PIN, tmp_path, mirror, pause_s=0)

    assert "hunter2" not in str(caught.value)
    assert hub.url in str(caught.value)


def test_the_variable_for_a_mirror_moves_the_download_of_a_preset(hub: Hub, tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path), "PASSAGEWAY_MODEL_HUB": hub.url})
    place = "Xenova/multilingual-e5-base/resolve/1ec9243030a27d1a115d5c340572074c125b58b2/tokenizer.json"

    with pytest.raises(ModelError, match=f"{hub.url}/{place} answered 404"):
        ready_model(EmbedderConfig(model="multilingual-e5-base"), settings)


def test_progress_ends_at_the_whole_file(hub: Hub, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []

    fetch(PIN.graph, PIN, tmp_path, hub.url, lambda *step: seen.append(step), pause_s=0)

    assert seen[-1] == ("onnx/model_quantized.onnx", len(GRAPH), len(GRAPH))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_two_that_fetch_at_once_end_with_one_whole_file(hub: Hub, tmp_path: Path) -> None:
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(fetch(PIN.graph, PIN, tmp_path, hub.url, pause_s=0)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert [path.read_bytes() for path in paths] == [GRAPH, GRAPH]
    assert len(hub.requests) == 1


def test_a_damaged_file_is_fetched_anew(hub: Hub, tmp_path: Path) -> None:
    found = fetched_model(PRESET, tmp_path, hub.url)
    found.graph.write_bytes(GRAPH[:-1] + b"\0")
    assert find_model(PRESET, tmp_path) is None

    again = fetched_model(PRESET, tmp_path, hub.url)

    assert again.graph.read_bytes() == GRAPH
    assert [path.rpartition("/")[2] for path, _ in hub.requests] == [
        "tokenizer.json",
        "model_quantized.onnx",
        "model_quantized.onnx",
    ]


def test_without_a_hub_a_missing_preset_names_the_command_that_helps(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"download = false.*`passageway model download tiny`"):
        fetched_model(PRESET, tmp_path, None)


def test_a_preset_without_known_sums_is_never_downloaded(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"jina-v2-base-de: .*no checksum .*model_dir"):
        fetched_model(PRESETS["jina-v2-base-de"], tmp_path, hub.url)

    assert hub.requests == []
