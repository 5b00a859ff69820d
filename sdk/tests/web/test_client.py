import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import pytest

from passageway_sdk import SettingsError, SourceError
from passageway_sdk.web import (
    Client,
    RedirectRefusedError,
    Reply,
    SignInError,
    StatusError,
    TooLargeError,
    WebError,
)
from passageway_sdk.web.testing import Answer, LocalServer, Request

Serve = Callable[[Callable[[Request], Answer]], LocalServer]
SECRET = "s3cr3t/token+x"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def client(clock: Any, said: list[str]) -> Iterator[Client]:
    with Client("passageway-test/1", sleep=clock.sleep, now=clock.now, say=said.append, timeout_s=5) as client:
        yield client


@pytest.fixture
def signed_in(clock: Any, said: list[str]) -> Iterator[Client]:
    headers = {"Authorization": f"Bearer {SECRET}"}
    with Client(
        "passageway-test/1", headers=headers, secrets=[SECRET], sleep=clock.sleep, now=clock.now, say=said.append
    ) as client:
        yield client


def answers(*several: Answer) -> Callable[[Request], Answer]:
    """One after the other, the last one for ever."""
    left = list(several)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def redirect(location: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": location})


def test_a_request_carries_its_parameters_and_the_user_agent(serve: Serve, client: Client) -> None:
    server = serve(lambda request: Answer(json.dumps(request.query)))
    assert client.json(f"{server.url}/api?a=1", {"title": "Größe & Rang", "limit": 5}) == {
        "a": "1",
        "title": "Größe & Rang",
        "limit": "5",
    }
    assert server.requests[0].headers["user-agent"] == "passageway-test/1"
    assert server.requests[0].headers["accept"] == "application/json"


def test_a_pause_comes_between_requests_and_not_before_the_first(serve: Serve, clock: Any) -> None:
    server = serve(answers(Answer("{}")))
    with Client("passageway-test/1", pause_s=0.25, sleep=clock.sleep) as client:
        for _ in range(3):
            client.json(server.url)
    assert clock.slept == [0.25, 0.25]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_growing_waits(
    serve: Serve, client: Client, clock: Any, said: list[str], status: int
) -> None:
    server = serve(answers(*[Answer(status=status)] * 6, Answer('"here"')))
    assert client.json(f"{server.url}/a") == "here"
    assert clock.slept == [1, 2, 4, 8, 16, 32]
    assert said == [
        f"HTTP {status} from {server.url}/a, waiting 16 s (15 s of 900 s waited)",
        f"HTTP {status} from {server.url}/a, waiting 32 s (31 s of 900 s waited)",
    ]


def test_a_server_that_stays_busy_is_given_up_after_fifteen_minutes(serve: Serve, client: Client, clock: Any) -> None:
    server = serve(answers(Answer(status=429)))
    with pytest.raises(WebError, match=r"HTTP 429; gave up after 21 attempts and 900 s of waiting"):
        client.get(server.url)
    assert sum(clock.slept) == 900 and max(clock.slept) == 60
    assert len(server.requests) == 21


def test_only_the_statuses_that_are_asked_for_are_retried(serve: Serve, clock: Any) -> None:
    server = serve(answers(Answer(status=500), Answer("{}")))
    with (
        Client("passageway-test/1", retry_statuses=(429,), sleep=clock.sleep) as client,
        pytest.raises(StatusError, match="HTTP 500"),
    ):
        client.get(server.url)
    assert clock.slept == []


def test_retry_after_in_seconds_is_honoured_when_it_is_longer(serve: Serve, client: Client, clock: Any) -> None:
    busy = [Answer(status=429, headers={"Retry-After": value}) for value in ("7", "1", "100000")]
    server = serve(answers(*busy, Answer("{}")))
    client.json(server.url)
    assert clock.slept == [7, 2, 300]


def test_retry_after_as_a_date_is_honoured(serve: Serve, client: Client, clock: Any) -> None:
    date = formatdate(clock.now_s + 4, usegmt=True)
    server = serve(answers(Answer(status=429, headers={"Retry-After": date}), Answer("{}")))
    client.json(server.url)
    assert clock.slept == [4]


def test_an_answer_that_says_it_is_busy_with_status_200_is_asked_again(
    serve: Serve, client: Client, clock: Any
) -> None:
    server = serve(answers(Answer('{"lag": 6}', headers={"Retry-After": "2"}), Answer('{"lag": 0}')))

    def lagging(reply: Reply) -> str | None:
        return "lagging" if reply.json()["lag"] else None

    assert client.json(server.url, busy=lagging) == {"lag": 0}
    assert clock.slept == [2]


def test_a_connection_that_nobody_answers_is_tried_again_and_then_given_up(client: Client, clock: Any) -> None:
    with LocalServer(lambda request: Answer()) as server:
        url = server.url
    with pytest.raises(WebError, match=r"ConnectError: .*gave up after 21 attempts and 900 s of waiting"):
        client.get(url)
    assert sum(clock.slept) == 900


def test_a_body_that_is_cut_off_is_asked_for_again(serve: Serve, client: Client, clock: Any) -> None:
    server = serve(answers(Answer('{"long": "body"}', cut=True), Answer('{"long": "body"}')))
    assert client.json(server.url) == {"long": "body"}
    assert clock.slept == [1]


def test_a_body_over_the_limit_is_not_read_on(serve: Serve, client: Client) -> None:
    server = serve(answers(Answer(b"x" * 2_000_000)))
    with pytest.raises(TooLargeError, match="larger than the 1000 bytes"):
        client.get(server.url, max_bytes=1000)
    assert len(client.get(server.url, max_bytes=2_000_000).body) == 2_000_000


def test_the_limit_counts_what_a_compressed_body_unpacks_to(serve: Serve, client: Client) -> None:
    server = serve(answers(Answer(gzip.compress(b"x" * 1_000_000), headers={"Content-Encoding": "gzip"})))
    with pytest.raises(TooLargeError):
        client.get(server.url, max_bytes=500_000)


@pytest.mark.parametrize("status", [400, 404, 410])
def test_a_refusal_fails_at_once_and_can_be_accepted(serve: Serve, client: Client, status: int) -> None:
    server = serve(answers(Answer('{"code": "GONE"}', status=status)))
    with pytest.raises(StatusError) as failure:
        client.get(f"{server.url}/page", {"key": "value"})
    assert str(failure.value) == f"{server.url}/page?…: HTTP {status}"
    assert failure.value.status == status
    assert client.get(server.url, accepted=(status,)).json() == {"code": "GONE"}
    assert len(server.requests) == 2


def test_a_401_says_to_check_the_token(serve: Serve, signed_in: Client) -> None:
    server = serve(answers(Answer(status=401)))
    with pytest.raises(StatusError, match="the token is missing, wrong or expired; check it"):
        signed_in.get(server.url)


def test_redirects_are_followed_and_the_answer_knows_where_it_came_from(serve: Serve, client: Client) -> None:
    places = {"/a": redirect("b/"), "/b/": redirect("../c?x=1#part", 308), "/c": Answer("{}")}
    server = serve(lambda request: places[request.path])
    assert client.get(f"{server.url}/a").url == f"{server.url}/c?x=1"


def test_a_redirect_to_another_host_is_followed_when_nothing_secret_goes_along(serve: Serve, client: Client) -> None:
    server = serve(lambda request: Answer("{}") if request.path == "/there" else redirect(f"{server.other_url}/there"))
    assert client.get(f"{server.url}/here").url == f"{server.other_url}/there"


def test_a_redirect_leads_only_to_the_hosts_that_are_named(serve: Serve, client: Client) -> None:
    server = serve(lambda request: Answer("{}") if request.path == "/there" else redirect(f"{server.other_url}/there"))
    here, there = f"127.0.0.1:{server.port}", f"localhost:{server.port}"
    assert client.get(f"{server.url}/here", hosts={here, there}).url == f"{server.other_url}/there"
    with pytest.raises(RedirectRefusedError, match="redirects to another host"):
        client.get(f"{server.url}/here", hosts={here})


def test_a_credential_never_follows_a_redirect_to_another_host(serve: Serve, signed_in: Client) -> None:
    server = serve(lambda request: redirect(f"{server.other_url}/{SECRET}/login?back={SECRET}"))
    with pytest.raises(RedirectRefusedError, match="token is missing, wrong or expired") as failure:
        signed_in.get(f"{server.url}/here")
    assert len(server.requests) == 1 and server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(failure.value)


def test_a_credential_never_follows_a_redirect_out_of_encryption(signed_in: Client) -> None:
    from passageway_sdk.web.transport import same_host

    assert not same_host("https://h.test/", "http://h.test/")
    assert same_host("http://h.test/", "https://h.test/")
    assert not same_host("https://h.test/", "https://h.test:8443/")
    assert not same_host("https://h.test/", "https://h.test.evil.test/")
    assert same_host("https://h.test:443/a", "https://H.test/b")


def test_redirects_in_a_circle_end(serve: Serve, client: Client) -> None:
    server = serve(answers(redirect("/again")))
    with pytest.raises(WebError, match="more than 10 redirects"):
        client.get(server.url)
    assert len(server.requests) == 11


@pytest.mark.parametrize("location", ["ftp://h.test/x", "file:///etc/passwd", "http://[broken/"])
def test_a_redirect_to_no_web_address_fails(serve: Serve, client: Client, location: str) -> None:
    server = serve(answers(redirect(location)))
    with pytest.raises(WebError, match="redirects to"):
        client.get(server.url)
    assert len(server.requests) == 1


def test_a_sign_in_page_with_status_200_is_refused_as_one(serve: Serve, signed_in: Client) -> None:
    form = Answer("<!DOCTYPE html><form><input name=p type='password'></form>", content_type="text/html")
    server = serve(lambda request: form if request.path == "/login.action" else redirect("/login.action"))
    with pytest.raises(SignInError, match=r"sign-in page instead of JSON.*token.*missing, wrong or expired"):
        signed_in.json(f"{server.url}/rest/api")


def test_an_app_shell_with_status_200_is_refused(serve: Serve, client: Client) -> None:
    server = serve(answers(Answer("\n<!doctype html><div id=app></div>", content_type="text/html; charset=utf-8")))
    with pytest.raises(SignInError, match="HTML page instead of JSON"):
        client.json(server.url)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"a": ', "at byte 6"),
        (b"", "0 bytes of application/json"),
        (b'{"a": NaN}', "not"),
        (b"\xff\xfe\xfa", "not"),
        (b"[" * 200_000, "too deeply nested"),
    ],
)
def test_a_body_that_is_no_json_is_described_and_not_repeated(
    serve: Serve, client: Client, body: bytes, problem: str
) -> None:
    server = serve(answers(Answer(body)))
    with pytest.raises(WebError, match="expected JSON") as failure:
        client.json(server.url)
    assert problem in str(failure.value)


