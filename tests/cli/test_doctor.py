"""`passageway doctor` on a machine where one thing or another is wrong, and on one where all is well."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from passageway.settings import Settings, load_settings
from passageway_cli.doctor.command import findings
from passageway_cli.doctor.finding import Finding, State

PASSWORD = "correct horse battery"
Environment = dict[str, str]
Running = Callable[[Environment], AbstractContextManager[Path]]
Look = Callable[..., dict[str, list[Finding]]]


@pytest.fixture
def look(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> Look:
    """All findings by what was looked at; `look(PASSAGEWAY_BASE_URL=…)` with more in the environment."""

    def look(**more: str) -> dict[str, list[Finding]]:
        settings: Settings = load_settings(environment | more)
        monkeypatch.setenv("PASSAGEWAY_LOGIN_PASSWORD_FILE", environment["PASSAGEWAY_LOGIN_PASSWORD_FILE"])
        monkeypatch.delenv("PASSAGEWAY_LOGIN_PASSWORD", raising=False)
        found: dict[str, list[Finding]] = {}
        for finding in findings(settings):
            found.setdefault(finding.what, []).append(finding)
        return found

    return look


def doctor(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "passageway_cli", "doctor", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_where_all_is_well_every_line_is_ok(environment: Environment, running: Running) -> None:
    environment["PASSAGEWAY_BASE_URL"] = f"http://127.0.0.1:{environment['PASSAGEWAY_PORT']}"
    with running(environment):
        done = doctor(environment, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        found = {finding["what"]: finding["state"] for finding in json.loads(done.stdout)}
    sign_in = [what for what in found if what.startswith("sign-in: ")]
    assert len(sign_in) == 11
    assert set(found) - set(sign_in) == {
        "configuration",
        "password",
        "data folder",
        "connector notes",
        "server",
        "hook",
        "mcp",
        "source notes",
        "model",
        "sync",
    }
    # A public address that only this machine knows is worth a word, and nothing else is.
    assert [what for what, state in found.items() if state != "ok"] == ["sign-in: address"]


def test_before_the_first_start_it_says_what_starts_the_server_and_that_the_rest_is_ready(
    environment: Environment,
) -> None:
    done = doctor(environment)
    assert done.returncode == 1
    assert "failed   server: nothing listens at http://127.0.0.1:" in done.stdout
    assert "→ start it with `passageway`" in done.stdout
    assert "ok       connector notes: sees 2 items" in done.stdout
    assert "ok       model: letters-256 answers in" in done.stdout
    assert "1 failed, 0 warnings." in done.stdout
    assert PASSWORD not in done.stdout + done.stderr


def test_a_mistake_in_the_configuration_is_named_with_its_place(environment: Environment, look: Look) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    config.write_text(config.read_text(encoding="utf-8").replace("command =", "comand =", 1), encoding="utf-8")
    [finding] = look()["configuration"]
    assert finding.state is State.FAILED
    assert "connector 'notes': comand: unknown key" in finding.seen


def test_a_configuration_without_a_source_is_a_warning(environment: Environment, look: Look) -> None:
    Path(environment["PASSAGEWAY_CONFIG"]).write_text("", encoding="utf-8")
    [finding] = look()["configuration"]
    assert finding.state is State.WARNING
    assert "[[connector]]" in finding.advice


def test_a_connector_that_fails_is_named_with_what_it_said(environment: Environment, look: Look) -> None:
    Path(environment["HOME"], "notes").rename(Path(environment["HOME"], "elsewhere"))
    [finding] = look()["connector notes"]
    assert finding.state is State.FAILED
    assert "FileNotFoundError" in finding.seen


def test_a_connector_that_cannot_be_started_fails_alone(environment: Environment, look: Look) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    more = '[[connector]]\nname = "wiki"\ncommand = ["/nowhere/connector"]\n'
    config.write_text(more + config.read_text(encoding="utf-8"), encoding="utf-8")
    found = look()
    assert [found[f"connector {name}"][0].state for name in ("wiki", "notes")] == [State.FAILED, State.OK]


def test_a_secret_that_is_not_set_is_named_by_its_variable(environment: Environment, look: Look) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    text = config.read_text(encoding="utf-8").replace("env =", 'secrets = { KEY = "env:NOTES_KEY" }\nenv =')
    config.write_text(text, encoding="utf-8")
    [finding] = look()["connector notes"]
    assert finding.state is State.FAILED
    assert "NOTES_KEY, which is not set" in finding.seen


def test_a_secret_of_the_file_that_the_service_reads_is_known(environment: Environment, look: Look) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    text = config.read_text(encoding="utf-8").replace("env =", 'secrets = { KEY = "env:NOTES_KEY" }\nenv =')
    config.write_text(text, encoding="utf-8")
    (config.parent / "env").write_text("# tokens\nNOTES_KEY=a b$c\n", encoding="utf-8")
    assert look()["connector notes"][0].state is State.OK


def test_a_model_that_fails_is_a_failure(environment: Environment, look: Look) -> None:
    config = Path(environment["PASSAGEWAY_CONFIG"])
    text = config.read_text(encoding="utf-8").replace("letters_embedder.py", "no_embedder.py")
    config.write_text(text, encoding="utf-8")
    [finding] = look()["model"]
    assert finding.state is State.FAILED
    assert "nothing new is indexed" in finding.advice


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path, look: Look) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    [finding] = look(PASSAGEWAY_DATA_DIR=str(tmp_path / "file" / "data"))["data folder"]
    assert finding.state is State.FAILED
    assert str(tmp_path / "file" / "data") in finding.seen


def test_a_file_of_a_source_that_is_gone_and_one_that_is_damaged_are_named(
    environment: Environment, look: Look
) -> None:
    folder = Path(environment["PASSAGEWAY_DATA_DIR"])
    folder.mkdir()
    (folder / "old.db").write_bytes(b"no database at all" * 100)
    found = look()
    assert [finding.state for finding in found["data folder"]] == [State.OK, State.WARNING]
    assert "old.db" in found["data folder"][1].seen
    assert found["index old"][0].state is State.FAILED


def test_a_password_file_that_others_can_read_is_a_warning(environment: Environment, look: Look) -> None:
    file = Path(environment["PASSAGEWAY_LOGIN_PASSWORD_FILE"])
    file.chmod(0o644)
    [finding] = look()["password"]
    assert finding.state is State.WARNING
    assert finding.advice == f"chmod 600 {file}"


def test_without_a_password_it_says_where_one_comes_from(environment: Environment) -> None:
    Path(environment.pop("PASSAGEWAY_LOGIN_PASSWORD_FILE")).unlink()
    done = doctor(environment)
    assert done.returncode == 1
    assert "failed   password: none is set" in done.stdout


def test_a_short_password_at_a_public_address_is_a_warning(environment: Environment, look: Look) -> None:
    Path(environment["PASSAGEWAY_LOGIN_PASSWORD_FILE"]).write_text("secret", encoding="utf-8")
    [finding] = look(PASSAGEWAY_BASE_URL=f"http://127.0.0.1:{environment['PASSAGEWAY_PORT']}")["password"]
    assert finding.state is State.WARNING
    assert "6 characters" in finding.seen


def test_another_password_than_the_servers_is_told_at_the_doors(
    environment: Environment, running: Running, look: Look
) -> None:
    with running(environment):
        Path(environment["PASSAGEWAY_LOGIN_PASSWORD_FILE"]).write_text("another password", encoding="utf-8")
        found = look()
    assert [found[door][0].state for door in ("hook", "mcp")] == [State.FAILED, State.FAILED]
    assert "not its password" in found["hook"][0].seen
    # What anybody may see is still looked at.
    assert found["source notes"][0].state is State.OK


def test_a_port_that_another_program_holds_is_told_apart_from_a_server_that_is_off(
    environment: Environment, look: Look
) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", int(environment["PASSAGEWAY_PORT"])))
        stranger.listen()
        threading.Thread(target=_hang_up, args=(stranger,), daemon=True).start()
        [finding] = look()["server"]
    assert finding.state is State.FAILED
    assert "is not passageway" in finding.seen
    assert "PASSAGEWAY_PORT" in finding.advice


def _hang_up(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.sendall(b"SSH-2.0-stranger\r\n")
            connection.close()
