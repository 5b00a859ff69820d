"""A machine with a source that keeps changing, the real program on it, and people who never stop asking."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from passageway.embedder import Embedder
from passageway.index.vectors import pack, to_blobs
from passageway.passages import embedded_text
from passageway_cli.rpc import headers_for, result_of

HERE = Path(__file__).parent
PASSWORD = "correct horse battery staple"
WAIT_S = 120

# No word of a question stands in its passage: only the meaning finds it.
FACTS = {
    "Reefs": ("Lanterns warned sailors about hidden reefs.", "lantern warning for a sailor near a reef"),
    "Orchards": ("Gardeners prune apples after the blossoms.", "gardener pruning an apple, blossom or not"),
    "Glaciers": ("Hikers cross glaciers on long ropes.", "hiker crossing a glacier, rope or none"),
    "Bakeries": ("Bakers knead sourdoughs overnight.", "baker kneading a sourdough in a bakery"),
    "Clocks": ("Watchmakers oiled pendulums yearly.", "watchmaker oiling a pendulum clock"),
    "Looms": ("Weavers thread shuttles through looms.", "weaver threading a shuttle"),
    "Violins": ("Luthiers varnish violins slowly.", "luthier varnishing a violin"),
    "Windmills": ("Millers turned sails into winds.", "miller turning a sail of a windmill"),
    "Telescopes": ("Astronomers polish mirrors of telescopes.", "astronomer polishing a telescope mirror"),
    "Quarries": ("Masons split granites using wedges.", "mason splitting granite, a wedge in hand"),
}

WORDS = (
    *("ledger", "parcel", "invoice", "carton", "pallet", "docket", "courier"),
    *("tariff", "voucher", "freight", "depot", "crate", "manifest", "cargo"),
)


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = WAIT_S) -> Any:
    """What `condition` returns once it is true; fails after `timeout_s` saying what was waited for."""
    deadline = time.monotonic() + timeout_s
    never = threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain for {what}"
        never.wait(0.01)
    return value


@dataclass
class Machine:
    """The program with two sources: facts that are asked about, and pages that are changed to keep a build going."""

    home: Path
    port: int
    embed_port: int
    pages: int
    environment: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[Any]] = field(default_factory=dict)
    generation: int = 0
    facts: int = len(FACTS)
    titles: tuple[str, ...] = tuple(FACTS)

    @property
    def url(self) -> str:
        """Where questions are asked."""
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def headers(self) -> dict[str, str]:
        """What questions are sent with."""
        return {**headers_for(self.question(self.titles[0])), "Authorization": f"Bearer {PASSWORD}"}

    def question(self, title: str) -> dict[str, Any]:
        """The message that asks for the fact of that title."""
        call = {"name": "recall", "arguments": {"query": FACTS[title][1]}}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    def heard(self, reply: httpx.Response, title: str) -> str:
        """What an answer comes down to: `found`, `error`, `words only`, or else what it says instead."""
        result = result_of(reply)
        assert result is not None, reply.text
        if result.get("isError"):
            return "error"
        answer = result["structuredContent"]
        if answer["words_only"] or any("only words are compared" in problem for problem in answer["problems"]):
            return "words only"
        return "found" if title in [hit["title"] for hit in answer["passages"]] else f"{title}: {answer}"

    def answers(self, url: str) -> bool:
        """Whether whatever is there says that it is well."""
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{url}/health", trust_env=False, timeout=10).status_code == 200
        return False

    def configure(self, command: list[str] | None, env: dict[str, str]) -> None:
        """Write what the next start reads: the sources, and that embedder program or else the built-in model."""
        connector = json.dumps([sys.executable, "-m", "passageway.testing.fake_connector"])
        tables = [
            f'[[connector]]\nname = "{name}"\ncommand = {connector}\n'
            f'env = {{ FAKE_ITEMS = "{self.home / name}.json" }}\n'
            for name in ("facts", "pages")
        ]
        if command is not None:
            variables = ", ".join(f'{name} = "{value}"' for name, value in env.items())
            tables.append(
                f'[embedder]\nkind = "command"\ncommand = {json.dumps(command)}\nenv = {{ {variables} }}\n'
                "min_similarity = 0.4\n"
            )
        self._put(self.home / "passageway.toml", "\n".join(tables))

    def write_facts(self) -> None:
        self._write("facts", [_item(title, "1", [text]) for title, (text, _) in FACTS.items()])
        self._write("pages", [])

    def change_pages(self) -> None:
        """Every page has two new passages, so that there is something to build."""
        self.generation += 1
        chance = random.Random(self.generation)
        self._write("pages", [
            _item(f"Page {n}", str(self.generation), [" ".join(chance.choices(WORDS, k=12)) + f" {n}" for _ in "ab"])
            for n in range(self.pages)
        ])  # fmt: skip

    def _write(self, source: str, items: list[dict[str, Any]]) -> None:
        self._put(self.home / f"{source}.json", json.dumps(items))

    def _put(self, path: Path, text: str) -> None:
        """Whole or not at all: somebody may be reading."""
        path.with_suffix(".new").write_text(text, encoding="utf-8")
        path.with_suffix(".new").replace(path)

    def start(self, role: str, *, descriptors: int | None = None) -> None:
        """Start a process of the program; it begins with that many files and connections that it may have open."""
        command = [sys.executable, "-m", "passageway_cli", *([] if role == "all" else [role])]
        if descriptors is not None:
            command = ["/bin/sh", "-c", f'ulimit -Sn {descriptors}; exec "$@"', "sh", *command]
        with (self.home / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self, role: str) -> None:
        """End a process as the kernel does when memory is short."""
        self.processes[role].kill()
        self.processes[role].wait(10)

    def of_model(self, name: str) -> int:
        """How many of the stored vectors are said to be that model's."""
        count = 0
        for source in ("facts", "pages"):
            with self._file(source) as file:
                counted = "SELECT count(*) FROM vectors JOIN models ON models.id = vectors.model WHERE name = ?"
                count += file.execute(counted, (name,)).fetchone()[0]
        return count

    def is_built(self) -> bool:
        """Whether the pages of the last change are stored, all of them."""
        with self._file("pages") as file:
            rows = file.execute("SELECT version, count(*) FROM items GROUP BY version").fetchall()
        return bool(rows == ([(str(self.generation), self.pages)] if self.generation else []))

    def is_well(self) -> bool:
        """Whether `/health` has nothing to say against sources, vectors and model."""
        with contextlib.suppress(httpx.HTTPError):
            report = httpx.get(f"http://127.0.0.1:{self.port}/health", trust_env=False, timeout=10).json()
            return bool(report["status"] == "ok" and all(source["vectors_current"] for source in report["sources"]))
        return False

    def wrong_vectors(self, models: dict[str, Embedder]) -> list[str]:
        """Stored vectors that are not what the model they are said to be of gives for their text; which ones."""
        wrong = []
        for source in ("facts", "pages"):
            with self._file(source) as file:
                rows = file.execute(
                    "SELECT name, title, path, heading, text, scale, codes FROM vectors"
                    " JOIN models ON models.id = vectors.model JOIN sections ON sections.id = section"
                    " JOIN items ON items.id = sections.item"
                ).fetchall()
            for model, embedder in models.items():
                stored = [row[1:] for row in rows if row[0] == model]
                texts = [
                    embedded_text(title, json.loads(path), heading, text) for title, path, heading, text, *_ in stored
                ]
                codes = pack(embedder.embed(texts, "passage"))
                for row, scale, blob in zip(stored, codes.scale, to_blobs(codes), strict=True):
                    if abs(row[4] - scale) > 1e-6 or row[5] != blob:
                        wrong.append(f"{source}: {row[0]} under {model}")
            wrong += [f"{source}: a model {row[0]}" for row in rows if row[0] not in models]
        return wrong

    def stored(self) -> dict[str, int]:
        """How many vectors each source has."""
        counts = {}
        for source in ("facts", "pages"):
            with self._file(source) as file:
                (counts[source],) = file.execute("SELECT count(*) FROM vectors").fetchone()
        return counts

    def asking(self) -> "Askers":
        """`with machine.asking() as asking:` people ask."""
        return Askers(self)

    @contextlib.contextmanager
    def _file(self, source: str) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/data/{source}.db?mode=ro", uri=True)) as file:
            yield file

    def stop(self) -> dict[str, int]:
        """Exit codes by role after SIGTERM."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        return {role: process.wait(30) for role, process in self.processes.items()}


def _item(title: str, version: str, texts: list[str]) -> dict[str, Any]:
    sections = [{"heading": None, "text": text} for text in texts]
    return {"id": title, "title": title, "url": "", "version": version, "sections": sections}


class Askers:
    """Threads that ask about the facts until they are told to stop, and sort what they hear."""

    def __init__(self, machine: Machine, threads: int = 2) -> None:
        self.heard: Counter[str] = Counter()
        self._machine = machine
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def __enter__(self) -> "Askers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(WAIT_S)

    @property
    def silences(self) -> list[str]:
        """Answers that were neither the fact nor an error, and did not say that only words were compared."""
        return sorted(set(self.heard) - {"found", "error", "words only"})

    def ask_all(self) -> Counter[str]:
        """Every question once, now, and what came of them."""
        with self._client() as client:
            return Counter(self._ask(client, title) for title in FACTS)

    def _run(self, number: int) -> None:
        chance = random.Random(number)
        with self._client() as client:
            while not self._stop.is_set():
                heard = self._ask(client, chance.choice(self._machine.titles))
                with self._lock:
                    self.heard[heard] += 1
                self._stop.wait(0.03)

    def _client(self) -> httpx.Client:
        return httpx.Client(trust_env=False, timeout=WAIT_S, headers=self._machine.headers)

    def _ask(self, client: httpx.Client, title: str) -> str:
        return self._machine.heard(client.post(self._machine.url, json=self._machine.question(title)), title)


@pytest.fixture
def make_machine(tmp_path: Path, unused_port: Callable[[], int]) -> Iterator[Callable[..., Machine]]:
    """Makes the machine of a test; its processes end with the test, and their logs are shown when it fails."""
    made: list[Machine] = []

    def make(pages: int = 400, **environment: str) -> Machine:
        machine = Machine(tmp_path, unused_port(), unused_port(), pages)
        machine.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PASSAGEWAY_CONFIG": str(tmp_path / "passageway.toml"),
            "PASSAGEWAY_DATA_DIR": str(tmp_path / "data"),
            "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
            "PASSAGEWAY_PORT": str(machine.port),
            "PASSAGEWAY_EMBED_PORT": str(machine.embed_port),
            "PASSAGEWAY_POLL_SECONDS": "0.3",
            "PASSAGEWAY_RECONCILE_SECONDS": "0.3",
            **environment,
        }
        machine.write_facts()
        made.append(machine)
        return machine

    yield make
    for machine in made:
        for process in machine.processes.values():
            process.kill()
            process.wait(10)
        for log in sorted(machine.home.glob("*.log")):
            print(f"== {log.name}", log.read_text(encoding="utf-8")[-3000:], sep="\n")


@pytest.fixture
def eventually() -> Callable[..., Any]:
    return wait_until


@pytest.fixture
def stems() -> Callable[[str, float], tuple[list[str], dict[str, str]]]:
    """The command and the environment of the model of word stems of that name, and how long a request takes."""

    def command(model: str, pause_s: float) -> tuple[list[str], dict[str, str]]:
        return [sys.executable, "-S", str(HERE / "stems.py")], {"MODEL": model, "PAUSE": str(pause_s)}

    return command
