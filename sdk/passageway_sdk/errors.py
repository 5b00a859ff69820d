"""How a connector's call can fail, by who can act on it.

Failure
├── SettingsError   whoever configures the connector: a setting is missing or wrong (exit code 2)
│   └── UsageError      whoever calls it: an unknown mode, a bad `--since`, a line on stdin that is no id (exit code 2)
├── SourceError     time, or whoever runs the source: it is down, slow, or refuses us (exit code 1)
└── RecordError     the connector's author: a record that breaks the protocol (exit code 1)

Each ends the process with `name: message` on stderr. Any other exception is a bug and keeps its traceback.
"""

from typing import ClassVar


class Failure(Exception):
    """The root; `exit_code` is what the process ends with."""

    exit_code: ClassVar[int] = 1


class SettingsError(Failure):
    """A setting is missing or wrong. Say which one, what it holds and what you expected."""

    exit_code: ClassVar[int] = 2


class UsageError(SettingsError):
    """The program was called in a way the protocol does not know."""


class SourceError(Failure):
    """The source cannot be read just now, so the call fails as a whole."""


class RecordError(Failure):
    """The connector made a record that the core would refuse."""
