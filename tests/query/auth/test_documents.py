"""Clients that describe themselves: what is fetched, what never is, and the official client signing in that way."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from passageway_query.auth.documents import (
    MAX_BYTES,
    MAX_FETCHES_A_MINUTE,
    NOT_PUBLIC,
    DocumentError,
    Documents,
    Reach,
    is_document_address,
    is_public,
    resolved,
)

HOST = "app.example"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for the app's name alone, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 7, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "app.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(pem))
    return file


class App:
    """An app's web site on loopback: what it answers can be set, and what it was asked is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"https://{HOST}:{port}/client.json"
        self.asked: list[tuple[str, str]] = []
        self.status = 200
        self.headers = {"Content-Type": "application/json"}
        self.document: dict[str, Any] = {
            "client_id": self.address,
            "client_name": "The App",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "token_endpoint_auth_method": "none",
        }
        self.body: bytes | None = None
        self.open = threading.Event()
        self.open.set()

    @property
    def answer(self) -> bytes:
        return json.dumps(self.document).encode() if self.body is None else self.body


@pytest.fixture
def app(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """The web site, whose certificate this machine trusts."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            app.asked.append((self.headers["Host"], self.path))
            app.open.wait(20)
            self.send_response(app.status)
            for name, value in app.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(app.answer)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: a client that hangs up is what some tests are about."""

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Quiet(("127.0.0.1", 0), Site) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        app = App(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield app
        app.open.set()
        server.shutdown()
        thread.join()


async def loopback(host: str) -> list[str]:
    """A resolver that knows every name to be on this machine."""
    return ["127.0.0.1"]


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(app: App, clock: Clock) -> Documents:
    """Documents of the app's site, with loopback for the internet."""
    return Documents(Reach(loopback, lambda address: True, app.port), clock=clock)


@pytest.mark.parametrize(
    "address",
    ["https://app.example/client.json", "https://app.example:443/a/b", "https://claude.ai/oauth/x-metadata"],
)
def test_an_https_address_with_a_path_can_be_a_client_id(address: str) -> None:
    assert is_document_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://user@app.example/c",
        "https://user:password@app.example/c",
        "https://app.example/c#fragment",
        "https://app.example/c?query=1",
        "https://app.example/a/../c",
        "https://app.example/a/%2e%2e/c",
        "https://app.example/./c",
        "https://localhost/c",
        "https://intranet/c",
        "https://127.0.0.1/c",
        "https://127.1/c",
        "https://0x7f.0.0.1/c",
        "https://2130706433/c",
        "https://[::1]/c",
        "https://app.example:99999/c",
        "https://app.example /c",
        "https://app.example\\@evil.example/c",
        "https://äpp.example/c",
        "https://app.example/" + "c" * 500,
        "",
    ],
)
def test_anything_else_is_no_address_of_a_document(address: str) -> None:
    assert not is_document_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "160.79.104.1", "2606:4700:4700::1111"])
def test_hosts_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.0.9",
        "192.88.99.1",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::10.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002:a00:1::1",
        "2001:0:1::1",
        "2001:db8::1",
        "localhost",
        "",
    ],
)
def test_private_local_shared_and_translated_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.anyio
async def test_a_document_is_read_over_https_under_its_own_name(app: App, documents: Documents) -> None:
    client = await documents.read(app.address)
    assert (client.client_id, client.name) == (app.address, "The App")
    assert client.redirect_uris == ("http://127.0.0.1/callback",)
    assert app.asked == [(f"{HOST}:{app.port}", "/client.json")]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["2606:4700::1111", "::1"], ["169.254.169.254"], []]
)
async def test_a_name_with_any_address_that_is_not_public_is_never_connected_to(app: App, addresses: list[str]) -> None:
    async def resolve(host: str) -> list[str]:
        return addresses

    documents = Documents(Reach(resolve, is_public, app.port))
    with pytest.raises(DocumentError, match=NOT_PUBLIC):
        await documents.read(app.address)
    assert app.asked == []


