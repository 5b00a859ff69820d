"""Requests to a service over real HTTP: what is sent, what is understood, what is tried again."""

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx  # noqa: F401 - loaded here, so that the first request need not load it within its time
import pytest

from passageway_embedder_openai.service import Service, ServiceError
from passageway_embedder_openai.settings import load_settings

Make = Callable[..., Service]
TEXTS = ["Lighthouses guide ships.", "Größe 停车"]


def test_openai_gets_the_model_and_the_texts_and_the_key(api: Any, make_service: Make) -> None:
    assert make_service(API_KEY="sk-1").embed(TEXTS, "passage") == api.vectors(*TEXTS)
    (request,) = api.requests
    assert (request.path, request.body) == ("/v1/embeddings", {"model": "toy", "input": TEXTS})
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.headers["content-type"] == "application/json"


def test_a_local_service_gets_no_authorization(api: Any, make_service: Make) -> None:
    make_service().embed(TEXTS, "query")
    assert "authorization" not in api.requests[0].headers


def test_voyage_is_told_a_question_from_a_document(api: Any, make_service: Make) -> None:
    service = make_service(PROVIDER="voyage", DIMENSIONS="64")
    assert service.embed(["a"], "query") == service.embed(["a"], "passage") == api.vectors("a")
    assert [request.body for request in api.requests] == [
        {"model": "toy", "input": ["a"], "input_type": "query", "output_dimension": 64},
        {"model": "toy", "input": ["a"], "input_type": "document", "output_dimension": 64},
    ]


def test_ollama_is_asked_in_its_own_words(api: Any, make_service: Make) -> None:
    assert make_service(PROVIDER="ollama", DIMENSIONS="64").embed(TEXTS, "query") == api.vectors(*TEXTS)
    (request,) = api.requests
    assert (request.path, request.body) == ("/api/embed", {"model": "toy", "input": TEXTS, "dimensions": 64})


def test_prefixes_stand_before_every_text_of_their_kind(api: Any, make_service: Make) -> None:
    service = make_service(QUERY_PREFIX="query: ", PASSAGE_PREFIX="passage: ")
    service.embed(["a", "b"], "query")
    service.embed(["c"], "passage")
    assert [request.body["input"] for request in api.requests] == [["query: a", "query: b"], ["passage: c"]]


def test_an_empty_text_is_sent_as_a_space(api: Any, make_service: Make) -> None:
    make_service().embed(["", "a"], "query")
    assert api.requests[0].body["input"] == [" ", "a"]


def test_the_connection_is_kept_for_the_next_request(api: Any, make_service: Make) -> None:
    service = make_service()
    for _ in range(3):
        service.embed(["a"], "query")
    assert (len(api.requests), api.connections) == (3, 1)


