"""compose.yaml: what it says of its services, and its commands run as processes of this machine."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from passageway.settings import VARIABLES

ROOT = Path(__file__).parents[1]
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
ROLES = ("embed", "sync", "query")
WAIT_S = 60
SECRET = "/run/secrets/login_password"
FIXED_BY_THE_IMAGE = {
    "PASSAGEWAY_CONFIG",
    "PASSAGEWAY_DATA_DIR",
    "PASSAGEWAY_EMBED_PORT",
    "PASSAGEWAY_HOST",
    "PASSAGEWAY_MODEL_DIR",
    "PASSAGEWAY_PORT",
    "APP_VERSION",
}
"""Folders and ports inside the container; other ones are a matter of `volumes` and `ports`."""


def filled(value: Any, environ: Mapping[str, str]) -> Any:
    """The value with every `${NAME:-default}` in it replaced, as compose does it."""
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: environ.get(match[1]) or match[2], value)
    if isinstance(value, dict):
        return {key: filled(entry, environ) for key, entry in value.items()}
    return [filled(entry, environ) for entry in value] if isinstance(value, list) else value


class Loader(yaml.SafeLoader):
    """YAML as compose reads it: a key that stands twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
        return super().construct_mapping(node, deep)


def compose(text: str = COMPOSE, **environ: str) -> dict[str, Any]:
    loaded: dict[str, Any] = filled(yaml.load(text, Loader), environ)
    return loaded


@pytest.fixture(params=["three", "one"])
def text(request: pytest.FixtureRequest, one_service: str) -> str:
    """compose.yaml, as it is and with the one service instead."""
    return COMPOSE if request.param == "three" else one_service


def image_environment() -> dict[str, str]:
    """ENV of the image's last stage."""
    last = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :].replace("\\\n", " ")
    return dict(pair.split("=", 1) for line in re.findall(r"^ENV (.*)$", last, re.MULTILINE) for pair in line.split())


def test_three_services_of_one_image_share_one_volume_and_one_network_namespace() -> None:
    services = compose()["services"]
    assert {service["image"] for service in services.values()} == {"passageway"}
    assert set(services) == {"net", *ROLES}
    for role in ROLES:
        assert services[role]["command"] == ["passageway", role]
        assert services[role]["network_mode"] == "service:net"
        assert services[role]["volumes"] == services["embed"]["volumes"]
    assert "data:/data" in services["embed"]["volumes"] and "volumes" not in services["net"]


