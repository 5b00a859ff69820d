"""The command as its user sees it: a real process, its output and its exit code."""

import os
import socket
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


@pytest.fixture
def run(tmp_path: Path):
    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **environ}
        command = [sys.executable, "-m", "passageway_cli", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=60)

    return run


def test_init_writes_a_private_password_and_a_valid_configuration(run, tmp_path: Path) -> None:
    done = run("init")
    folder = tmp_path / ".config/passageway"
    password = folder / "password"
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    assert len(password.read_text(encoding="utf-8").strip()) >= 32
    assert tomllib.loads((folder / "passageway.toml").read_text(encoding="utf-8")) == {}
    assert str(password) in done.stdout and password.read_text(encoding="utf-8").strip() not in done.stdout


def test_init_again_changes_nothing(run, tmp_path: Path) -> None:
    run("init")
    before = {path.name: path.read_bytes() for path in (tmp_path / ".config/passageway").iterdir()}
    assert "there already" in run("init").stdout
    assert {path.name: path.read_bytes() for path in (tmp_path / ".config/passageway").iterdir()} == before


def test_an_instance_that_does_not_exist_is_an_error_that_lists_those_that_do(run) -> None:
    run("init", "--instance", "work")
    wrong = run("--instance", "wrok")
    assert wrong.returncode == 2
    assert "'wrok'" in wrong.stderr and "there is work" in wrong.stderr


def test_a_machine_with_only_named_instances_asks_to_pick_one(run) -> None:
    run("init", "--instance", "work")
    bare = run()
    assert bare.returncode == 2
    assert "pick one with --instance: work" in bare.stderr


def test_serving_without_a_password_is_refused(run) -> None:
    run("init")
    done = run()
    assert done.returncode == 2
    assert "PASSAGEWAY_LOGIN_PASSWORD" in done.stderr


def test_status_without_a_server_says_what_starts_one(run) -> None:
    done = run("status", PASSAGEWAY_PORT="9")
    assert done.returncode == 1
    assert "start it with `passageway`" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["recall", "--help"], ["model", "--help"], ["demo", "--help"]])
def test_help_is_printed_without_a_configuration(run, words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 0 and done.stdout.startswith("usage: passageway")


def test_an_unknown_command_exits_with_2(run) -> None:
    assert run("frobnicate").returncode == 2


def test_init_prints_a_command_that_can_be_typed_as_it_stands(run) -> None:
    own = Path(sys.executable).with_name("passageway")
    assert f" {own}\n" in run("init", PATH="/usr/bin:/bin").stdout
    assert "password passageway\n" in run("init", PATH=f"{own.parent}:/usr/bin:/bin").stdout


def test_a_list_of_models_in_a_pipe_shows_every_folder_whole(run, tmp_path: Path) -> None:
    done = run("model", "list", COLUMNS="40", PASSAGEWAY_DATA_DIR=str(tmp_path / ("long" * 20)))
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / ("long" * 20) / "models" / "jina-v2-base-de") in done.stdout


def test_a_demo_that_cannot_listen_says_so_before_it_indexes(run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("demo", "--data-dir", str(tmp_path / "demo"), PASSAGEWAY_PORT=str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "cannot listen on" in done.stderr
    assert list((tmp_path / "demo").iterdir()) == []
