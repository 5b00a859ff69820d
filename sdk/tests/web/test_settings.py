from collections.abc import Callable
from typing import Any

import pytest

from passageway_sdk import SettingsError
from passageway_sdk.web import flag, number, pipe_list, required, web_address, whole_number


def test_values_are_read_without_the_blanks_around_them() -> None:
    assert required({"URL": " a "}, "URL", "an address") == "a"
    assert pipe_list({"LIST": " a | b||a|c d "}, "LIST") == ("a", "b", "c d")
    assert pipe_list({}, "LIST", "x|y") == ("x", "y")
    assert number({"N": " 0.5 "}, "N", 1.0) == 0.5
    assert whole_number({"N": "12"}, "N", 1) == 12
    assert (flag({"F": "No"}, "F", True), flag({"F": "TRUE"}, "F", False)) == (False, True)


def test_a_setting_left_out_or_empty_has_its_default() -> None:
    for env in ({}, {"X": " "}):
        assert (number(env, "X", 0.1), whole_number(env, "X", 7), flag(env, "X", True)) == (0.1, 7, True)


@pytest.mark.parametrize(
    ("read", "value", "problem"),
    [
        (lambda env: required(env, "X", "an address"), "", "X is missing: set it to an address"),
        (lambda env: number(env, "X", 30), "soon", "X is 'soon', expected a number of 0 or more, such as 30"),
        (lambda env: number(env, "X", 30), "nan", "X is 'nan'"),
        (lambda env: number(env, "X", 30), "-1", "X is '-1'"),
        (lambda env: number(env, "X", 30, least=1), "0.5", "of 1 or more"),
        (lambda env: whole_number(env, "X", 500, least=1), "0", "X is '0', expected a whole number of 1 or more"),
        (lambda env: whole_number(env, "X", 500), "1e3", "X is '1e3'"),
        (lambda env: whole_number(env, "X", 500), "9" * 30, "expected a whole number"),
        (lambda env: flag(env, "X", True), "maybe", "X is 'maybe', expected true or false"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_holds(
    read: Callable[[dict[str, str]], Any], value: str, problem: str
) -> None:
    with pytest.raises(SettingsError) as failure:
        read({"X": value})
    assert problem in str(failure.value)


def test_an_address_loses_its_last_slash() -> None:
    assert web_address("https://wiki.example.org/conf/", "URL") == "https://wiki.example.org/conf"


@pytest.mark.parametrize(
    "value", ["wiki", "ftp://h.test", "https://", "https://h.test:x", "https://a b", "http://[::1"]
)
def test_an_address_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="URL is"):
        web_address(value, "URL")


@pytest.mark.parametrize("value", ["https://me:pass@h.test", "https://me@h.test/x", "https://me:pass@[broken"])
def test_an_address_with_a_password_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(SettingsError) as failure:
        web_address(value, "URL")
    assert "me" not in str(failure.value).split() and "pass@" not in str(failure.value)
