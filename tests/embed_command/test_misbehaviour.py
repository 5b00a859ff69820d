"""What becomes of an embedder that breaks the protocol: a real process each time, and the outcome."""

import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.errors import EmbedderError

Make = Callable[..., CommandEmbedder]
TEXTS = ["Lighthouses guide ships.", "Bananas are yellow."]


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


def starts(log_path: Path) -> int:
    return log_path.read_text(encoding="utf-8").splitlines().count("start")


@pytest.mark.rule("E10")
def test_a_program_that_dies_while_answering_is_started_again_and_asked_again(fake: Make, log_path: Path) -> None:
    assert len(fake(FAKE_MISBEHAVE="die", FAKE_ONCE="1").embed(TEXTS, "passage")) == 2
    assert starts(log_path) == 2


@pytest.mark.rule("E10")
@pytest.mark.parametrize("misbehaviour", ["die", "die-at-info"])
def test_a_program_that_dies_twice_fails_the_call_with_its_last_words(
    fake: Make, log_path: Path, misbehaviour: str
) -> None:
    with pytest.raises(EmbedderError, match="'fake': ended with exit status 4: out of luck"):
        fake(FAKE_MISBEHAVE=misbehaviour).embed(TEXTS, "passage")
    assert starts(log_path) == 2


@pytest.mark.rule("E10")
def test_a_program_found_dead_is_started_again(fake: Make, log_path: Path) -> None:
    others = set(psutil.Process().children())  # an embedder of an earlier test may still be ending
    embedder = fake()
    embedder.info()
    started = set(psutil.Process().children()) - others
    (program,) = [child for child in started if "fake_embedder" in " ".join(child.cmdline())]
    program.kill()
    assert eventually(lambda: is_gone(program.pid))
    assert len(embedder.embed(TEXTS, "passage")) == 2
    assert starts(log_path) == 2


@pytest.mark.rule("E10")
def test_half_a_reply_is_the_end_of_a_program_that_died_over_it(fake: Make, log_path: Path) -> None:
    assert len(fake(FAKE_MISBEHAVE="die-mid-reply", FAKE_ONCE="1").embed(TEXTS, "passage")) == 2
    assert starts(log_path) == 2
    with pytest.raises(EmbedderError, match="'fake': ended with exit status 4: out of luck"):
        fake(FAKE_MISBEHAVE="die-mid-reply").embed(TEXTS, "passage")


@pytest.mark.rule("E10")
def test_one_call_restarts_once_however_many_batches_it_has(fake: Make, log_path: Path) -> None:
    with pytest.raises(EmbedderError, match="exit status 4"):
        fake(FAKE_MISBEHAVE="die", batch_size=1).embed(TEXTS, "passage")
    assert starts(log_path) == 2


@pytest.mark.rule("E9")
@pytest.mark.parametrize("misbehaviour", ["hang", "hang-at-info"])
def test_a_hanging_request_kills_the_program_with_its_children_and_fails_the_call(
    caplog: pytest.LogCaptureFixture, misbehaviour: str
) -> None:
    caplog.set_level(logging.INFO)
    info = "" if misbehaviour == "hang-at-info" else """read line; echo '{"name": "sh", "dim": 1}'; """
    embedder = CommandEmbedder(
        "shell", ["/bin/sh", "-c", info + "read line; sleep 3600 & echo child $! >&2; wait"], timeout_s=1
    )
    with pytest.raises(EmbedderError, match="'shell': took longer than 1 s and was killed"):
        embedder.embed(TEXTS, "passage")
    found = re.search(r"child (\d+)", caplog.text)
    assert found and eventually(lambda: is_gone(int(found.group(1))))
    embedder.close()


HANGS_THE_FIRST_TIME = """
read line; echo '{"name": "sh", "dim": 1}'
read line; mkdir "$MARK" 2>/dev/null && sleep 3600
echo '{"vectors": [[1]]}'
read line
"""


