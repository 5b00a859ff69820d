"""Everything passageway raises on purpose, by who can act on it.

PassagewayError
├── SettingsError          the person who runs it: an environment variable, an option, passageway.toml (exit code 2)
├── RecordError            the author of a connector: a line that breaks the protocol
├── ConnectorError         the source or its connector: a call that failed; nothing of it was stored
│   └── ProtocolVersionError   the connector speaks another protocol version
├── EmbedderError          the embedder: not reachable, too slow, or it answered wrongly
│   └── ModelError         the model's files: missing, wrong checksum, download refused
├── StorageError           one source's file: locked, full disk, read-only
│   └── IndexDamagedError  the file is not a usable index; it is set aside and rebuilt
└── DeletionRefusedError   the deletion guard: a listing that would remove too much

A message says what was seen, what was expected and what to do. It never holds a secret.
"""


class PassagewayError(Exception):
    """The root; `exit_code` is what a command ends with when it stops on this error."""

    exit_code = 1


class SettingsError(PassagewayError):
    """A setting, an option or the configuration file is wrong; only its author can mend it."""

    exit_code = 2


class RecordError(PassagewayError):
    """A message of a connector that breaks the protocol."""


class ConnectorError(PassagewayError):
    """A connector call that failed. Nothing of it was stored."""


class ProtocolVersionError(ConnectorError):
    """The connector announced a protocol version this core does not speak."""


class EmbedderError(PassagewayError):
    """The embedder did not answer, or answered wrongly. Never to be read as 'nothing relevant'."""


class ModelChangedError(EmbedderError):
    """The embedder has another model than a moment ago. What comes after this error is the new model's."""


class ModelError(EmbedderError):
    """The model's files are missing, damaged or may not be fetched."""


class StorageError(PassagewayError):
    """One source's index file cannot be read or written; the message names the file."""


class IndexDamagedError(StorageError):
    """The file is not a usable index of this version."""


class DeletionRefusedError(PassagewayError):
    """The listing would delete more than the guard allows; nothing was deleted."""