def test_half_a_surrogate_pair_in_json_becomes_a_replacement_character(serve: Serve, client: Client) -> None:
    server = serve(answers(Answer(r'{"a": ["\ud83d x", "\ud83e\ude9d"]}')))
    assert client.json(server.url) == {"a": ["\ufffd x", "\U0001fa9d"]}


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("Größe".encode(), "text/markdown", "Größe"),
        ("Größe".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Größe"),
        (b"\xef\xbb\xbfa", "text/plain; charset=latin-1", "a"),
        ("a€".encode("utf-16"), "text/plain", "a€"),
        (b"Gr\xf6\xdfe", "text/plain; charset=no-such", "Gr\ufffd\ufffde"),
        (b"aa", "text/plain; charset=base64", "aa"),
    ],
)
def test_text_is_decoded_by_its_mark_or_its_declaration(
    serve: Serve, client: Client, body: bytes, content_type: str, text: str
) -> None:
    server = serve(answers(Answer(body, content_type=content_type)))
    assert client.get(server.url).text == text


def test_no_error_shows_a_secret_a_user_name_or_a_query(serve: Serve, signed_in: Client) -> None:
    server = serve(answers(Answer(status=404)))
    url = f"http://me:pass@127.0.0.1:{server.port}/{SECRET.replace('/', '%2F')}/x?token={SECRET}"
    with pytest.raises(SourceError) as failure:
        signed_in.get(url)
    shown = str(failure.value)
    assert "s3cr3t" not in shown and "me:" not in shown and "pass" not in shown and "***" in shown