@pytest.mark.anyio
async def test_a_name_is_resolved_once_so_that_a_second_answer_changes_nothing(app: App) -> None:
    asked: list[str] = []

    async def rebinding(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    await Documents(Reach(rebinding, lambda address: True, app.port)).read(app.address)
    assert asked == [HOST]


@pytest.mark.anyio
async def test_another_port_than_that_of_https_is_never_connected_to(app: App) -> None:
    with pytest.raises(DocumentError, match=NOT_PUBLIC):
        await Documents(Reach(loopback, lambda address: True)).read(app.address)
    assert app.asked == []


@pytest.mark.anyio
async def test_a_name_of_this_machine_and_one_of_nobody_are_refused_alike() -> None:
    for host in ("localhost.localdomain", "nobody.invalid"):
        with pytest.raises(DocumentError, match=NOT_PUBLIC):
            await Documents().read(f"https://{host}/c")
    assert await resolved("127.0.0.1") == ["127.0.0.1"]


@pytest.mark.anyio
async def test_a_certificate_for_another_name_is_refused(app: App, documents: Documents) -> None:
    with pytest.raises(DocumentError, match="no answer"):
        await documents.read(app.address.replace(HOST, "other.example"))
    assert app.asked == []


@pytest.mark.anyio
async def test_a_redirect_is_not_followed(app: App, documents: Documents) -> None:
    app.status, app.headers = 302, {"Location": "http://169.254.169.254/latest"}
    with pytest.raises(DocumentError, match="answered 302"):
        await documents.read(app.address)
    assert len(app.asked) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"client_id": "https://other.example/client.json"}, "describes another app"),
        ({"client_id": None}, "describes another app"),
        ({"redirect_uris": None}, "redirect_uris"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "redirect address must be https"),
        ({"redirect_uris": ["http://evil.example/"]}, "redirect address must be https"),
        ({"redirect_uris": [7]}, "redirect address must be https"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "another way to prove itself"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "another way to prove itself"),
        ({"client_secret": "s"}, "another way to prove itself"),
        ({"logo_uri": "x" * MAX_BYTES}, "over 5,120 bytes"),
    ],
)
async def test_a_document_that_cannot_be_used_says_why(
    app: App, documents: Documents, change: dict[str, Any], problem: str
) -> None:
    app.document |= change
    with pytest.raises(DocumentError, match=problem):
        await documents.read(app.address)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        (b"<html>", "text/html", "not JSON"),
        (b"{}", "text/plain", "not JSON"),
        (b"{", "application/json", "not JSON"),
        (b"[]", "application/json", "another app"),
        (b"[" * 5000, "application/json", "not JSON"),
        (b"\xff\xfe", "application/json", "not JSON"),
        (b"null", "application/client-id+json; charset=utf-8", "another app"),
    ],
)
async def test_what_is_no_document_is_refused(
    app: App, documents: Documents, body: bytes, kind: str, problem: str
) -> None:
    app.body, app.headers = body, {"Content-Type": kind}
    with pytest.raises(DocumentError, match=problem):
        await documents.read(app.address)


@pytest.mark.anyio
async def test_a_document_that_does_not_come_is_given_up(app: App, documents: Documents) -> None:
    app.open.clear()
    with pytest.raises(DocumentError, match="within 5 seconds"):
        await documents.read(app.address)


@pytest.mark.anyio
async def test_a_document_is_kept_for_an_hour_and_used_as_it_was_while_its_site_is_down(
    app: App, documents: Documents, clock: Clock
) -> None:
    await documents.read(app.address)
    app.document["client_name"] = "Renamed"
    assert (await documents.read(app.address)).name == "The App"
    clock.now_s += 3601
    app.status = 503
    assert (await documents.read(app.address)).name == "The App"
    clock.now_s += 61
    app.status = 200
    assert (await documents.read(app.address)).name == "Renamed"


@pytest.mark.anyio
async def test_a_failure_is_not_asked_about_again_for_a_minute(app: App, documents: Documents, clock: Clock) -> None:
    app.status = 404
    for _ in range(3):
        with pytest.raises(DocumentError, match="404"):
            await documents.read(app.address)
    assert len(app.asked) == 1
    clock.now_s += 61
    app.status = 200
    assert (await documents.read(app.address)).name == "The App"