def test_vectors_are_put_into_the_order_of_the_texts(api: Any, make_service: Make) -> None:
    api.say(body={"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]})
    api.say(body={"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]})
    service = make_service()
    assert service.embed(TEXTS, "query") == [[1, 0], [0, 1]]
    assert service.embed(TEXTS, "query") == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>hello</html>", "not JSON; is BASE_URL right?"),
        (b"\xff\xfe", "not JSON"),
        ([], "no list 'data'"),
        ({"embeddings": [[1]]}, "no list 'data'"),
        ({"data": "x"}, "no list 'data'"),
        ({"data": [1, 2]}, "no list 'data'"),
        ({"data": [{"index": 0, "embedding": [1]}]}, "answered 2 texts with 1 vectors"),
        ({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "'index'"),
        ({"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]}, "'index'"),
        ({"data": [{"index": "0", "embedding": [1]}, {"index": "1", "embedding": [1]}]}, "'index'"),
        ({"data": [{"embedding": [1]}, {"embedding": "AACAPw=="}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": []}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [True]}]}, "no list of numbers"),
        ({"data": [{"embedding": [1]}, {"embedding": [float("nan")]}]}, "not finite"),
        ({"data": [{"embedding": [1]}, {"embedding": [10**400]}]}, "not finite"),
        ({"data": [{"embedding": [1, 2]}, {"embedding": [1]}]}, "1 numbers in a vector, expected 2"),
    ],
)
def test_a_reply_that_is_not_what_was_asked_for_is_an_error(
    api: Any, make_service: Make, body: Any, message: str
) -> None:
    api.say(body=body)
    with pytest.raises(ServiceError) as caught:
        make_service().embed(TEXTS, "query")
    assert message in str(caught.value) and str(caught.value).startswith("127.0.0.1:")
    assert len(api.requests) == 1


def test_vectors_of_another_length_than_the_setting_are_an_error(api: Any, make_service: Make) -> None:
    with pytest.raises(ServiceError, match="64 numbers in a vector, expected 768; DIMENSIONS must be"):
        make_service(DIMENSIONS="768").embed(TEXTS, "query")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_busy_or_failing_service_is_asked_again_after_growing_waits(
    api: Any, make_service: Make, status: int
) -> None:
    api.say(status, {"error": {"message": "busy"}}, times=4)
    assert make_service(TIMEOUT="1000").embed(TEXTS, "query") == api.vectors(*TEXTS)
    assert (api.waits, len(api.requests)) == ([1, 2, 4, 8], 5)


def test_waits_grow_to_a_minute_and_no_further(api: Any, make_service: Make) -> None:
    api.say(503, times=9)
    make_service(TIMEOUT="1000").embed(TEXTS, "query")
    assert api.waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_longer_wait_that_the_service_asks_for_is_kept(api: Any, make_service: Make) -> None:
    in_two_minutes = format_datetime(datetime.now(UTC) + timedelta(minutes=2), usegmt=True)
    for header in ("7", "0", "soon", in_two_minutes):
        api.say(429, headers={"Retry-After": header})
    make_service(TIMEOUT="1000").embed(TEXTS, "query")
    assert api.waits[:3] == [7, 2, 4] and 110 < api.waits[3] <= 120


def test_a_wait_longer_than_the_time_allows_is_given_up_at_once(api: Any, make_service: Make) -> None:
    api.say(429, {"error": {"message": "Rate limit reached"}}, headers={"Retry-After": "120"})
    message = r"429 Too Many Requests: Rate limit reached; gave up after the first try, .* 120 s .* 50 s of TIMEOUT"
    with pytest.raises(ServiceError, match=message):
        make_service().embed(TEXTS, "query")
    assert api.waits == []


def test_a_service_that_is_down_is_tried_again_and_then_named(api: Any, make_service: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        service = make_service(BASE_URL=f"http://127.0.0.1:{port}/v1", TIMEOUT="20")
        with pytest.raises(ServiceError, match=rf"127\.0\.0\.1:{port}: cannot reach it: .*gave up after 6 tries"):
            service.embed(TEXTS, "query")
    assert api.waits == [1, 2, 4, 8, 16]


def test_a_connection_that_breaks_off_is_tried_again(api: Any, make_service: Make) -> None:
    def hang_up(request: Any) -> Any:
        raise ConnectionResetError

    api.script.append(hang_up)
    assert make_service().embed(TEXTS, "query") == api.vectors(*TEXTS)
    assert api.waits == [1]


def test_a_request_that_is_not_answered_in_time_is_not_repeated(api: Any, make_service: Make) -> None:
    api.say(hang=True)
    with pytest.raises(ServiceError, match=r"no answer within 1 s \(TIMEOUT\)"):
        make_service(TIMEOUT="1").embed(TEXTS, "query")
    assert len(api.requests) == 1


def test_an_answer_that_drips_is_held_to_the_same_time(api: Any, make_service: Make) -> None:
    api.say(body="x" * 1000, drip=True)
    started = time.monotonic()
    with pytest.raises(ServiceError, match="no answer within 1 s"):
        make_service(TIMEOUT="1").embed(TEXTS, "query")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, {"error": {"message": "maximum context\nlength"}}, "400 Bad Request: maximum context length"),
        (401, {"error": {"message": "Incorrect API key"}}, "401 Unauthorized: Incorrect API key; check API_KEY"),
        (403, {"detail": "no access"}, "403 Forbidden: no access; check API_KEY"),
        (404, {"error": "model not found, try pulling it first"}, "try pulling it first; check BASE_URL and MODEL"),
        (422, b"<html>", "422 Unprocessable"),
        (413, {"error": {"code": 7}}, "413"),
    ],
)
def test_any_other_status_is_an_error_with_what_the_service_says(
    api: Any, make_service: Make, status: int, body: Any, message: str
) -> None:
    api.say(status, body)
    with pytest.raises(ServiceError) as caught:
        make_service(API_KEY="sk-1").embed(TEXTS, "query")
    assert message in str(caught.value)
    assert (api.waits, len(api.requests)) == ([], 1)


def test_a_redirect_is_not_followed_so_the_key_goes_nowhere_else(api: Any, make_service: Make) -> None:
    api.say(307, headers={"Location": f"{api.url}/elsewhere/embeddings"})
    with pytest.raises(ServiceError, match="307 .*/elsewhere/embeddings; set BASE_URL"):
        make_service(API_KEY="sk-1").embed(TEXTS, "query")
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [401, 503])
def test_the_key_is_masked_when_a_gateway_quotes_it(api: Any, make_service: Make, status: int) -> None:
    said = {"error": {"message": 'bad header "Bearer sk-a/b+c" (sk-a%2Fb%2Bc)'}}
    api.say(status, said, headers={"Retry-After": "60"})
    with pytest.raises(ServiceError) as caught:
        make_service(API_KEY="sk-a/b+c").embed(TEXTS, "query")
    assert 'bad header "Bearer ***" (***)' in str(caught.value)


def test_no_half_of_the_key_is_left_where_a_long_message_is_cut(api: Any, make_service: Make) -> None:
    for length in range(280, 301):
        api.say(400, {"error": {"message": "x" * length + "sk-0123456789abcdef"}})
    service = make_service(API_KEY="sk-0123456789abcdef")
    for _ in range(280, 301):
        with pytest.raises(ServiceError) as caught:
            service.embed(TEXTS, "query")
        assert "sk-" not in str(caught.value)


def test_an_address_that_is_none_is_named_by_its_setting(make_service: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServiceError, match="BASE_URL is no address: Invalid IDNA hostname"):
        make_service(BASE_URL="http://ü..example/v1").embed(TEXTS, "query")
    monkeypatch.setenv("ALL_PROXY", "carrier-pigeon://loft")
    with pytest.raises(ServiceError, match="the address of the proxy .*carrier-pigeon"):
        make_service().embed(TEXTS, "query")


@pytest.fixture
def https_url(tmp_path: Path) -> Iterator[str]:
    """An HTTPS server with a certificate that nobody trusts."""
    both = tmp_path / "both.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=pier", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*request, *names, "-keyout", both, "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    both.write_bytes(both.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate is made with the openssl program")
def test_a_certificate_that_nobody_trusts_fails_at_once(https_url: str) -> None:
    service = Service(load_settings({"MODEL": "m", "BASE_URL": https_url}))
    try:
        with pytest.raises(ServiceError, match="its certificate is not trusted by this machine"):
            service.embed(TEXTS, "query")
    finally:
        service.close()
