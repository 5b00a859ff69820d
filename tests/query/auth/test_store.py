"""Codes, tokens and grants on disk."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from passageway.errors import StorageError
from passageway_query.auth.store import ACCESS_TTL_S, CODE_TTL_S, REFRESH_TTL_S, Issued, TokenStore

RESOURCE = "https://passages.example.org/mcp"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "oauth.sqlite"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[TokenStore]:
    store = TokenStore(path, "secret", now=clock)
    yield store
    store.close()


def code(store: TokenStore) -> str:
    return store.new_code("client", "An app", "https://a.example/cb", True, "challenge")


def issue(store: TokenStore) -> Issued:
    issued = store.redeem(code(store), RESOURCE)
    assert issued
    return issued


def test_a_code_gives_tokens_once_and_a_replay_ends_them(store: TokenStore) -> None:
    text = code(store)
    issued = store.redeem(text, RESOURCE)
    assert issued
    token = store.find(issued.access, "access")
    assert token and (token.client_id, token.resource) == ("client", RESOURCE)
    assert store.redeem(text, RESOURCE) is None
    assert store.find(issued.access, "access") is None
    assert store.refresh(issued.refresh) is None


def test_a_code_is_gone_after_a_minute(store: TokenStore, clock: Clock) -> None:
    text = code(store)
    clock.now += CODE_TTL_S + 1
    assert store.code(text) is None
    assert store.redeem(text, RESOURCE) is None


def test_a_replay_long_after_the_minute_still_ends_the_tokens(store: TokenStore, clock: Clock) -> None:
    text = code(store)
    issued = store.redeem(text, RESOURCE)
    assert issued
    clock.now += 10 * CODE_TTL_S
    code(store)
    assert store.redeem(text, RESOURCE) is None
    assert store.find(issued.access, "access") is None


def test_of_many_redemptions_at_one_moment_one_succeeds_at_most(store: TokenStore) -> None:
    text = code(store)
    results: list[Issued | None] = []
    threads = [threading.Thread(target=lambda: results.append(store.redeem(text, RESOURCE))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result is not None for result in results) == 1


def test_a_refresh_rotates_and_a_retry_within_the_grace_gets_its_own_tokens(store: TokenStore, clock: Clock) -> None:
    first = issue(store)
    second = store.refresh(first.refresh)
    clock.now += 59
    third = store.refresh(first.refresh)
    assert second and third
    assert len({first.refresh, second.refresh, third.refresh}) == 3
    for issued in (first, second, third):
        assert store.find(issued.access, "access")


def test_a_replay_after_the_grace_ends_the_whole_grant(store: TokenStore, clock: Clock) -> None:
    first = issue(store)
    second = store.refresh(first.refresh)
    assert second
    clock.now += 61
    assert store.refresh(first.refresh) is None
    assert store.find(second.access, "access") is None
    assert store.refresh(second.refresh) is None
    assert store.grants() == []


def test_two_refreshes_at_one_moment_both_succeed(store: TokenStore) -> None:
    first = issue(store)
    results: list[Issued | None] = []
    threads = [threading.Thread(target=lambda: results.append(store.refresh(first.refresh))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results)


def test_tokens_expire_and_are_forgotten(store: TokenStore, clock: Clock) -> None:
    issued = issue(store)
    clock.now += ACCESS_TTL_S + 1
    assert store.find(issued.access, "access") is None
    assert store.find(issued.refresh, "refresh")
    clock.now += REFRESH_TTL_S
    assert store.refresh(issued.refresh) is None
    code(store)
    assert store.grants() == []


def test_a_refresh_token_is_no_access_token_and_the_reverse(store: TokenStore) -> None:
    issued = issue(store)
    assert store.find(issued.refresh, "access") is None
    assert store.find(issued.access, "refresh") is None
    assert store.refresh(issued.access) is None


def test_a_revoked_grant_takes_its_tokens_along_and_no_others(store: TokenStore) -> None:
    one, two = issue(store), issue(store)
    token = store.find(one.access, "access")
    assert token
    store.revoke(token.grant_id)
    store.revoke("no such grant")
    assert store.find(one.access, "access") is None
    assert store.find(two.access, "access")
    assert [grant.client_name for grant in store.grants()] == ["An app"]


def test_tokens_survive_a_restart_and_a_changed_password_ends_them(path: Path, clock: Clock) -> None:
    first = TokenStore(path, "secret", now=clock)
    issued, key = issue(first), first.key
    first.close()
    again = TokenStore(path, "secret", now=clock)
    assert again.find(issued.access, "access")
    assert again.key == key
    again.close()
    changed = TokenStore(path, "another", now=clock)
    assert changed.find(issued.access, "access") is None
    assert changed.grants() == []
    assert changed.key == key
    changed.close()


def test_the_file_holds_no_usable_token_and_no_password_and_is_the_owners_alone(store: TokenStore, path: Path) -> None:
    text = code(store)
    issued = store.redeem(text, RESOURCE)
    pending = code(store)
    assert issued
    store.close()
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for secret in (text, pending, issued.access, issued.refresh, "secret-password"):
        assert secret.encode() not in content
    assert b"An app" in content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"not a database at all, not in the least", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_set_aside(path: Path, clock: Clock, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = TokenStore(path, "secret", now=clock)
    assert issue(store)
    store.close()
    assert path.with_name("oauth.sqlite.damaged").read_bytes() == content


def test_a_folder_that_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match="oauth.sqlite"):
        TokenStore(tmp_path / "file" / "oauth.sqlite", "secret")


def test_a_store_that_was_closed_twice_is_closed(store: TokenStore) -> None:
    store.close()
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.find("x", "access")


def test_what_was_issued_while_the_clock_was_far_ahead_is_not_good_for_years(store: TokenStore, clock: Clock) -> None:
    clock.now += 10 * 365 * 86_400
    text, issued = code(store), issue(store)
    clock.now -= 10 * 365 * 86_400
    assert store.redeem(text, RESOURCE) is None
    assert store.find(issued.access, "access") is None
    assert store.refresh(issued.refresh) is None


def test_a_clock_that_is_put_back_a_little_signs_nobody_out(store: TokenStore, clock: Clock) -> None:
    text, issued = code(store), issue(store)
    clock.now -= 600
    assert store.redeem(text, RESOURCE)
    assert store.find(issued.access, "access")
    assert store.refresh(issued.refresh)


def test_a_replay_is_known_for_one_although_the_clock_was_put_back(store: TokenStore, clock: Clock) -> None:
    issued = issue(store)
    renewed = store.refresh(issued.refresh)
    assert renewed
    clock.now -= 600
    assert store.refresh(issued.refresh) is None
    assert store.find(renewed.access, "access") is None
