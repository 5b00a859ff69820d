"""Where clients may be sent back to, and which resource tokens are for."""

import pytest

from passageway_query.auth.addresses import (
    Addresses,
    is_known,
    matches,
    may_be_registered,
    shown_target,
    with_parameters,
)

PUBLIC = Addresses("https://passages.example.org")


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback",
        "https://app.example/cb?tenant=1",
        "http://localhost/callback",
        "http://127.0.0.1:5555/callback",
        "http://[::1]:7/cb",
        "cursor://anysphere.cursor-retrieval/oauth/callback",
        "com.example.app:/oauth",
    ],
)
def test_web_loopback_and_app_addresses_can_be_registered(uri: str) -> None:
    assert may_be_registered(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "mailto:somebody@evil.example",
        "intent://scan/#Intent;end",
        "http://evil.example/cb",
        "http://localhost.evil.example/cb",
        "https://a.example/cb#fragment",
        "https://user@a.example/cb",
        "https://user:pass@a.example/cb",
        "https://:80/cb",
        "https://a.example:99999/cb",
        "https://a.example/c b",
        "https://a.example\\@evil.example/",
        "https://ä.example/cb",
        "//a.example/cb",
        "callback",
        "",
    ],
)
def test_addresses_that_run_leak_or_mislead_cannot_be_registered(uri: str) -> None:
    assert not may_be_registered(uri)


@pytest.mark.parametrize(
    ("registered", "given", "same"),
    [
        ("https://a.example/cb", "https://a.example/cb", True),
        ("https://a.example/cb", "https://a.example/cb/", False),
        ("https://a.example/cb", "https://a.example:8443/cb", False),
        ("https://a.example/cb", "https://a.example/cb?x=1", False),
        ("http://localhost/callback", "http://localhost:51212/callback", True),
        ("http://127.0.0.1:1/callback", "http://127.0.0.1:49152/callback", True),
        ("http://127.0.0.1/callback", "http://localhost/callback", False),
        ("http://localhost/callback", "https://localhost:1/callback", False),
        ("http://localhost/callback", "http://localhost:1/other", False),
        ("http://localhost/callback", "http://localhost:1/callback/../other", False),
        ("http://localhost/callback", "http://localhost:1/callback?code=1", False),
        ("http://localhost/callback", "http://localhost:1@evil.example/callback", False),
        ("http://localhost/callback", "http://localhost:1/callback#x", False),
    ],
)
def test_a_redirect_address_is_matched_exactly_but_for_a_loopback_port(registered: str, given: str, same: bool) -> None:
    assert matches(registered, given) is same


@pytest.mark.parametrize(
    ("uri", "known"),
    [
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("https://chatgpt.com/connector_platform_oauth_redirect", True),
        ("http://localhost:7/cb", True),
        ("vscode://x/cb", True),
        ("http://claude.ai/cb", False),
        ("https://claude.ai.evil.example/cb", False),
        ("https://app.example/cb", False),
    ],
)
def test_only_well_known_apps_and_this_computer_are_known(uri: str, known: bool) -> None:
    assert is_known(uri) is known


@pytest.mark.parametrize(
    ("resource", "ours"),
    [
        (None, True),
        ("", True),
        ("https://passages.example.org/mcp", True),
        ("https://passages.example.org/mcp/", True),
        ("HTTPS://Passages.Example.org/mcp", True),
        ("https://passages.example.org/", True),
        ("https://passages.example.org", True),
        ("https://passages.example.org/other", False),
        ("https://passages.example.org/mcp#x", False),
        ("http://passages.example.org/mcp", False),
        ("https://other.example/mcp", False),
        ("https://passages.example.org.evil.example/mcp", False),
        ("https://[broken", False),
        ("https://passages.example.org:443/mcp", True),
        ("https://passages.example.org:8443/mcp", False),
        ("https://passages.example.org:99999/mcp", False),
        ("https://someone@passages.example.org/mcp", False),
    ],
)
def test_a_resource_is_ours_by_its_origin_and_path(resource: str | None, ours: bool) -> None:
    assert PUBLIC.is_ours(resource) is ours


def test_parameters_join_a_query_that_is_there() -> None:
    assert with_parameters("https://a.example/cb?t=1", code="c d", state=None) == "https://a.example/cb?t=1&code=c+d"


def test_a_person_is_shown_the_host_or_that_it_is_an_app() -> None:
    assert shown_target("https://claude.ai/api") == "claude.ai"
    assert shown_target("http://localhost:51212/callback") == "localhost:51212"
    assert shown_target("myapp://claude.ai/callback") == "an application on this computer (myapp:)"
    assert shown_target("com.example.app:/oauth") == "an application on this computer (com.example.app:)"
