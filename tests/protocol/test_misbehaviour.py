"""What becomes of a connector that breaks the protocol: a real process each time, and the outcome."""

import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import psutil
import pytest

from passageway.errors import ConnectorError
from passageway.protocol import Connector

Make = Callable[..., Connector]


def eventually(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    tick = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            return False
        tick.wait(0.02)
    return True


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def pid_in(log: pytest.LogCaptureFixture, word: str) -> int:
    found = re.search(rf"{word} (\d+)", log.text)
    assert found, log.text
    return int(found.group(1))


@pytest.mark.rule("P2")
@pytest.mark.rule("P3")
@pytest.mark.parametrize("mode", ["check", "list", "fetch"])
def test_a_non_zero_exit_fails_the_call_with_the_last_words(fake: Make, mode: str) -> None:
    connector = fake(FAKE_MISBEHAVE="exit-3")
    call = {"check": connector.check, "list": connector.list, "fetch": lambda: connector.fetch(["a"])}[mode]
    with pytest.raises(ConnectorError, match=rf"'fake': {mode}: ended with exit status 3: .*the source went away"):
        call()


@pytest.mark.rule("P2")
def test_a_crash_in_the_middle_of_a_line_is_reported_as_the_crash(fake: Make) -> None:
    with pytest.raises(ConnectorError, match="was ended by SIGKILL: nothing on stderr"):
        fake(FAKE_MISBEHAVE="crash").list()


@pytest.mark.rule("P7")
def test_a_hanging_connector_is_killed_at_the_timeout(fake: Make) -> None:
    started = time.monotonic()
    with pytest.raises(ConnectorError, match=r"took longer than 0\.5 s and was killed"):
        fake(FAKE_MISBEHAVE="hang", timeout=0.5).list()
    assert time.monotonic() - started < 10


@pytest.mark.rule("P7")
def test_a_hanging_connector_is_killed_with_its_children(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connector = Connector("shell", ["/bin/sh", "-c", "sleep 3600 & echo child $! >&2; wait"], timeout=1)
    with pytest.raises(ConnectorError, match="took longer"):
        connector.list()
    child = pid_in(caplog, "child")
    assert eventually(lambda: is_gone(child))


@pytest.mark.rule("P7")
def test_a_connector_that_closes_its_output_and_stays_is_killed_at_the_timeout(scripted: Make) -> None:
    with pytest.raises(ConnectorError, match="took longer"):
        scripted("import os, time; os.close(1); os.close(2); time.sleep(3600)", timeout=0.5).list()


@pytest.mark.rule("P8")
def test_a_child_that_outlives_a_good_call_is_ended_and_the_call_counts(
    fake: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert len(fake(FAKE_MISBEHAVE="leave-child").list()) == 3
    child = pid_in(caplog, "child")
    assert eventually(lambda: is_gone(child))


@pytest.mark.rule("P8")
def test_a_stray_in_its_own_session_that_keeps_the_pipes_open_holds_up_nothing(
    fake: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    started = time.monotonic()
    try:
        assert len(fake(FAKE_MISBEHAVE="leave-stray").list()) == 3
        assert time.monotonic() - started < 20
    finally:
        psutil.Process(pid_in(caplog, "stray")).kill()


@pytest.mark.rule("P5")
def test_a_line_that_never_ends_is_stopped_at_the_limit(fake: Make) -> None:
    with pytest.raises(ConnectorError, match="printed a line of more than 100,000 bytes"):
        fake(FAKE_MISBEHAVE="huge-line", max_line_bytes=100_000).list()


@pytest.mark.rule("P5")
def test_a_line_of_exactly_the_limit_is_read(scripted: Make) -> None:
    line = '{"id": "a", "version": "1"}'
    assert scripted(f"print('{line}')", max_line_bytes=len(line)).list() == {"a": "1"}
    with pytest.raises(ConnectorError, match=f"more than {len(line) - 1} bytes"):
        scripted(f"print('{line}')", max_line_bytes=len(line) - 1).list()


@pytest.mark.rule("P6")
def test_a_flood_is_stopped_at_the_limit_and_takes_no_more_memory_than_that(fake: Make) -> None:
    before = psutil.Process().memory_info().rss
    with pytest.raises(ConnectorError, match="printed more than 2,000,000 bytes in one call"):
        fake(FAKE_MISBEHAVE="flood", max_output_bytes=2_000_000).list()
    assert psutil.Process().memory_info().rss - before < 200_000_000


@pytest.mark.rule("P1")
@pytest.mark.parametrize(
    ("misbehaviour", "message"),
    [
        ("truncated-line", "line 3 of its output: not JSON"),
        ("not-json", "line 1 of its output: not JSON .*everything else on stderr"),
        ("not-utf-8", "line 1 of its output: not JSON"),
        ("not-an-object", "line 1 of its output: .*expected a JSON object, got a list"),
    ],
)
def test_a_line_that_is_no_message_fails_the_call_and_is_numbered(fake: Make, misbehaviour: str, message: str) -> None:
    with pytest.raises(ConnectorError, match=message):
        fake(FAKE_MISBEHAVE=misbehaviour).list()


def test_an_error_never_quotes_the_line_it_is_about(scripted: Make) -> None:
    with pytest.raises(ConnectorError) as caught:
        scripted('print(\'{"id": "a", "text": "private words\')').list()
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"id": ' * 15_000, "NaN", "1e999", '{"id": "\\ud800", "version": "1"}']
)
def test_json_made_to_hurt_is_an_error_like_any_other(scripted: Make, text: str) -> None:
    with pytest.raises(ConnectorError, match="line 1 of its output"):
        scripted("import os; print(os.environ['TEXT'])", env={"TEXT": text}).list()


@pytest.mark.rule("P16")
def test_an_item_nobody_asked_for_fails_the_fetch(fake: Make) -> None:
    with pytest.raises(ConnectorError, match="line 2 of its output: item 'nobody-asked' was not asked for"):
        fake(FAKE_MISBEHAVE="unrequested-id").fetch(["a"])


@pytest.mark.rule("P13")
@pytest.mark.rule("P16")
def test_an_id_that_comes_twice_fails_the_call(fake: Make) -> None:
    connector = fake(FAKE_MISBEHAVE="duplicate-id")
    for call in (connector.list, lambda: connector.fetch(["a"])):
        with pytest.raises(ConnectorError, match="'a' comes twice"):
            call()


@pytest.mark.rule("P11")
def test_check_is_one_line(fake: Make, scripted: Make) -> None:
    with pytest.raises(ConnectorError, match="comes twice"):
        fake(FAKE_MISBEHAVE="duplicate-id").check()
    with pytest.raises(ConnectorError, match="printed nothing, expected"):
        fake(FAKE_MISBEHAVE="silent").check()
    with pytest.raises(ConnectorError, match="'ok' must be true"):
        scripted("""print('{"ok": false, "count": 1}')""").check()


@pytest.mark.rule("P4")
def test_secrets_are_masked_in_the_log_and_in_the_error(fake: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    connector = fake(FAKE_MISBEHAVE="stderr-secret", secrets={"FAKE_SECRET": "t0k&n/ü", "OTHER": "t0k&n/ü-longer"})
    with pytest.raises(ConnectorError, match=r"exit status 1: .*refused: \*\*\*") as caught:
        connector.list()
    assert "FAKE_SECRET=***" in caplog.text and "OTHER=***\n" in caplog.text
    assert "t0k" not in caplog.text + str(caught.value)


@pytest.mark.rule("P4")
@pytest.mark.parametrize(
    "expression",
    [
        "secret",
        "urllib.parse.quote(secret, safe='')",
        "urllib.parse.quote_plus(secret)",
        "json.dumps(secret)",
        "'x' * 1990 + secret",
        "(secret + '=') * 2000",
        "secret.encode()",
    ],
)
def test_a_secret_is_masked_however_it_is_printed(
    scripted: Make, caplog: pytest.LogCaptureFixture, expression: str
) -> None:
    caplog.set_level(logging.DEBUG)
    source = f"import json, os, sys, urllib.parse; secret = os.environ['KEY']; sys.exit(str({expression}))"
    with pytest.raises(ConnectorError) as caught:
        scripted(source, secrets={"KEY": 'pass word/"quoted"'}).list()
    for piece in ("pass word", "pass%20", "pass+word", "quoted"):
        assert piece not in caplog.text + str(caught.value)


@pytest.mark.rule("P4")
def test_every_line_of_a_key_of_several_lines_is_masked(scripted: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----\n"
    with pytest.raises(ConnectorError):
        scripted("import os, sys; sys.exit('bad key: ' + os.environ['KEY'])", secrets={"KEY": key}).list()
    assert "bad key: ***" in caplog.text and "MIIE" not in caplog.text


@pytest.mark.rule("P4")
def test_a_secret_in_an_id_is_masked_in_the_error_about_it(scripted: Make) -> None:
    source = 'import os; print(\'{"id": "%s", "version": "1"}\\n\' % os.environ[\'T\'] * 2)'
    with pytest.raises(ConnectorError) as caught:
        scripted(source, secrets={"T": "s3cr3t"}).list()
    assert "s3cr3t" not in str(caught.value) and "***" in str(caught.value)


@pytest.mark.rule("P4")
def test_a_flood_of_error_output_blocks_nobody_and_does_not_fill_the_log(
    fake: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert len(fake(FAKE_MISBEHAVE="stderr-flood", timeout=60).list()) == 3
    assert caplog.text.count("all work and no play") < 10_000
    assert caplog.text.count("writes too much to stderr") == 1


def test_control_characters_do_not_reach_the_log(scripted: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scripted(r"import sys; sys.stderr.buffer.write(b'a\x1b[31mred\x07\r\n\xff end')").list()
    assert "\x1b" not in caplog.text and "\x07" not in caplog.text and "a\ufffd[31mred" in caplog.text


@pytest.mark.rule("P3")
def test_a_close_from_another_thread_ends_a_running_call_at_once(fake: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connector = fake(FAKE_MISBEHAVE="hang-with-child", timeout=60)
    errors: list[Exception] = []

    def call() -> None:
        try:
            connector.list()
        except ConnectorError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert eventually(lambda: "child" in caplog.text)
    connector.close()
    thread.join(20)
    assert not thread.is_alive()
    assert "stopped, because passageway stops" in str(errors[0])
    assert eventually(lambda: is_gone(pid_in(caplog, "child")))


def test_a_closed_connector_refuses_to_be_called(fake: Make) -> None:
    connector = fake()
    connector.close()
    connector.close()
    with pytest.raises(ConnectorError, match="stopped"):
        connector.list()


CORE = """
import logging, sys
from passageway.protocol import Connector

logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
Connector("fake", [sys.executable, "-m", "passageway.testing.fake_connector"], timeout=600,
          env={"FAKE_ITEMS": sys.argv[1], "FAKE_MISBEHAVE": "hang-with-child"}).list()
"""


def test_a_connector_and_its_children_end_when_the_core_is_killed(items_path: os.PathLike[str]) -> None:
    with subprocess.Popen([sys.executable, "-c", CORE, items_path], stdout=subprocess.PIPE, text=True) as core:
        assert core.stdout is not None
        child = int(core.stdout.readline().rpartition(" ")[2])
        connector = psutil.Process(child).ppid()
        core.kill()
    assert eventually(lambda: is_gone(child) and is_gone(connector))


def test_calls_leave_no_descriptor_thread_or_process_behind(fake: Make, scripted: Make) -> None:
    fake().list()
    this = psutil.Process()
    before = (this.num_fds(), threading.active_count(), len(this.children(recursive=True)))
    fake().list()
    for misbehaviour in ("exit-3", "not-json", "leave-child"):
        try:
            fake(FAKE_MISBEHAVE=misbehaviour).list()
        except ConnectorError:
            continue
    assert (this.num_fds(), threading.active_count(), len(this.children(recursive=True))) == before


def test_several_calls_of_one_connector_may_run_at_once(fake: Make) -> None:
    connector = fake(FAKE_DELAY=0.2)
    answers: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda: answers.append(connector.list())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == [{"a": "1", "b": "1", "ç/3": "1"}] * 4
