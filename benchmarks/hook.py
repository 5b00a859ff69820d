"""What the prompt hook adds to the time of a prompt: server up, slow, hanging and gone, beside bash alone, in one run.

    .venv/bin/python benchmarks/hook.py [--prompts 60] [--data-dir DIR]

The program runs as three processes with the default model over a dozen articles of the sample corpus, and each prompt
starts the plugin's real script, as Claude Code does. Slow: the model does not answer, so that words alone decide after
0.6 s. Hanging: the server takes the connection and says nothing. Gone: nobody listens. Beside each prompt run a bash
that ends at once, than which no hook can be faster, and the script with nothing configured. Times differ from machine
to machine and with whatever else runs there; the ratios to bash alone, and the limit of 1.5 s, are what to look at.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
HOOK = ROOT / "plugin" / "scripts" / "recall-hook.sh"
ARTICLES = 12
LIMIT_S = 1.5
"""Past it the hook gives up."""
PASSWORD = "benchmark"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=60, help="prompts a state")
    parser.add_argument("--data-dir", type=Path, help="where model and index are kept; a temporary folder by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        articles = _articles(folder / "articles")
        data_dir = arguments.data_dir or folder / "data"
        program = stack.enter_context(_program(folder, articles, data_dir))
        home = _home(folder / "home", program.url)
        print(
            f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {arguments.prompts} prompts a state,",
            flush=True,
        )
        print(f"json by {'jq' if shutil.which('jq') else 'python3'}\n")
        print(f"{'':34}{'median':>10}{'p95':>10}{'of bash':>10}{'of the limit':>14}")
        prompts = _prompts(articles, arguments.prompts)
        for state, enter in program.states():
            enter()
            _measure(state, home, folder, prompts)


class _Program:
    """The three processes, and how to spoil them step by step."""

    def __init__(self, url: str, embed: "subprocess.Popen[bytes]", query: "subprocess.Popen[bytes]") -> None:
        self.url = url
        self._embed = embed
        self._query = query

    def states(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Each state's name and what brings it about."""
        yield "up", lambda: None
        yield "slow", lambda: self._embed.send_signal(signal.SIGSTOP)
        yield "hanging", lambda: self._query.send_signal(signal.SIGSTOP)
        yield "gone", self._leave

    def _leave(self) -> None:
        self._query.kill()
        self._query.wait()


@contextmanager
def _program(folder: Path, articles: Path, data_dir: Path) -> Iterator[_Program]:
    """The program with everything indexed, ended afterwards."""
    config = folder / "passageway.toml"
    command = json.dumps([sys.executable, "-m", "passageway_connector_markdown"])
    config.write_text(
        f'[[connector]]\nname = "articles"\ncommand = {command}\nenv = {{ FOLDER = {json.dumps(str(articles))} }}\n',
        encoding="utf-8",
    )
    port, embed_port = _free_port(), _free_port()
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PASSAGEWAY_CONFIG": str(config),
        "PASSAGEWAY_DATA_DIR": str(data_dir),
        "PASSAGEWAY_LOGIN_PASSWORD": PASSWORD,
        "PASSAGEWAY_PORT": str(port),
        "PASSAGEWAY_EMBED_PORT": str(embed_port),
    }
    with (folder / "log").open("wb") as log:
        started = [
            subprocess.Popen([sys.executable, "-m", "passageway_cli", part], env=environment, stderr=log)
            for part in ("embed", "sync", "query")
        ]
        try:
            _wait_until_built(f"http://127.0.0.1:{port}", folder / "log")
            yield _Program(f"http://127.0.0.1:{port}", started[0], started[2])
        finally:
            for process in started:
                process.kill()
                process.wait()


def _wait_until_built(url: str, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            health = httpx.get(f"{url}/health", trust_env=False).json()
            if health["status"] == "ok" and health["sources"][0]["items"] == ARTICLES:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"the index was not built in time: {log.read_text(encoding='utf-8')[-2000:]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _articles(folder: Path) -> Path:
    folder.mkdir()
    for path in sorted((ROOT / "corpus" / "en").glob("*.md"))[:ARTICLES]:
        shutil.copy(path, folder)
    return folder


def _home(folder: Path, url: str) -> Path:
    """A home with the hook's configuration in it."""
    configuration = folder / ".claude" / "plugin-data" / "passageway"
    configuration.mkdir(parents=True)
    text = json.dumps({"url": url, "token": PASSWORD})
    (configuration / "passageway.json").write_text(text, encoding="utf-8")
    return folder


def _prompts(articles: Path, count: int) -> list[str]:
    """Prompts, no two alike, since the server remembers vectors of questions."""
    names = [path.stem.replace("-", " ") for path in sorted(articles.glob("*.md"))]
    return [f"How does {names[number % len(names)]} work, in {number + 2} sentences?" for number in range(count)]


def _measure(state: str, home: Path, empty: Path, prompts: list[str]) -> None:
    """Print the rows of a state. The three take turns, so that what else runs here hits them alike."""
    bash, unconfigured, hook, found = [], [], [], 0
    for number, prompt in enumerate(prompts):
        said = json.dumps({"session_id": f"{state} {number}", "cwd": "/", "prompt": prompt})
        bash.append(_took(["bash", "-c", "exit 0"], empty, said)[0])
        unconfigured.append(_took(["bash", str(HOOK)], empty, said)[0])
        took_s, output = _took(["bash", str(HOOK)], home, said)
        hook.append(took_s)
        found += bool(output)
    base_s = statistics.median(bash)
    print(f"server {state}: {found} of {len(prompts)} prompts were given passages")
    for name, times in (("bash alone", bash), ("the hook, nothing configured", unconfigured), ("the hook", hook)):
        median_s, p95_s = statistics.median(times), statistics.quantiles(times, n=20, method="inclusive")[-1]
        row = f"{median_s * 1000:7.0f} ms{p95_s * 1000:7.0f} ms{median_s / base_s:8.1f} ×{p95_s / LIMIT_S:13.0%}"
        print(f"  {name:32}{row}", flush=True)


def _took(command: list[str], home: Path, said: str) -> tuple[float, str]:
    """Seconds and output of one run. Raises CalledProcessError for any end but 0."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    started = time.perf_counter()
    done = subprocess.run(command, input=said, env=environment, capture_output=True, encoding="utf-8", check=True)
    return time.perf_counter() - started, done.stdout


if __name__ == "__main__":
    main()
