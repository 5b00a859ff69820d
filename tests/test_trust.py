"""Every HTTPS client of the tree trusts what the operating system trusts, through truststore.

A client is found by reading the code. One that is not listed below has to be given a context of truststore; a new one
needs no entry here.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("shared", "services", "cli", "sdk", "connectors", "embedders", "corpus", "benchmarks", "docs", "plugin")

OWN_SERVICES = {
    "shared/passageway/embed_client.py": "asks the embed service over plain http on the loopback address",
    "cli/passageway_cli/own_server.py": "asks the server of this machine over plain http",
    "benchmarks/hook.py": "asks the server it started itself over plain http",
}
"""Clients without TLS, and why."""
STANDARD_LIBRARY_ONLY = ("plugin/",)
"""Runs with whatever Python a machine has, without this project's packages, and asks the server on that machine."""

_OPENERS = frozenset(
    ("Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport")
    + ("get", "post", "put", "patch", "delete", "head", "options", "request", "stream")
)
_OTHER_LIBRARIES = frozenset(("requests", "urllib3", "aiohttp", "httplib2", "pycurl"))
_OTHER_WAYS = frozenset(
    (
        "urllib.request.urlopen",
        "urllib.request.build_opener",
        "http.client.HTTPSConnection",
        "urlopen",
        "HTTPSConnection",
    )
    + ("ssl.SSLContext", "ssl.create_default_context", "ssl._create_unverified_context", "truststore.inject_into_ssl")
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in the code that opens connections, and whether it does so as it should."""

    file: str
    line: int
    call: str
    trusts: bool


def findings(tree: ast.Module, file: str) -> Iterator[Finding]:
    """The places of one module."""
    from_httpx = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "httpx"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (
                Finding(file, node.lineno, name, False) for name in names if name.split(".")[0] in _OTHER_LIBRARIES
            )
        elif isinstance(node, ast.Call) and (call := ast.unparse(node.func)) in _OTHER_WAYS:
            yield Finding(file, node.lineno, call, False)
        elif isinstance(node, ast.Call) and _opens(node.func, from_httpx):
            verify = next((keyword.value for keyword in node.keywords if keyword.arg == "verify"), None)
            yield Finding(file, node.lineno, ast.unparse(node.func), verify is not None and _is_trusted(verify, tree))


def _opens(function: ast.expr, from_httpx: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in from_httpx & _OPENERS
    if not isinstance(function, ast.Attribute) or function.attr not in _OPENERS:
        return False
    # The SDK loads httpx through a function of its own.
    return ast.unparse(function.value) in ("httpx", "http_library()")


def _is_trusted(value: ast.expr, tree: ast.Module) -> bool:
    """Whether the value is a context of truststore: made in place, kept under a name, or returned by a function."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "truststore.SSLContext":
        return True
    if isinstance(value, ast.Name):
        assigned = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and value.id in [ast.unparse(target) for target in _targets(node)]
        ]
        return bool(assigned) and all(made is not None and _is_trusted(made, tree) for made in assigned)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        made_by = value.func.id
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == made_by]
        returned = [node.value for f in functions for node in ast.walk(f) if isinstance(node, ast.Return)]
        return bool(returned) and all(made is not None and _is_trusted(made, tree) for made in returned)
    return False


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def all_findings() -> list[Finding]:
    found: list[Finding] = []
    for path in sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if "tests" not in path.parts and ".venv" not in path.parts and not file.startswith(STANDARD_LIBRARY_ONLY):
            found += findings(ast.parse(path.read_text(encoding="utf-8")), file)
    return found


def test_every_https_client_trusts_what_the_operating_system_trusts() -> None:
    strangers = [found for found in all_findings() if not found.trusts and found.file not in OWN_SERVICES]
    assert [f"{found.file}:{found.line} {found.call}" for found in strangers] == []


def test_the_clients_of_the_tree_are_found() -> None:
    trusting = {found.file for found in all_findings() if found.trusts}
    assert {"sdk/passageway_sdk/web/transport.py", "services/embed/passageway_embed/download.py"} <= trusting


@pytest.mark.parametrize("file", sorted(OWN_SERVICES))
def test_a_client_without_tls_ignores_proxies_and_other_settings_of_the_internet(file: str) -> None:
    if not (ROOT / file).exists():
        pytest.skip(f"{file} is not there")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _opens(node.func, set())]
    assert calls and all("trust_env=False" in ast.unparse(call) for call in calls)


@pytest.mark.parametrize(
    ("code", "trusts"),
    [
        ("httpx.Client(verify=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT))", True),
        ("context: ssl.SSLContext = truststore.SSLContext(x)\nhttpx.AsyncClient(verify=context)", True),
        ("def tls():\n    return truststore.SSLContext(x)\nhttpx.Client(verify=tls())", True),
        ("http_library().Client(verify=truststore.SSLContext(x))", True),
        ("httpx.Client()", False),
        ("httpx.get('https://example.org')", False),
        ("httpx.Client(verify=True)", False),
        ("httpx.Client(verify=False)", False),
        ("context = truststore.SSLContext(x)\ncontext = other()\nhttpx.Client(verify=context)", False),
        ("from httpx import AsyncClient\nAsyncClient()", False),
        ("from httpx import Client\nClient(verify=truststore.SSLContext(x))", True),
        ("urllib.request.urlopen('https://example.org')", False),
        ("ssl.create_default_context()", False),
        ("import requests", False),
        ("from aiohttp import ClientSession", False),
    ],
)
def test_a_client_is_told_from_one_that_trusts_something_else(code: str, trusts: bool) -> None:
    assert [found.trusts for found in findings(ast.parse(code), "x.py")] == [trusts]


@pytest.mark.parametrize("code", ["client.get(url)", "httpx.URL(x)", "cache.get('a')", "Client(name)", "x.request()"])
def test_what_opens_no_connection_is_no_client(code: str) -> None:
    assert list(findings(ast.parse(code), "x.py")) == []
