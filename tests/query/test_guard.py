"""The password: what is admitted, and how wrong guesses are slowed down."""

import pytest
from starlette.requests import HTTPConnection

from passageway_query.guard import MAX_EVERYWHERE, MAX_PER_ADDRESS, WINDOW_S, Guard, Ruling, address, address_group


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guard(clock: Clock) -> Guard:
    return Guard("correct horse", clock=clock)


def test_the_password_is_admitted_and_anything_else_is_not(guard: Guard) -> None:
    assert guard.rule("correct horse", "10.0.0.1") == Ruling(True)
    assert guard.rule("correct horse ", "10.0.0.1") == Ruling(False)
    assert guard.rule("", "10.0.0.1") == Ruling(False)


def test_without_a_password_nothing_is_admitted_not_even_an_empty_one() -> None:
    for password in (None, ""):
        assert not Guard(password).rule("", "10.0.0.1").admitted
        assert not Guard(password).rule("None", "10.0.0.1").admitted


def test_a_password_outside_ascii_is_compared_by_its_bytes(clock: Clock) -> None:
    guard = Guard("schlüssel", clock=clock)
    assert guard.rule("schlüssel".encode(), "10.0.0.1").admitted
    assert not guard.rule(b"schl\xfcssel", "10.0.0.1").admitted
    assert not guard.rule("caf\ud800", "10.0.0.1").admitted


def test_five_wrong_guesses_close_the_door_for_the_right_password_too(guard: Guard, clock: Clock) -> None:
    for number in range(MAX_PER_ADDRESS):
        assert guard.rule(f"guess {number}", "10.0.0.1") == Ruling(False)
    clock.now += 20
    assert guard.rule("correct horse", "10.0.0.1") == Ruling(False, 40)
    clock.now += 41
    assert guard.rule("correct horse", "10.0.0.1").admitted


def test_another_address_is_not_slowed_down_by_five_wrong_guesses(guard: Guard) -> None:
    for number in range(MAX_PER_ADDRESS):
        guard.rule(f"guess {number}", "10.0.0.1")
    assert guard.rule("correct horse", "10.0.0.2").admitted


def test_a_program_with_an_old_password_is_told_to_wait_but_locks_nobody_out(guard: Guard) -> None:
    rulings = [guard.rule("last year's", "127.0.0.1") for _ in range(50)]
    assert all(ruling == Ruling(False) for ruling in rulings[:MAX_PER_ADDRESS])
    assert all(ruling.retry_after_s > 0 for ruling in rulings[MAX_PER_ADDRESS:])
    assert guard.rule("correct horse", "127.0.0.1").admitted


def test_repeats_of_one_guess_do_not_make_room_for_others(guard: Guard) -> None:
    for number in range(MAX_PER_ADDRESS - 1):
        guard.rule(f"guess {number}", "10.0.0.1")
    for _ in range(100):
        guard.rule("guess 0", "10.0.0.1")
    guard.rule("one more", "10.0.0.1")
    assert guard.rule("correct horse", "10.0.0.1").retry_after_s > 0


def test_at_a_form_the_same_wrong_password_counts_every_time(guard: Guard) -> None:
    for _ in range(MAX_PER_ADDRESS):
        assert guard.rule("wrong", "10.0.0.1", typed=True) == Ruling(False)
    assert guard.rule("correct horse", "10.0.0.1", typed=True).retry_after_s > 0


def test_guesses_from_many_addresses_close_the_door_to_newcomers_only(guard: Guard, clock: Clock) -> None:
    assert guard.rule("correct horse", "10.0.0.1").admitted
    for number in range(MAX_EVERYWHERE):
        guard.rule(f"guess {number}", f"192.0.2.{number}")
    assert guard.rule("correct horse", "198.51.100.7").retry_after_s > 0
    assert guard.rule("correct horse", "10.0.0.1").admitted
    clock.now += WINDOW_S
    assert guard.rule("correct horse", "198.51.100.7").admitted


def test_addresses_of_one_ipv6_network_are_one_guesser(guard: Guard) -> None:
    for number in range(MAX_PER_ADDRESS):
        guard.rule(f"guess {number}", f"2001:db8:1:2::{number}")
    assert guard.rule("correct horse", "2001:db8:1:2:ffff::1").retry_after_s > 0
    assert guard.rule("correct horse", "2001:db8:1:3::1").admitted


def test_an_ipv4_address_inside_ipv6_stays_one_address() -> None:
    assert address_group("::ffff:192.0.2.1") != address_group("::ffff:192.0.2.2")
    assert address_group("not an address") == "not an address"


def test_what_is_remembered_of_attackers_stays_bounded(guard: Guard) -> None:
    for number in range(20_000):
        guard.rule("wrong", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(guard._wrong) <= 4096
    assert len(guard._everywhere) <= MAX_EVERYWHERE


def test_what_a_proxy_calls_an_address_is_kept_and_logged_at_an_addresss_length() -> None:
    scope = {"type": "http", "headers": [], "client": ("x" * 50_000, 0)}
    assert len(address(HTTPConnection(scope))) == 64
