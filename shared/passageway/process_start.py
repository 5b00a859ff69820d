"""Starting a program in a process group of its own, and ending the group, even when this process is killed itself."""

import errno
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

# Its stdin ends when passageway does, however passageway ends; `read` then returns and the group is killed.
_GUARD = ("/bin/sh", "-c", 'read -r line; kill -s KILL -- "-$0"')


def checked_command(command: Sequence[str]) -> tuple[str, ...]:
    """The words of the command. Raises ValueError for a single string, which no shell would split, and for nothing."""
    if isinstance(command, str) or not command:
        raise ValueError(f"command is {command!r}, expected a list of words, the program first")
    return tuple(command)


def start(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """The started program with three pipes. Raises OSError or ValueError with a message for its configurer."""
    try:
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise OSError(_why_not_started(command[0], environment, error)) from error
    except ValueError as error:
        raise ValueError(f"cannot be started, `command` and `env` must be plain text: {error}") from error


def kill_group(group: int) -> None:
    """Kill every process of the group; none left is fine."""
    # macOS answers EPERM for a group of which only zombies are left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class Guard:
    """A tiny shell that kills the group should this process end before `close`: killed, crashed, out of memory."""

    def __init__(self, group: int) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        try:
            self._shell = subprocess.Popen(
                [*_GUARD, str(group)],
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            # A container without a shell: when passageway, its first process, ends there, everything does.
            logger.debug("no guard for process group %d: %s", group, error)

    def close(self) -> None:
        """End the shell; the group is left alone."""
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.kill()
            self._shell.wait()
            self._shell.stdin.close()


def _why_not_started(program: str, environment: Mapping[str, str], error: OSError) -> str:
    found = shutil.which(program, mode=os.F_OK, path=environment.get("PATH", os.defpath))
    if isinstance(error, FileNotFoundError) and found is not None:
        return f"{found!r} cannot be started: its first line names an interpreter that does not exist"
    if isinstance(error, FileNotFoundError) and "/" in program:
        return f"the program {program!r} does not exist; `command` must name an existing one"
    if isinstance(error, FileNotFoundError):
        return f"the program {program!r} is not on PATH; give its full path in `command`"
    if isinstance(error, PermissionError) and Path(program).is_dir():
        return f"{program!r} is a folder; `command` must name a program in it"
    if isinstance(error, PermissionError):
        return f"{program!r} may not be executed; `chmod +x` it, or name its interpreter first in `command`"
    if error.errno == errno.ENOEXEC:
        return f"{program!r} is no program; a script begins with a line such as #!/usr/bin/env python3"
    return f"{program!r} cannot be started: {error.strerror or error}"
