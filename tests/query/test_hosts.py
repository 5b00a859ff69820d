"""Which Host and Origin headers are taken."""

import pytest

from passageway.settings import Settings, load_settings
from passageway_query.hosts import host_name, host_rules


def settings(**variables: str) -> Settings:
    return load_settings({"HOME": "/nowhere", "PASSAGEWAY_LOGIN_PASSWORD": "x", **variables})


PUBLIC = settings(PASSAGEWAY_BASE_URL="https://passages.example.org", PASSAGEWAY_ALLOWED_HOSTS="NAS.local, box:8082")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8082",
        "localhost",
        "LOCALHOST:1",
        "[::1]:8082",
        "192.168.7.20:8082",
        "passages.example.org",
        "passages.example.org:443",
        "nas.local:8082",
        "box",
        "localhost.",
    ],
)
def test_our_own_names_and_bare_addresses_are_taken(host: str) -> None:
    assert host_rules(PUBLIC).host_is_ours(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "passages.example.org.evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example/localhost",
        "localhost:port",
        "[::1",
        "[::1]x",
        "[::1]x:80",
        "a b",
    ],
)
def test_a_foreign_or_broken_host_is_not_taken(host: str) -> None:
    assert not host_rules(PUBLIC).host_is_ours(host)


def test_the_address_to_listen_on_is_a_name_of_ours() -> None:
    assert host_rules(settings(PASSAGEWAY_HOST="box.lan")).host_is_ours("box.lan:8082")
    assert host_rules(settings(PASSAGEWAY_HOST="::")).host_is_ours("[fd00::1]:8082")


@pytest.mark.parametrize(
    ("origin", "taken"),
    [
        ("https://claude.ai", True),
        ("https://passages.example.org", True),
        ("http://localhost:6274", True),
        ("http://192.168.7.20:8082", True),
        ("http://192.168.7.21:8082", False),
        ("https://evil.example", False),
        ("https://claude.ai.evil.example", False),
        ("http://localhost:6274/path", False),
        ("null", False),
        ("http://[", False),
        ("http://[x]:80", False),
        ("http://localhost:port", False),
        ("file://", False),
        ("", False),
    ],
)
def test_only_pages_of_our_own_or_of_known_clients_may_call(origin: str, taken: bool) -> None:
    assert host_rules(PUBLIC).origin_is_ours(origin, "192.168.7.20:8082") is taken


def test_a_host_name_is_lower_case_and_without_port_or_brackets() -> None:
    assert host_name("[::1]:80") == "::1"
    assert host_name("Example.ORG:80") == "example.org"
    assert host_name("user@example.org") is None
