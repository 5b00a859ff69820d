"""`passageway init --service`: what systemd and launchd read, and what the user is told."""

import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from passageway.errors import SettingsError
from passageway.settings import load_settings
from passageway_cli.service import LAYOUTS, Layout, Plan, service_plan

LABEL = "local.passageway"


def plan(layout: Layout, platform: str, *, namespaces: bool = True, instance: str = "", **environ: str) -> Plan:
    environment = {"HOME": "/home/ada", "PATH": "/usr/bin:/bin", **environ}
    settings = load_settings(environment, instance or None)
    return service_plan(settings, layout, environment, platform, namespaces=namespaces)


def texts(plan: Plan) -> dict[str, str]:
    return {path.name: text for path, text in plan.files.items()}


def test_one_process_is_one_unit_that_starts_with_the_user() -> None:
    made = plan("one", "linux")
    unit = texts(made)["passageway.service"]
    assert list(made.files) == [Path("/home/ada/.config/systemd/user/passageway.service")]
    assert f'ExecStart="{sys.executable}" "-P" "-m" "passageway_cli"\n' in unit
    assert 'Environment="PASSAGEWAY_LOGIN_PASSWORD_FILE=/home/ada/.config/passageway/password"\n' in unit
    assert "EnvironmentFile=-/home/ada/.config/passageway/env\n" in unit
    assert unit.endswith("[Install]\nWantedBy=default.target\n")
    assert made.commands == ("systemctl --user enable --now passageway.service", "loginctl enable-linger")


def test_three_processes_start_and_stop_with_one_target_and_only_query_knows_the_password() -> None:
    made = texts(plan("three", "linux"))
    units = [f"passageway-{role}.service" for role in ("embed", "sync", "query")]
    assert list(made) == [*units, "passageway.target"]
    assert all("PartOf=passageway.target\n" in made[unit] and "[Install]" not in made[unit] for unit in units)
    assert all(f"Wants={unit}\n" in made["passageway.target"] for unit in units)
    assert [unit for unit in units if "PASSWORD" in made[unit]] == ["passageway-query.service"]


def test_the_other_layout_is_named_so_that_both_never_run_at_once() -> None:
    one, three = plan("one", "linux"), plan("three", "linux")
    assert set(one.retired) == set(three.files)
    assert set(three.retired) == set(one.files)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_an_instance_called_like_a_role_has_files_of_its_own(platform: str) -> None:
    ports = {"PASSAGEWAY_PORT": "8083", "PASSAGEWAY_EMBED_PORT": "8183"}
    plain = {path for layout in LAYOUTS for path in plan(layout, platform).files}
    named = {path for layout in LAYOUTS for path in plan(layout, platform, instance="embed", **ports).files}
    assert len(named) == len(plain) and not named & plain


@pytest.mark.parametrize(("layout", "missing"), [("one", "PASSAGEWAY_PORT"), ("three", "PASSAGEWAY_EMBED_PORT")])
def test_an_instance_without_a_port_of_its_own_is_refused(layout: Layout, missing: str) -> None:
    ports = {"PASSAGEWAY_PORT": "8083"} if layout == "three" else {}
    with pytest.raises(SettingsError, match=rf"'work' needs a port of its own; set {missing}"):
        plan(layout, "linux", instance="work", **ports)


def test_the_service_has_the_settings_of_the_moment_but_never_the_password_itself() -> None:
    made = plan(
        "one",
        "linux",
        PASSAGEWAY_LOGIN_PASSWORD="hunter2",
        PASSAGEWAY_BASE_URL="https://passages.example.org",
        PASSAGEWAY_DATA_DIR="index",
    )
    unit = texts(made)["passageway.service"]
    assert 'Environment="PASSAGEWAY_BASE_URL=https://passages.example.org"\n' in unit
    assert f'Environment="PASSAGEWAY_DATA_DIR={Path.cwd() / "index"}"\n' in unit
    assert "hunter2" not in unit


def test_the_service_finds_its_folders_where_the_shell_was_told_that_they_are() -> None:
    made = plan("one", "linux", XDG_CONFIG_HOME="/home/ada/etc", XDG_DATA_HOME="/home/ada/var")
    unit = texts(made)["passageway.service"]
    assert 'Environment="XDG_CONFIG_HOME=/home/ada/etc"\n' in unit
    assert 'Environment="XDG_DATA_HOME=/home/ada/var"\n' in unit
    assert 'ReadWritePaths="-/home/ada/var/passageway"' in unit