@pytest.mark.parametrize("value", ["abc\n", "ab\r\nX-More: 1", "schlüssel", " abc"])
def test_a_token_that_no_header_can_carry_is_a_settings_error_without_the_token(value: str) -> None:
    with pytest.raises(SettingsError) as failure:
        Client("passageway-test/1", headers={"Authorization": value})
    assert value.strip() not in str(failure.value) and "'Authorization'" in str(failure.value)


@pytest.mark.parametrize("url", ["ftp://h.test/", "http://", "nonsense", "http://h.test:99999/", "http://a b/"])
def test_an_address_that_cannot_be_asked_fails_at_once(client: Client, clock: Any, url: str) -> None:
    with pytest.raises(WebError):
        client.get(url)
    assert clock.slept == []


def test_waits_are_said_on_stderr_with_the_name_of_the_connector(
    serve: Serve, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(answers(*[Answer(status=503)] * 5, Answer("{}")))
    with Client("passageway-connector-x/1 (+https://example.org)", sleep=clock.sleep) as client:
        client.json(server.url)
    captured = capsys.readouterr()
    assert captured.err == (
        f"passageway-connector-x: HTTP 503 from {server.url}, waiting 16 s (15 s of 900 s waited)\n"
    )
    assert captured.out == ""


def test_importing_the_package_loads_neither_httpx_nor_what_reads_pages() -> None:
    program = (
        "import sys, passageway_sdk.web;"
        "print([m for m in sys.modules if m.split('.')[0] in ('httpx', 'lxml') or m == 'passageway_sdk.web.html'])"
    )
    listed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert listed.stdout == "[]\n"


def test_the_first_request_loads_httpx_without_its_command_line() -> None:
    program = (
        "import sys; from passageway_sdk.web.transport import http_library; http_library();"
        "print('httpx' in sys.modules, 'rich' in sys.modules, 'httpx._main' in sys.modules)"
    )
    listed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert listed.stdout == "True False False\n"
