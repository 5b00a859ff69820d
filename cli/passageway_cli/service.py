"""Keeps passageway running: the files of its services, for one process or three, one set an instance."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from passageway.errors import SettingsError
from passageway.settings import VARIABLES, Settings
from passageway_cli.service_files import LABEL, ServiceProcess, agent, process_name, target, unit

ENV_FILE = "env"
"""Beside the configuration file: the tokens of the sources, a NAME=value a line."""

Layout = Literal["one", "three"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

ROLES: Mapping[Layout, tuple[str, ...]] = {"one": ("",), "three": ("embed", "sync", "query")}
"""The command of each process; the empty one is all of them in one."""

# The password has a file, the instance has an option, and the version is that of whatever is installed then.
_NOT_CARRIED = ("PASSAGEWAY_LOGIN_PASSWORD", "PASSAGEWAY_LOGIN_PASSWORD_FILE", "PASSAGEWAY_INSTANCE", "APP_VERSION")
# Where the configuration and the data are by default; the service manager may not know what the shell was told.
_PLACES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")
_PATHS = (*_PLACES, "PASSAGEWAY_CONFIG", "PASSAGEWAY_DATA_DIR", "PASSAGEWAY_MODEL_DIR")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, and the commands that make it run now and after every boot.

    `retired` are the names of the other layout's units or agents and their files, which must not run beside this one.
    """

    files: Mapping[Path, str]
    commands: tuple[str, ...]
    retired: Mapping[Path, str]


def service_plan(
    settings: Settings, layout: Layout, environ: Mapping[str, str], platform: str, *, namespaces: bool
) -> Plan:
    """The service files for this interpreter and these settings. Pure: nothing is read or written.

    `namespaces` says whether units may ask for a file system of their own. Raises SettingsError where neither systemd
    nor launchd is the service manager, and for an instance without a port of its own.
    """
    _check_ports(settings, layout, environ)
    home = Path(environ.get("HOME") or Path.home())
    processes = _processes(settings, layout, environ, home)
    if platform == "darwin":
        return _launchd_plan(processes, layout, settings.instance, home / "Library" / "LaunchAgents")
    if platform == "linux":
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
        return _systemd_plan(processes, layout, settings.instance, folder, namespaces)
    raise SettingsError(f"--service: no service files are known for {platform!r}, only for Linux and macOS")


def write_files(plan: Plan) -> dict[Path, str]:
    """Write what is missing; each path with what became of it. Raises SettingsError."""
    return {path: _write(path, text) for path, text in plan.files.items()}


def writable_folders(settings: Settings) -> tuple[Path, ...]:
    """What a service writes to. They must be there when it starts: it cannot make them in a file system of its own."""
    folders = (settings.data_dir, settings.models_dir.parent, settings.model_dir)
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))


def namespaces_work() -> bool:
    """Whether this user's services may have a file system of their own: some distributions keep that for root."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _write(path: Path, text: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            same = path.read_text(encoding="utf-8") == text
            return "there already" if same else "there already and different; remove it to have it written anew"
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be written: {error}") from error
    return "created"


def _check_ports(settings: Settings, layout: Layout, environ: Mapping[str, str]) -> None:
    if settings.instance is None:
        return
    for name in ("PASSAGEWAY_PORT", "PASSAGEWAY_EMBED_PORT")[: 2 if layout == "three" else 1]:
        if not environ.get(name):
            raise SettingsError(
                f"--service: instance {settings.instance!r} needs a port of its own; "
                f"set {name} to a free one and say it again"
            )


def _processes(settings: Settings, layout: Layout, environ: Mapping[str, str], home: Path) -> dict[str, ServiceProcess]:
    """The processes by role."""
    folder = settings.config_path.parent
    carried = {"PATH": _search_path(environ), **_carried(environ)}
    password_file = environ.get("PASSAGEWAY_LOGIN_PASSWORD_FILE") or str(folder / "password")
    password = {"PASSAGEWAY_LOGIN_PASSWORD_FILE": _absolute(password_file)}
    option = ("--instance", settings.instance) if settings.instance else ()
    return {
        role: ServiceProcess(
            role=role,
            instance=settings.instance,
            # -P: a file in the folder where the service starts must not stand in for one of ours.
            command=(sys.executable, "-P", "-m", "passageway_cli", *option, *((role,) if role else ())),
            environment=carried if role in ("embed", "sync") else {**carried, **password},
            env_file=folder / ENV_FILE,
            log=home / "Library" / "Logs" / f"{process_name(role, settings.instance, '.')}.log",
            writable=writable_folders(settings),
        )
        for role in ROLES[layout]
    }


def _carried(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that are set now, so that the service has them too."""
    names = [*_PLACES, *(variable.name for variable in VARIABLES if variable.name not in _NOT_CARRIED)]
    found = {name: environ[name] for name in names if environ.get(name)}
    return {name: _absolute(value) if name in _PATHS else value for name, value in found.items()}


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _search_path(environ: Mapping[str, str]) -> str:
    """This environment's programs first, so that `python` in passageway.toml is the one that has the connectors."""
    folders = [str(Path(sys.executable).parent), *(environ.get("PATH") or os.defpath).split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if os.path.isabs(folder)))


def _systemd_plan(
    processes: Mapping[str, ServiceProcess], layout: Layout, instance: str | None, folder: Path, namespaces: bool
) -> Plan:
    names = {role: f"{process_name(role, instance, '@')}.service" for roles in ROLES.values() for role in roles}
    whole = f"{process_name('', instance, '@')}.target"
    group = whole if layout == "three" else None
    files = {folder / names[role]: unit(each, group, namespaces=namespaces) for role, each in processes.items()}
    if group:
        files[folder / group] = target(instance, [names[role] for role in processes])
        other = [names[""]]
    else:
        other = [whole, *(names[role] for role in ROLES["three"])]
    commands = (f"systemctl --user enable --now {group or names['']}", "loginctl enable-linger")
    retired = {folder / name: f"systemctl --user disable --now {name}" for name in other}
    return Plan(files, commands, retired)


def _launchd_plan(processes: Mapping[str, ServiceProcess], layout: Layout, instance: str | None, folder: Path) -> Plan:
    labels = {
        role: process_name(role, instance, ".").replace("passageway", LABEL, 1)
        for roles in ROLES.values()
        for role in roles
    }
    files = {folder / f"{labels[role]}.plist": agent(labels[role], each) for role, each in processes.items()}
    paths = " ".join(f"'{path}'" for path in files)
    checked = labels[list(processes)[-1]]
    commands = (
        f"launchctl bootstrap gui/$(id -u) {paths}",
        f"launchctl print gui/$(id -u)/{checked} | grep 'state ='",
    )
    others = [labels[role] for role in labels if role not in processes]
    retired = {folder / f"{label}.plist": f"launchctl bootout gui/$(id -u)/{label}" for label in others}
    return Plan(files, commands, retired)
