import pytest

from passageway.errors import SettingsError
from passageway.secrets import mask, program_environment, resolve


def test_a_reference_becomes_the_value_of_its_variable() -> None:
    assert resolve({"TOKEN": "env:NOTES_TOKEN"}, "notes", {"NOTES_TOKEN": "s3cret"}) == {"TOKEN": "s3cret"}


@pytest.mark.parametrize("environ", [{}, {"NOTES_TOKEN": ""}])
def test_an_unset_variable_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="NOTES_TOKEN, which is not set"):
        resolve({"TOKEN": "env:NOTES_TOKEN"}, "notes", environ)


def test_a_program_sees_path_home_protocol_and_its_own_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("PASSAGEWAY_LOGIN_PASSWORD", "not for you")
    seen = program_environment({"FOLDER": "/notes"}, {"TOKEN": "s3cret"}, "1")
    own = {"FOLDER": "/notes", "TOKEN": "s3cret", "PASSAGEWAY_PROTOCOL": "1"}
    assert seen == {"PATH": "/bin", "HOME": "/home/ada", **own}


def test_a_secret_inside_another_leaves_nothing_standing() -> None:
    assert mask("key=abcdef, part=abc", ["abc", "abcdef", ""]) == "key=***, part=***"
