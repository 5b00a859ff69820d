"""Secret references (`env:NAME`), the environment a program is given, and masking."""

import os
import re
from collections.abc import Iterable, Mapping

from passageway.errors import SettingsError

MASK = "***"
INHERITED = ("PATH", "HOME")
_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)\Z")


def check_reference(reference: str, where: str) -> str:
    """The variable named by `env:NAME`. Raises SettingsError, without quoting what may be the secret itself."""
    match = _REFERENCE.match(reference)
    if match is None:
        raise SettingsError(
            f"{where}: expected a reference such as env:MY_TOKEN, got something else. "
            "Put the secret in an environment variable and name it here"
        )
    return match.group(1)


def resolve(references: Mapping[str, str], owner: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The secrets by the names the program knows them under. Raises SettingsError naming the variable that is unset."""
    environ = os.environ if environ is None else environ
    secrets = {}
    for name, reference in references.items():
        variable = check_reference(reference, f"{owner}: secret {name!r}")
        value = environ.get(variable)
        if not value:
            raise SettingsError(
                f"{owner}: secret {name!r} refers to {variable}, which is not set; set it where passageway starts"
            )
        secrets[name] = value
    return secrets


def program_environment(env: Mapping[str, str], secrets: Mapping[str, str], protocol: str) -> dict[str, str]:
    """All that a connector or embedder sees: PATH and HOME, the protocol's version, its own settings and secrets."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **env, **secrets, "PASSAGEWAY_PROTOCOL": protocol}


def mask(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret replaced, longest first so that no part of one is left standing."""
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text