@pytest.mark.rule("E9")
def test_the_next_call_after_a_timeout_starts_the_program_again(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", HANGS_THE_FIRST_TIME]
    embedder = CommandEmbedder("shell", command, env={"MARK": str(tmp_path / "mark")}, timeout_s=2, min_similarity=0.5)
    with pytest.raises(EmbedderError, match="took longer than 2 s"):
        embedder.embed(["a"], "passage")
    assert embedder.embed(["a"], "passage").tolist() == [[1.0]]
    embedder.close()


@pytest.mark.rule("E4")
@pytest.mark.rule("E11")
@pytest.mark.parametrize(
    ("misbehaviour", "message"),
    [
        ("chatter", "is not JSON .*only replies belong on stdout"),
        ("chatter-later", "is not JSON"),
        ("no-object", "no JSON object"),
        ("no-vectors", "has no 'vectors'"),
        ("too-few", "answered 2 texts with 1 vectors"),
        ("too-many", "answered 2 texts with 3 vectors"),
        ("too-short", "vector 2 of its reply has 63 numbers, expected 64"),
        ("text-in-vector", "vector 1 of its reply is no list of numbers"),
        ("null-in-vector", "vector 1 of its reply is no list of numbers"),
        ("nan", "has NaN or Infinity for a number"),
        ("infinite", "has NaN or Infinity for a number"),
        ("endless-line", "printed a line of more than"),
        ("error-no-text", "'error' that is no string"),
    ],
)
def test_what_is_no_reply_fails_the_call_and_stops_the_program(
    fake: Make, log_path: Path, misbehaviour: str, message: str
) -> None:
    embedder = fake(FAKE_MISBEHAVE=misbehaviour, FAKE_ONCE="1")
    with pytest.raises(EmbedderError, match=message):
        embedder.embed(TEXTS, "passage")
    assert starts(log_path) == 1
    assert len(embedder.embed(TEXTS, "passage")) == 2
    assert starts(log_path) == 2


@pytest.mark.rule("E11")
def test_a_second_answer_is_not_taken_for_the_answer_to_the_next_request(fake: Make, log_path: Path) -> None:
    embedder = fake(FAKE_MISBEHAVE="answer-twice", FAKE_ONCE="1")
    first = embedder.embed(TEXTS, "passage")
    with pytest.raises(EmbedderError, match="a line that nobody asked for"):
        embedder.embed(TEXTS[::-1], "passage")
    assert (embedder.embed(TEXTS[::-1], "passage") == first[::-1]).all()


@pytest.mark.rule("E11")
def test_a_flood_between_two_requests_fails_the_second_and_is_not_read_to_its_end(fake: Make) -> None:
    embedder = fake(FAKE_MISBEHAVE="flood")
    embedder.embed(TEXTS, "passage")
    with pytest.raises(EmbedderError, match="a line that nobody asked for|is not JSON"):
        embedder.embed(TEXTS, "passage")


@pytest.mark.rule("E2")
@pytest.mark.parametrize(("misbehaviour", "message"), [("no-name", "has no 'name'"), ("no-dim", "'dim' 0, expected 1")])
def test_an_info_that_identifies_no_model_is_refused(fake: Make, misbehaviour: str, message: str) -> None:
    with pytest.raises(EmbedderError, match=message):
        fake(FAKE_MISBEHAVE=misbehaviour).info()


@pytest.mark.rule("E3")
def test_a_program_of_another_protocol_is_refused(fake: Make) -> None:
    with pytest.raises(EmbedderError, match="speaks protocol '2', this passageway speaks '1'"):
        fake(FAKE_MISBEHAVE="wrong-version").info()


@pytest.mark.rule("E8")
@pytest.mark.rule("E14")
def test_an_error_reply_fails_the_call_masked_and_the_program_stays(fake: Make, log_path: Path) -> None:
    embedder = fake(FAKE_MISBEHAVE="error", secrets={"FAKE_SECRET": "k3y-in-the-reply"})
    for _ in range(2):
        with pytest.raises(EmbedderError, match=r"'fake': the service refused the key \*\*\*$"):
            embedder.embed(TEXTS, "passage")
    assert starts(log_path) == 1


@pytest.mark.rule("E14")
def test_a_long_error_is_cut_and_no_half_of_a_secret_is_left_at_its_end(scripted: Make) -> None:
    source = """
import json, os, sys
for number, line in enumerate(sys.stdin):
    print(json.dumps({"error": "x" * (950 + number) + os.environ["KEY"] + "y" * 10000}), flush=True)
"""
    embedder = scripted(source, secrets={"KEY": "k3y-0123456789abcdef"})
    for _ in range(60):
        with pytest.raises(EmbedderError, match="^embedder 'scripted': x+") as caught:
            embedder.embed(TEXTS, "passage")
        assert len(str(caught.value)) < 1_100 and "k3y" not in str(caught.value)


@pytest.mark.rule("E8")
def test_an_error_reply_to_info_is_asked_again_by_the_next_call(fake: Make, log_path: Path) -> None:
    embedder = fake(FAKE_MISBEHAVE="error-at-info")
    for _ in range(2):
        with pytest.raises(EmbedderError, match="the service is down"):
            embedder.info()
    assert log_path.read_text(encoding="utf-8").splitlines() == ["start", "info", "info"]


@pytest.mark.rule("E5")
def test_a_vector_of_length_zero_fails_the_call_and_the_program_stays(fake: Make, log_path: Path) -> None:
    embedder = fake(FAKE_MISBEHAVE="zero")
    for _ in range(2):
        with pytest.raises(EmbedderError, match="vector 2 of its reply has length 0"):
            embedder.embed(TEXTS, "passage")
    assert starts(log_path) == 1


@pytest.mark.rule("E14")
def test_a_secret_is_masked_in_the_log_and_in_the_last_words(fake: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(EmbedderError, match=r"out of luck with \*\*\*") as caught:
        fake(FAKE_MISBEHAVE="die", secrets={"FAKE_SECRET": "k3y-on-stderr"}).embed(TEXTS, "passage")
    assert "k3y" not in caplog.text + str(caught.value)


OTHER_AFTER_RESTART = """
import json, os, sys
path = os.environ["MARK"]
second = os.path.exists(path)
open(path, "w").close()
for line in sys.stdin:
    if json.loads(line)["op"] == "info":
        print(json.dumps({"name": "b" if second else "a", "dim": 2}), flush=True)
    elif second:
        print('{"vectors": [[1, 0]]}', flush=True)
    else:
        sys.exit(1)
"""


@pytest.mark.rule("E12")
def test_a_program_that_is_another_model_after_a_restart_is_refused_each_time(scripted: Make, tmp_path: Path) -> None:
    embedder = scripted(OTHER_AFTER_RESTART, env={"MARK": str(tmp_path / "mark")})
    assert embedder.info().name == "a"
    for _ in range(2):
        with pytest.raises(EmbedderError, match="after a restart it is 'b' with 2 numbers, before it was 'a' with 2"):
            embedder.embed(["text"], "passage")


def test_a_program_that_closes_its_output_and_stays_is_started_again(fake: Make, log_path: Path) -> None:
    assert len(fake(FAKE_MISBEHAVE="close-output", FAKE_ONCE="1").embed(TEXTS, "passage")) == 2
    assert starts(log_path) == 2


@pytest.mark.rule("E15")
def test_a_close_from_another_thread_ends_a_hanging_request_at_once(
    fake: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    embedder = fake(FAKE_MISBEHAVE="hang", timeout_s=600)
    errors: list[Exception] = []

    def call() -> None:
        try:
            embedder.embed(TEXTS, "passage")
        except EmbedderError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert eventually(lambda: "child" in caplog.text)
    embedder.close()
    thread.join(20)
    assert not thread.is_alive() and len(errors) == 1
    found = re.search(r"child (\d+)", caplog.text)
    assert found and eventually(lambda: is_gone(int(found.group(1))))


CORE = """
import sys
from passageway.embed_command import CommandEmbedder

embedder = CommandEmbedder("fake", [sys.executable, "-c", sys.argv[1]], min_similarity=0.5)
print(embedder.info().name, flush=True)
embedder.embed(["hang"], "query")
"""
DEAF = """
import os, sys, time
sys.stdin.readline()
print('{"name": "%d", "dim": 1}' % os.getpid(), flush=True)
time.sleep(3600)
"""


@pytest.mark.rule("E15")
def test_a_program_that_does_not_watch_its_input_ends_when_the_core_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", CORE, DEAF], stdout=subprocess.PIPE, text=True) as core:
        assert core.stdout is not None
        pid = int(core.stdout.readline())
        core.kill()
    assert eventually(lambda: is_gone(pid))


def test_an_embedder_leaves_no_descriptor_thread_or_process_behind(fake: Make) -> None:
    this = psutil.Process()
    fake().close()
    before = (this.num_fds(), threading.active_count(), len(this.children(recursive=True)))
    for misbehaviour in ("blank-line", "die", "too-few", "error"):
        embedder = fake(FAKE_MISBEHAVE=misbehaviour)
        try:
            embedder.embed(TEXTS, "passage")
        except EmbedderError:
            pass
        finally:
            embedder.close()
    assert (this.num_fds(), threading.active_count(), len(this.children(recursive=True))) == before