def test_only_the_port_of_query_is_published_and_only_to_this_machine() -> None:
    services = compose()["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"net": ["127.0.0.1:8082:8082"]}
    assert compose(PASSAGEWAY_PORT="9000")["services"]["net"]["ports"] == ["127.0.0.1:9000:8082"]


def test_every_container_is_confined_limited_and_started_again(text: str) -> None:
    for name, service in compose(text)["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["restart"] == "unless-stopped", name
        assert service["init"] is True, name
        assert service["mem_limit"] and service["pids_limit"], name
        assert not {"privileged", "cap_add", "user"} & service.keys(), name


def test_query_alone_knows_the_password_and_never_sees_the_tokens_of_the_sources() -> None:
    services = compose(PASSAGEWAY_LOGIN_PASSWORD="hunter2")["services"]
    assert [name for name, service in services.items() if "hunter2" in json.dumps(service)] == ["query"]
    assert [name for name, service in services.items() if "secrets" in service] == ["query"]
    assert [name for name, service in services.items() if "env_file" in service] == ["embed", "sync"]


def test_every_setting_that_the_image_leaves_open_can_be_given(text: str) -> None:
    given: set[str] = set()
    for service in compose(text)["services"].values():
        given |= service.get("environment", {}).keys()
    # An instance is a container of its own.
    open_ones = {variable.name for variable in VARIABLES} - FIXED_BY_THE_IMAGE - {"PASSAGEWAY_INSTANCE"}
    assert given == open_ones, "a new variable belongs into compose.yaml: at its service, and at the commented one"


def test_the_image_sets_what_compose_leaves_to_it() -> None:
    environment = image_environment()
    assert environment["PASSAGEWAY_HOST"] == "0.0.0.0" and environment["PASSAGEWAY_PORT"] == "8082"
    assert environment["PASSAGEWAY_DATA_DIR"] == "/data"
    assert environment["PASSAGEWAY_CONFIG"] == "/config/passageway.toml"
    assert environment["PASSAGEWAY_MODEL_DIR"] == "/models/e5-small"
    assert environment["ORT_DISABLE_TELEMETRY"] == "1"


def test_the_image_says_the_version_that_it_holds() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nARG VERSION={version} " in DOCKERFILE


def test_the_image_is_built_of_every_project_of_the_repository_and_of_nothing_else() -> None:
    loop = re.search(r"^RUN for project in (.*); do", DOCKERFILE, re.MULTILINE)
    assert loop is not None
    built = subprocess.run(["sh", "-c", f"echo {loop[1]}"], cwd=ROOT, capture_output=True, text=True, check=True)
    projects = [path for pattern in ("", "*/", "*/*/") for path in ROOT.glob(f"{pattern}pyproject.toml")]
    assert sorted(built.stdout.split()) == sorted(str(path.relative_to(ROOT)) for path in projects)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Stack:
    """The services as processes. The containers' folders are folders below one, their ports free ones."""

    def __init__(self, folder: Path, text: str, password: str, **environ: str) -> None:
        self.ports = {"8082": free_port(), "8182": free_port()}
        self.password = password
        self._folder = folder
        self.services = compose(text, **environ)["services"]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        service = self.services[name]
        environment = {**image_environment(), **service.get("environment", {})}
        environment = {key: self._outside(value) for key, value in environment.items()}
        environment |= {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "PASSAGEWAY_PORT": str(self.ports["8082"]),
            "PASSAGEWAY_EMBED_PORT": str(self.ports["8182"]),
            # Loopback instead of the whole machine.
            "PASSAGEWAY_HOST": "127.0.0.1",
        }
        program, *arguments = service["command"]
        assert program == "passageway"
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "passageway_cli", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    def _outside(self, value: str) -> str:
        return re.sub(r"^/(data|config|models|run)\b", rf"{self._folder}/\1", value)

    def healthy(self, name: str) -> bool:
        """What the service's health check says."""
        _, program, *arguments = self.services[name]["healthcheck"]["test"]
        assert program == "python"
        *module, port = arguments
        done = subprocess.run([sys.executable, *module, str(self.ports[port])], capture_output=True, timeout=30)
        return done.returncode == 0

    def stop(self) -> dict[str, int]:
        for process in self._processes.values():
            process.terminate()
        return {name: process.wait(20) for name, process in self._processes.items()}

    def kill(self) -> None:
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(10)

    def ask(self, path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports['8082']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.password}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                answer: dict[str, Any] = json.load(reply)
        except OSError:
            return {}
        return answer

    def logs(self) -> str:
        return "\n".join(path.read_text(encoding="utf-8")[-1500:] for path in sorted(self._folder.glob("*.log")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one note, the configuration and the password file."""
    for name in ("data", "config/notes", "models", "run/secrets"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "config/notes/tea.md").write_text(
        "# Brewing tea\n\nGreen tea is brewed at eighty degrees for two minutes.\n", encoding="utf-8"
    )
    (tmp_path / "config/passageway.toml").write_text(
        '[embedder]\nkind = "command"\nmin_similarity = 0.3\n'
        'command = ["python", "-m", "passageway.testing.fake_embedder"]\n'
        '[[connector]]\nname = "notes"\ncommand = ["python", "-m", "passageway_connector_markdown"]\n'
        f'env = {{ FOLDER = "{tmp_path}/config/notes" }}\nsecrets = {{ TOKEN = "env:NOTES_TOKEN" }}\n',
        encoding="utf-8",
    )
    (tmp_path / "run/secrets/login_password").write_text("from the file\n", encoding="utf-8")
    return tmp_path


def wait_for_health(stack: Stack, status: str) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_S
    while (report := stack.ask("/health")).get("status") != status:
        assert time.monotonic() < deadline, f"not {status} in {WAIT_S} s: {report}\n{stack.logs()}"
        time.sleep(0.1)
    return report


@contextlib.contextmanager
def running(stack: Stack, *names: str) -> Iterator[None]:
    try:
        for name in names:
            stack.start(name)
        yield
    finally:
        stack.kill()


def test_the_three_commands_answer_over_one_folder_in_whatever_order_they_start(
    folder: Path,
) -> None:
    stack = Stack(folder, COMPOSE, "from the file")
    # A line of sources.env, which compose hands to sync and embed.
    stack.services["sync"]["environment"]["NOTES_TOKEN"] = "secret"
    with running(stack, "query"):
        deadline = time.monotonic() + WAIT_S
        while not stack.healthy("query"):
            assert time.monotonic() < deadline, stack.logs()
        assert not stack.healthy("embed")
        assert stack.ask("/health")["embedder"]["state"] != "ok"

        stack.start("sync")
        stack.start("embed")
        report = wait_for_health(stack, "ok")
        assert [(source["name"], source["items"]) for source in report["sources"]] == [("notes", 1)]
        assert stack.healthy("embed") and stack.healthy("query")
        answer = stack.ask("/recall", {"prompt": "How hot is green tea brewed?"})
        assert "eighty degrees" in answer["context"]
        assert (folder / "data/notes.db").is_file()
        assert stack.stop() == dict.fromkeys(("query", "sync", "embed"), 0)


def test_the_one_service_for_small_machines_answers_with_the_password_of_the_variable(
    folder: Path, one_service: str
) -> None:
    stack = Stack(folder, one_service, "from the variable", PASSAGEWAY_LOGIN_PASSWORD="from the variable")
    stack.services["passageway"]["environment"]["NOTES_TOKEN"] = "secret"
    with running(stack, "passageway"):
        wait_for_health(stack, "ok")
        assert "eighty degrees" in stack.ask("/recall", {"prompt": "How hot is green tea brewed?"})["context"]
        assert stack.stop() == {"passageway": 0}


def test_a_password_given_both_ways_is_the_one_of_the_variable(folder: Path) -> None:
    stack = Stack(folder, COMPOSE, "from the variable", PASSAGEWAY_LOGIN_PASSWORD="from the variable")
    with running(stack, "query"):
        deadline = time.monotonic() + WAIT_S
        while not (report := stack.ask("/health")).get("errors_shown"):
            assert time.monotonic() < deadline, f"{report}\n{stack.logs()}"
            time.sleep(0.1)


def test_the_proxies_on_the_page_reach_the_service_that_holds_the_port() -> None:
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    examples = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    caddy, traefik = examples
    assert caddy["services"]["caddy"]["environment"]["PASSAGEWAY_UPSTREAM"] == "net:8082"
    labels = traefik["services"]["net"]["labels"]
    assert labels["traefik.http.services.passageway.loadbalancer.server.port"] == "8082"