def test_percent_signs_quotes_and_line_ends_in_a_setting_are_taken_literally() -> None:
    unit = texts(plan("one", "linux", PASSAGEWAY_INSTRUCTIONS='100 % of "it"\nC:\\x $HOME'))["passageway.service"]
    assert 'Environment="PASSAGEWAY_INSTRUCTIONS=100 %% of \\"it\\"\\nC:\\\\x $HOME"\n' in unit


def test_a_kernel_without_user_namespaces_gets_units_that_ask_for_none() -> None:
    needs_one = re.compile(r"^(Private|Protect|ReadWritePaths)", re.MULTILINE)
    assert needs_one.search(texts(plan("one", "linux"))["passageway.service"])
    bare = texts(plan("one", "linux", namespaces=False))["passageway.service"]
    assert not needs_one.search(bare)
    assert "NoNewPrivileges=yes\n" in bare and "SystemCallFilter=@system-service\n" in bare


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_systemd_finds_nothing_wrong_with_the_units(layout: Layout, tmp_path: Path) -> None:
    made = plan(layout, "linux", instance="work", PASSAGEWAY_PORT="8083", PASSAGEWAY_EMBED_PORT="8183")
    for name, text in texts(made).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", *map(str, sorted(tmp_path.iterdir()))],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if "passageway" in line]
    assert (done.returncode, ours) == (0, [])


def test_launchd_has_an_agent_a_process_that_is_kept_alive() -> None:
    made = plan("three", "darwin")
    agents = {path.name: plistlib.loads(text.encode()) for path, text in made.files.items()}
    assert list(agents) == [f"{LABEL}-{role}.plist" for role in ("embed", "sync", "query")]
    for name, agent in agents.items():
        assert f"{agent['Label']}.plist" == name
        assert agent["KeepAlive"] is True and agent["RunAtLoad"] is True
        assert agent["StandardErrorPath"].startswith("/home/ada/Library/Logs/passageway-")
    assert made.commands[0].startswith("launchctl bootstrap gui/$(id -u) ")


def test_the_agent_reads_the_env_file_without_running_what_is_in_it(tmp_path: Path) -> None:
    env = tmp_path / ".config/passageway/env"
    env.parent.mkdir(parents=True)
    env.write_text(
        f"# tokens\nTRILIUM_TOKEN=a b$(touch {tmp_path}/ran)'\"\n\nnot a line\nBAD-NAME=1\n=2\n3X=4\nLAST=no line end",
        encoding="utf-8",
    )
    agent = plistlib.loads(next(iter(plan("one", "darwin", HOME=str(tmp_path)).files.values())).encode())
    words = agent["ProgramArguments"]
    start = words.index(sys.executable)
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    done = subprocess.run(
        [*words[:start], sys.executable, "-c", show], env={}, capture_output=True, check=True, timeout=60
    )
    seen = json.loads(done.stdout)
    assert seen["TRILIUM_TOKEN"] == f"a b$(touch {tmp_path}/ran)'\""
    assert seen["LAST"] == "no line end"
    assert not {"BAD-NAME", "", "3X", "not a line"} & seen.keys()
    assert not (tmp_path / "ran").exists()


def test_an_agent_without_an_env_file_starts_all_the_same(tmp_path: Path) -> None:
    agent = plistlib.loads(next(iter(plan("one", "darwin", HOME=str(tmp_path)).files.values())).encode())
    words = agent["ProgramArguments"]
    done = subprocess.run(
        [*words[: words.index(sys.executable)], "/bin/echo", "started"], env={}, capture_output=True, timeout=60
    )
    assert done.stdout == b"started\n"


def test_another_system_is_told_that_nothing_is_known_for_it() -> None:
    with pytest.raises(SettingsError, match="'win32', only for Linux and macOS"):
        plan("one", "win32")


@pytest.mark.skipif(sys.platform != "linux", reason="writes systemd units")
def test_init_writes_the_units_once_and_says_what_to_enable(tmp_path: Path) -> None:
    def init(*words: str) -> str:
        command = [sys.executable, "-m", "passageway_cli", "init", *words]
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True
        )
        return done.stdout

    unit = tmp_path / ".config/systemd/user/passageway.service"
    said = init("--service")
    assert f"{unit}: created" in said
    assert "2. systemctl --user enable --now passageway.service\n  3. loginctl enable-linger\n" in said
    assert (tmp_path / ".local/share/passageway").is_dir(), "a unit with its own file system could not make it"

    unit.write_text("mine", encoding="utf-8")
    assert f"{unit}: there already and different" in init("--service", "one")
    assert unit.read_text(encoding="utf-8") == "mine"

    said = init("--service", "three")
    assert f"systemctl --user disable --now passageway.service; rm {unit}" in said
