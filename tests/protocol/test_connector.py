"""What the core makes of a connector that keeps the protocol."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from passageway.config import parse_config
from passageway.errors import ConnectorError, ProtocolVersionError, SettingsError
from passageway.protocol import FETCH_IDS, Connector
from passageway.records import CheckReply, Item, Section

Make = Callable[..., Connector]


def test_check_tells_how_many_items_there_are(fake: Make) -> None:
    assert fake().check() == CheckReply(3)


def test_list_gives_every_id_with_its_version(fake: Make) -> None:
    assert fake().list() == {"a": "1", "b": "1", "ç/3": "1"}


def test_fetch_gives_the_items_whole(fake: Make) -> None:
    assert fake().fetch(["a"]) == [
        Item(
            id="a",
            title="Page a",
            url="https://example.org/a",
            version="1",
            sections=(Section("Light", "Lighthouses guide ships."),),
            weight=2.0,
            links=("b",),
            labels=("sea",),
        )
    ]


def test_fetch_leaves_out_what_no_longer_exists(fake: Make) -> None:
    assert [item.id for item in fake().fetch(["ç/3", "gone", "a", "a"])] == ["a", "ç/3"]


def test_fetch_of_nothing_starts_nothing(fake: Make, tmp_path: Path) -> None:
    assert fake(FAKE_LOG=tmp_path / "log").fetch([]) == []
    assert not (tmp_path / "log").exists()


def test_changed_asks_in_utc_and_gives_what_changed_since(fake: Make) -> None:
    summer = timezone(timedelta(hours=2))
    assert [item.id for item in fake().changed(datetime(2026, 10, 28, 11, tzinfo=summer))] == ["b"]
    assert fake().changed(datetime(2026, 10, 28, 9, 0, 1, tzinfo=UTC)) == []


def test_changed_refuses_a_time_that_could_be_any_zones(fake: Make) -> None:
    with pytest.raises(ValueError, match="expected a time with its zone"):
        fake().changed(datetime(2026, 10, 28))


@pytest.mark.rule("P18")
def test_changed_may_print_nothing(scripted: Make) -> None:
    assert scripted("").changed(datetime.now(UTC)) == []


@pytest.mark.rule("P1")
def test_blank_lines_are_skipped_and_the_last_line_needs_no_end(fake: Make, scripted: Make) -> None:
    assert fake(FAKE_MISBEHAVE="blank-lines").check() == CheckReply(3)
    assert scripted("""print('{"ok": true, "count": 5}', end="")""").check() == CheckReply(5)
    assert scripted("""print('{"ok": true, "count": 5}', end="\\r\\n")""").check() == CheckReply(5)


@pytest.mark.rule("P9")
def test_a_connector_sees_path_home_the_version_its_settings_and_its_secrets(
    scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("PASSAGEWAY_LOGIN_PASSWORD", "the server's own")
    source = "import json, os; [print(json.dumps({'id': k, 'version': v or '-'})) for k, v in os.environ.items()]"
    seen = scripted(source, env={"FOLDER": "/notes"}, secrets={"TOKEN": "t0k3n"}).list()
    seen.pop("LC_CTYPE", None)  # Python sets it itself when no locale is given (PEP 538)
    assert seen == {
        "PATH": os.environ["PATH"],
        "HOME": "/home/somebody",
        "PASSAGEWAY_PROTOCOL": "1",
        "FOLDER": "/notes",
        "TOKEN": "t0k3n",
    }


@pytest.mark.rule("P10")
@pytest.mark.parametrize("mode", ["check", "list", "changed"])
def test_stdin_is_empty_where_there_is_nothing_to_ask_for(scripted: Make, mode: str) -> None:
    source = """
import sys
assert sys.stdin.read() == ""
if sys.argv[1] == "check":
    print('{"ok": true, "count": 0}')
"""
    connector = scripted(source)
    {"check": connector.check, "list": connector.list, "changed": lambda: connector.changed(datetime.now(UTC))}[mode]()


def test_ids_go_in_and_items_come_out_at_once_however_big_both_are(scripted: Make) -> None:
    """Each side is bigger than a pipe holds, and the connector answers before it has read everything."""
    source = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "title": "t", "url": "", "version": "1",
                      "sections": [{"text": "x" * 100_000}]}))
"""
    ids = [f"{number}-" + "i" * 20_000 for number in range(FETCH_IDS)]
    assert [item.id for item in scripted(source, timeout=60).fetch(ids)] == ids


@pytest.mark.rule("P10")
def test_a_connector_may_answer_without_reading_its_input(scripted: Make) -> None:
    assert scripted("import os; os.close(0)").fetch(["i" * 20_000 + str(number) for number in range(50)]) == []


@pytest.mark.rule("P12")
def test_a_connector_of_another_protocol_is_refused_at_check(fake: Make) -> None:
    with pytest.raises(ProtocolVersionError, match=r"connector 'fake': check: .* protocol '2'.* speaks '1'"):
        fake(FAKE_MISBEHAVE="wrong-version").check()


def test_a_connector_that_names_version_1_is_welcome(scripted: Make) -> None:
    assert scripted("""print('{"ok": true, "count": 0, "protocol": "1"}')""").check() == CheckReply(0)


@pytest.mark.rule("P19")
def test_fields_the_protocol_does_not_know_are_ignored(scripted: Make) -> None:
    assert scripted("""print('{"id": "a", "version": "1", "colour": "blue"}')""").list() == {"a": "1"}


CONFIG = """
[[connector]]
name = "notes"
command = ["fake"]
env = {{ FAKE_ITEMS = "{items}" }}
secrets = {{ TOKEN = "env:NOTES_TOKEN" }}
"""


def test_a_connector_is_made_from_its_configuration(items_path: Path) -> None:
    text = CONFIG.format(items=items_path).replace('["fake"]', json.dumps(["true"]))
    (entry,) = parse_config(text).connectors
    connector = Connector.from_config(entry, {"NOTES_TOKEN": "t0k3n"})
    assert (connector.name, connector.command) == ("notes", ("true",))
    assert connector.list() == {}


def test_a_configuration_that_names_an_unset_secret_is_refused(items_path: Path) -> None:
    (entry,) = parse_config(CONFIG.format(items=items_path)).connectors
    with pytest.raises(SettingsError, match="'notes'.*NOTES_TOKEN"):
        Connector.from_config(entry, {})


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["/nowhere/connector"], "the program '/nowhere/connector' does not exist"),
        (["no-such-program"], "'no-such-program' is not on PATH"),
        (["/"], "'/' is a folder"),
        (["{tmp}/plain.txt"], "may not be executed"),
        (["{tmp}/lost.sh"], "names an interpreter that does not exist"),
        (["{tmp}/bare.sh"], "a script begins with a line such as"),
        (["a\0b"], "must be plain text"),
    ],
)
def test_a_program_that_cannot_be_started_is_an_error_that_says_what_to_do(
    tmp_path: Path, command: list[str], message: str
) -> None:
    (tmp_path / "plain.txt").write_text("text", encoding="utf-8")
    for name, text in (("lost.sh", "#!/nowhere/python\n"), ("bare.sh", "print(1)\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    command = [part.replace("{tmp}", str(tmp_path)) for part in command]
    with pytest.raises(ConnectorError, match=r"connector 'lost': check: ") as caught:
        Connector("lost", command).check()
    assert message in str(caught.value)


@pytest.mark.parametrize("command", [[], "python connector.py"])
def test_a_command_that_is_no_list_of_words_is_refused(command: list[str]) -> None:
    with pytest.raises(ValueError, match="expected a list of words"):
        Connector("lost", command)
