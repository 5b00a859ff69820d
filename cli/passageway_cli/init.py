"""`passageway init`: the configuration folder, a password, a file to fill in, and services that keep it running."""

import argparse
import os
import secrets
import shlex
import shutil
import sys
from pathlib import Path

from passageway.errors import SettingsError
from passageway.settings import Settings
from passageway_cli.service import Plan, namespaces_work, service_plan, writable_folders, write_files

PASSWORD_BYTES = 24
"""Of randomness: 192 bits, 32 characters."""

PASSWORD_FILE = "password"
"""Beside the configuration file."""

TEMPLATE = """\
# What passageway indexes: one [[connector]] a source. Secrets are references such as "env:MY_TOKEN", never values.
#
# [[connector]]
# name = "notes"
# command = [{python}, "-m", "passageway_connector_markdown"]
# env = {{ FOLDER = "/path/to/your/notes" }}
"""


def init(settings: Settings, arguments: argparse.Namespace) -> int:
    """Create what is missing, leave what is there, and say the next steps."""
    plan = None
    if arguments.service:
        namespaces = sys.platform == "linux" and namespaces_work()
        plan = service_plan(settings, arguments.service, os.environ, sys.platform, namespaces=namespaces)
    folder = settings.config_path.parent
    password = folder / PASSWORD_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        created = [path.name for path, text in _files(settings.config_path, password) if _write_new(path, text)]
    except OSError as error:
        raise SettingsError(f"{folder} cannot be prepared: {error}") from error
    print(f"{folder}: {'created ' + ' and '.join(created) if created else 'everything is there already'}")
    option = f" --instance {settings.instance}" if settings.instance else ""
    start = f"PASSAGEWAY_LOGIN_PASSWORD_FILE={shlex.quote(str(password))} {_own_command()}{option}"
    starts = [start] if plan is None else _prepare_service(settings, plan)
    print("\nNext:")
    print(f"  1. Say what to index in {settings.config_path}")
    for number, command in enumerate(starts, start=2):
        print(f"  {number}. {command}")
    return 0


def _own_command() -> str:
    """What to type to start this very program: its name where the PATH finds it, else its whole path."""
    own = Path(sys.executable).with_name("passageway")
    found = shutil.which("passageway")
    if found and own.exists() and Path(found).samefile(own):
        return "passageway"
    return shlex.quote(str(own)) if own.exists() else f"{shlex.quote(sys.executable)} -m passageway_cli"


def _prepare_service(settings: Settings, plan: Plan) -> tuple[str, ...]:
    """Write the service's files and make the folders it writes to; the commands that start it."""
    try:
        for folder in writable_folders(settings):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"the data folder cannot be prepared: {error}") from error
    for path, outcome in write_files(plan).items():
        print(f"{path}: {outcome}")
    old = [(path, command) for path, command in plan.retired.items() if path.exists()]
    if old:
        print("\nThese would run beside it; first remove them:")
        for path, command in old:
            print(f"  {command}; rm {shlex.quote(str(path))}")
    return plan.commands


def _files(config: Path, password: Path) -> list[tuple[Path, str]]:
    python = '"' + sys.executable.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return [(password, secrets.token_urlsafe(PASSWORD_BYTES) + "\n"), (config, TEMPLATE.format(python=python))]


def _write_new(path: Path, text: str) -> bool:
    """Whether the file was written: an existing one is never touched. Readable by its owner only."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return True
