"""What a service manager reads: systemd user units and launchd agents, as text."""

import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LABEL = "local.passageway"

STOP_S = 15
"""Seconds for a stop: open requests get three, a connector's call that is being killed a few more."""

RESTART_S = 10
"""Seconds before a process that ended is started again: a mistake in the configuration must not fill the log."""

HARDENED = """\
# What it may do. A connector that needs more gets it with `systemctl --user edit`, one line a need.
NoNewPrivileges=yes
UMask=0077
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
"""

# Not where connectors or an embedder program run: in some languages they compile as they run.
NO_PROGRAMS = """\
MemoryDenyWriteExecute=yes
"""

OWN_FILE_SYSTEM = """\
PrivateUsers=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
"""

# An EnvironmentFile for launchd, which has none. The values are taken as they are: nothing in them is run.
WITH_ENV_FILE = """\
if [ -r "$1" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case ${line%%=*} in "$line" | "" | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    export "$line"
  done < "$1"
fi
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """One process of the service; the empty role is all of them in one. `writable` are the folders it writes to."""

    role: str
    instance: str | None
    command: tuple[str, ...]
    environment: Mapping[str, str]
    env_file: Path
    log: Path
    writable: tuple[Path, ...]


def process_name(role: str, instance: str | None, separator: str) -> str:
    """`passageway`, `passageway-sync`, `passageway-sync@work`: a role never reads like an instance's name."""
    return f"passageway{'-' + role if role else ''}{separator + instance if instance else ''}"


def unit(process: ServiceProcess, group: str | None, *, namespaces: bool) -> str:
    """A systemd user unit; part of the `group` target if there is one.

    `namespaces` says whether it may ask for a file system of its own, read-only but for its folders.
    """
    lines = ["[Unit]", f"Description=passageway {process.role or 'server'}{_of(process.instance)}"]
    if group:
        lines.append(f"PartOf={group}")
    lines += ["", "[Service]", "Type=exec", f"ExecStart={' '.join(map(_argument, process.command))}"]
    lines += [f"Environment={_quoted(f'{name}={value}')}" for name, value in process.environment.items()]
    lines.append("# The tokens that passageway.toml refers to as env:NAME, a NAME=value a line; for your eyes only.")
    lines.append(f"EnvironmentFile=-{_path(process.env_file)}")
    lines += ["Restart=always", f"RestartSec={RESTART_S}", f"TimeoutStopSec={STOP_S}", "KillMode=mixed", ""]
    lines.append(HARDENED + (NO_PROGRAMS if process.role == "query" else ""))
    if namespaces:
        paths = " ".join(_quoted(f"-{path}") for path in dict.fromkeys(process.writable))
        lines.append(f"{OWN_FILE_SYSTEM}ReadWritePaths={paths}\n")
    if group is None:
        lines += ["[Install]", "WantedBy=default.target", ""]
    return "\n".join(lines)


def target(instance: str | None, units: Sequence[str]) -> str:
    """The systemd target that starts and stops the units together."""
    wants = "\n".join(f"Wants={name}" for name in units)
    return f"[Unit]\nDescription=passageway{_of(instance)}\n{wants}\n\n[Install]\nWantedBy=default.target\n"


def agent(label: str, process: ServiceProcess) -> str:
    """A launchd agent, as an XML property list."""
    values = {
        "Label": label,
        "ProgramArguments": [
            "/bin/sh", "-c", WITH_ENV_FILE, "passageway", str(process.env_file), *process.command
        ],
        "EnvironmentVariables": dict(process.environment),
        "RunAtLoad": True,
        "KeepAlive": True,
        "ThrottleInterval": RESTART_S,
        "ExitTimeOut": STOP_S,
        "Umask": 0o077,
        "StandardOutPath": str(process.log),
        "StandardErrorPath": str(process.log),
    }  # fmt: skip
    return plistlib.dumps(values, sort_keys=False).decode("utf-8")


def _of(instance: str | None) -> str:
    return f" ({instance})" if instance else ""


def _path(path: Path) -> str:
    """A path where systemd takes one as it is, but for its specifiers."""
    return str(path).replace("%", "%%")


def _quoted(text: str) -> str:
    """The text as one word for systemd: in quotes, with its specifiers and escapes taken literally."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return f'"{escaped}"'


def _argument(word: str) -> str:
    """As `_quoted`, for a command line, where a dollar sign names a variable."""
    return _quoted(word).replace("$", "$$")
