"""Certificates: what the operating system trusts is trusted, nothing else."""

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CALL = """
import sys
from passageway_sdk import SourceError
from passageway_sdk.web import Client
try:
    with Client("passageway-test/1", verify_tls=sys.argv[2] == "yes", sleep=lambda s: sys.exit("waited")) as client:
        print(client.json(sys.argv[1]))
except SourceError as error:
    print("failed:", error)
"""


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate of our own for 127.0.0.1, which nobody trusts yet."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Harbour authority")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("authority") / "both.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture(scope="module")
def https_url(authority: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hello)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def call(url: str, *, verify: bool = True, **env: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", CALL, url, "yes" if verify else "no"],
        capture_output=True,
        text=True,
        timeout=60,
        env=env,
    )
    return result.stdout + result.stderr


def test_a_certificate_nobody_trusts_fails_at_once_with_the_way_out(https_url: str) -> None:
    said = call(https_url)
    assert said.startswith("failed: https://127.0.0.1:")
    assert "certificate could not be verified" in said and "operating system's trust store" in said


def test_an_authority_the_operating_system_trusts_is_trusted(https_url: str, authority: Path, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only OpenSSL's store can be pointed elsewhere by a variable")
    certificate = tmp_path / "store.pem"
    text = authority.read_text(encoding="ascii")
    certificate.write_text(text[text.index("-----BEGIN CERTIFICATE") :], encoding="ascii")
    assert call(https_url, SSL_CERT_FILE=str(certificate)) == "{}\n"


def test_the_check_can_be_turned_off(https_url: str) -> None:
    assert call(https_url, verify=False) == "{}\n"