@pytest.mark.anyio
async def test_fetches_are_bounded_in_a_minute_and_what_is_kept_in_number(
    app: App, documents: Documents, clock: Clock
) -> None:
    for number in range(MAX_FETCHES_A_MINUTE):
        with pytest.raises(DocumentError, match="another app"):
            await documents.read(f"https://{HOST}:{app.port}/{number}.json")
    with pytest.raises(DocumentError, match="too many apps"):
        await documents.read(app.address)
    clock.now_s += 61
    assert (await documents.read(app.address)).name == "The App"


# At the login


@pytest.fixture
def asking(documents: Documents, meet: Callable[..., Any]) -> Any:
    """A person in front of a login that takes documents."""
    return meet(documents=documents)


def client_of(app: App, **changes: Any) -> dict[str, Any]:
    """The app as a client that asks."""
    return {"client_id": app.address, "redirect_uris": ["http://127.0.0.1:4711/callback"], **changes}


def test_the_metadata_offers_documents_only_where_they_are_switched_on(
    asking: Any, person: Any, make_settings: Callable[..., Any]
) -> None:
    path = "/.well-known/oauth-authorization-server"
    assert asking.http.get(path).json()["client_id_metadata_document_supported"] is True
    assert "client_id_metadata_document_supported" not in person.http.get(path).json()
    assert make_settings(PASSAGEWAY_CLIENT_DOCUMENTS="on").client_documents
    assert not make_settings().client_documents


def test_the_page_says_where_the_app_is_described(app: App, asking: Any) -> None:
    page = asking.authorize(client_of(app))
    assert page.status_code == 200
    assert "Connect The App?" in page.text
    assert f"described at <strong>{HOST}</strong>" in page.text


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_of_either_era_signs_in_by_a_document_that_is_fetched(
    app: App, asking: Any, signs_in: Callable[..., Any], mode: str
) -> None:
    client = await signs_in(asking, "none", "http://127.0.0.1:4711/callback", app.address, mode)
    assert client.client_id == app.address
    assert len(app.asked) == 1


def test_an_address_that_the_document_does_not_name_is_a_page_and_no_redirect(app: App, asking: Any) -> None:
    reply = asking.authorize(client_of(app, redirect_uris=["http://127.0.0.1:4711/other"]))
    assert reply.status_code == 400
    assert "location" not in reply.headers


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_document_that_cannot_be_had_is_a_clear_page_and_never_a_500(app: App, asking: Any, status: int) -> None:
    app.status = status
    reply = asking.authorize(client_of(app))
    assert reply.status_code == 400
    assert "This app cannot be looked up" in reply.text
    assert f"answered {status}" in reply.text


def test_claudes_own_documents_are_known_by_heart(app: App, asking: Any) -> None:
    reply = asking.authorize(
        client_of(
            app,
            client_id="https://claude.ai/oauth/mcp-oauth-client-metadata",
            redirect_uris=["https://claude.ai/api/mcp/auth_callback"],
        )
    )
    assert "Connect Claude?" in reply.text
    assert "described at <strong>claude.ai</strong>" in reply.text
    assert app.asked == []


def test_where_documents_are_off_nothing_is_fetched(app: App, person: Any) -> None:
    assert person.authorize(client_of(app)).status_code == 400
    assert app.asked == []


def test_tokens_are_given_and_renewed_while_the_apps_site_is_down_even_after_a_restart(
    app: App, asking: Any, documents: Documents, meet: Callable[..., Any]
) -> None:
    client = client_of(app)
    code = asking.code(client)
    app.status = 503
    tokens = asking.token(client, code).json()
    later = meet(documents=Documents())
    renewed = later.refresh(client, tokens["refresh_token"], resource=f"{later.url}/mcp")
    assert renewed.status_code == 200
    other = client_of(app, client_id=app.address.replace("client", "other"))
    assert later.refresh(other, renewed.json()["refresh_token"]).json()["error"] == "invalid_grant"
    assert len(app.asked) == 1


def test_a_document_that_changes_after_consent_changes_nothing_for_the_code(
    app: App, asking: Any, clock: Clock
) -> None:
    client = client_of(app)
    code = asking.code(client)
    clock.now_s += 3601
    app.document["redirect_uris"] = ["https://evil.example/callback"]
    assert asking.authorize(client).status_code == 400
    assert asking.token({**client, "redirect_uris": ["https://evil.example/callback"]}, code).status_code == 400
    assert asking.token(client, code).status_code == 200
