"""`python -m passageway_embedder_openai`: the program that passageway starts."""

import os
import sys

from passageway_embedder_openai.answers import serve
from passageway_embedder_openai.service import Service
from passageway_embedder_openai.settings import SettingsError, load_settings


def main() -> int:
    """Answer requests until stdin ends; 0 then, 2 when a setting is wrong."""
    try:
        settings = load_settings(os.environ)
    except SettingsError as error:
        print(f"openai embedder: {error}", file=sys.stderr)
        return 2
    with open(0, encoding="utf-8", closefd=False) as requests:
        serve(requests, sys.stdout, settings, Service(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
