"""Secret references (`env:NAME`), the environment a program is given, and masking."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from passageway.errors import SettingsError

MASK = "***"
INHERITED = ("PATH", "HOME")
_MIN_LINE = 8
"""Characters. A shorter line of a secret of several lines, such as the last one of a key, is no secret by itself."""

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


def secret_forms(secrets: Iterable[str]) -> list[str]:
    """Every way in which a program may print its secrets: as they are, in a URL, in JSON, a line of several."""
    forms: set[str] = set()
    for secret in filter(None, secrets):
        lines = [line.strip() for line in secret.splitlines()]
        texts = [secret, secret.strip(), *(line for line in lines if len(line) >= _MIN_LINE)]
        for text in texts:
            in_json = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
            forms.update((text, quote(text), quote(text, safe=""), quote_plus(text), *in_json))
    return sorted(forms - {""}, key=len, reverse=True)
