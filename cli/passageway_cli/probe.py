"""`python -m passageway_cli.probe [PORT]`: the health check of a container, in a few milliseconds and without curl."""

import http.client
import os
import sys
from collections.abc import Mapping, Sequence

TIMEOUT_S = 4
"""Of the five seconds that the image's health check may take."""


def probe(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """0 when `/health` on this machine's port answers with 200, else 1. The port is PASSAGEWAY_PORT's by default."""
    port = int(argv[0] if argv else environ.get("PASSAGEWAY_PORT") or 8082)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except OSError as error:
        print(f"port {port}: {error}", file=sys.stderr)
        return 1
    finally:
        connection.close()
    if status != http.client.OK:
        print(f"port {port} answered {status}", file=sys.stderr)
    return int(status != http.client.OK)


if __name__ == "__main__":
    sys.exit(probe(sys.argv[1:], os.environ))
