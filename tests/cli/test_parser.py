import pytest

from passageway.errors import SettingsError
from passageway_cli.parser import take_instance


@pytest.mark.parametrize(
    ("line", "instance", "rest"),
    [
        ("recall what is it", None, "recall what is it"),
        ("--instance work recall it", "work", "recall it"),
        ("recall --instance work it", "work", "recall it"),
        ("recall it --instance=work", "work", "recall it"),
        ("--instance work --instance work status", "work", "status"),
        ("recall -- --instance work", None, "recall -- --instance work"),
    ],
)
def test_the_instance_may_stand_anywhere(line: str, instance: str | None, rest: str) -> None:
    assert take_instance(line.split()) == (instance, rest.split())


@pytest.mark.parametrize("line", ["--instance", "--instance --json status", "--instance a --instance b"])
def test_an_instance_without_one_name_is_refused(line: str) -> None:
    with pytest.raises(SettingsError, match="--instance"):
        take_instance(line.split())
