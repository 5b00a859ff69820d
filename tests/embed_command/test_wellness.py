"""What `info` says of a program that has died, fails, or works again: the truth, and soon."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from passageway.embed_command import CommandEmbedder
from passageway.embedder import EmbedderInfo
from passageway.errors import EmbedderError

Make = Callable[..., CommandEmbedder]

# Its word is in the file MOOD: `well`, `down` (every embed is an error), `dead` (it ends as soon as it starts).
MOODY = """
import json, os, sys
from pathlib import Path
mood = lambda: Path(os.environ["MOOD"]).read_text()
log = lambda text: open(os.environ["MOOD"] + ".log", "a").write(text + chr(10))
log(f"start {os.getpid()}")
if mood() == "dead":
    sys.exit("no memory left")
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "info":
        reply = {"name": "moody", "dim": 2}
    else:
        log(f"embed {request['kind']}")
        bad = mood() == "down" or "bad" in request["texts"]
        reply = {"error": "out of order"} if bad else {"vectors": [[1, 0]] * len(request["texts"])}
    print(json.dumps(reply), flush=True)
"""
INFO = EmbedderInfo("moody", 2, 0.5)


class Moody:
    """The program and its mood."""

    def __init__(self, folder: Path, scripted: Make) -> None:
        self._path = folder / "mood"
        self.feel("well")
        self.embedder = scripted(MOODY, env={"MOOD": str(self._path)})

    def feel(self, mood: str) -> None:
        self._path.write_text(mood, encoding="utf-8")

    def log(self) -> list[str]:
        return Path(f"{self._path}.log").read_text(encoding="utf-8").splitlines()

    def kill(self) -> None:
        """End the program as the kernel does when memory is short."""
        program = psutil.Process(int(self.log()[-1].partition(" ")[2]))
        program.kill()
        deadline = time.monotonic() + 20
        while program.is_running() and program.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline


@pytest.fixture
def moody(tmp_path: Path, scripted: Make) -> Moody:
    return Moody(tmp_path, scripted)


def test_a_program_that_died_is_started_again_to_tell_whether_it_is_well(moody: Moody) -> None:
    assert moody.embedder.info() == INFO
    moody.kill()
    assert moody.embedder.info() == INFO
    assert [line.split()[0] for line in moody.log()] == ["start", "start"]


def test_a_program_that_died_and_does_not_come_back_is_an_error_until_it_does(moody: Moody) -> None:
    moody.embedder.info()
    moody.feel("dead")
    moody.kill()
    for _ in range(2):
        with pytest.raises(EmbedderError, match="ended with exit status 1: no memory left"):
            moody.embedder.info()
    moody.feel("well")
    assert moody.embedder.info() == INFO


def test_a_program_that_fails_every_request_is_an_error_until_one_works(moody: Moody) -> None:
    assert moody.embedder.info() == INFO  # nothing has been tried yet
    moody.feel("down")
    for ask in (lambda: moody.embedder.embed(["tea"], "query"), moody.embedder.info, moody.embedder.info):
        with pytest.raises(EmbedderError, match="out of order"):
            ask()
    moody.feel("well")
    assert moody.embedder.embed(["tea"], "query").tolist() == [[1, 0]]
    before = moody.log()
    assert moody.embedder.info() == INFO
    assert moody.log() == before


def test_one_bad_text_is_found_to_be_no_fault_of_the_program_at_the_cost_of_one_more(moody: Moody) -> None:
    with pytest.raises(EmbedderError, match="out of order"):
        moody.embedder.embed(["bad"], "passage")
    for _ in range(3):
        assert moody.embedder.info() == INFO
    assert moody.log()[1:] == ["embed passage", "embed query"]


def test_a_busy_program_is_not_kept_waiting_to_say_that_it_is_well(fake: Make) -> None:
    embedder = fake(FAKE_MISBEHAVE="hang", timeout_s=600)
    embedder.info()
    hanging = threading.Thread(target=lambda: pytest.raises(EmbedderError, embedder.embed, ["tea"], "passage"))
    hanging.start()
    try:
        for _ in range(100):
            assert embedder.info().name == "fake-hash"
    finally:
        embedder.close()
        hanging.join(30)
    assert not hanging.is_alive()


def test_a_failed_proof_counts_for_all_who_waited_for_it(fake: Make, log_path: Path) -> None:
    embedder = fake(FAKE_MISBEHAVE="error", FAKE_DELAY=0.5)
    with pytest.raises(EmbedderError):
        embedder.embed(["tea"], "passage")
    errors: list[EmbedderError] = []

    def ask() -> None:
        try:
            embedder.info()
        except EmbedderError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 8
    assert log_path.read_text(encoding="utf-8").splitlines().count("embed query 1") < 4


def test_what_nobody_waits_for_any_more_is_left_out(fake: Make, log_path: Path) -> None:
    embedder = fake(batch_size=1, FAKE_DELAY=0.05)
    embedder.info()
    gone = threading.Event()
    errors: list[EmbedderError] = []

    def embed() -> None:
        try:
            embedder.embed([f"passage {n}" for n in range(400)], "passage", gone=gone)
        except EmbedderError as error:
            errors.append(error)

    thread = threading.Thread(target=embed)
    thread.start()
    deadline = time.monotonic() + 30
    while "embed passage 1" not in log_path.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
    gone.set()
    thread.join(30)
    assert [str(error) for error in errors] == ["embedder 'fake': nobody waits for the vectors any more"]
    assert log_path.read_text(encoding="utf-8").splitlines().count("embed passage 1") < 400
    assert embedder.info().name == "fake-hash"


def test_who_is_gone_leaves_the_queue_to_others(fake: Make) -> None:
    embedder = fake(FAKE_MISBEHAVE="hang", timeout_s=600)
    embedder.info()
    gone = threading.Event()
    hanging = threading.Thread(target=lambda: pytest.raises(EmbedderError, embedder.embed, ["tea"], "passage"))
    waiting = threading.Thread(
        target=lambda: pytest.raises(EmbedderError, embedder.embed, ["bread"], "query", gone=gone)
    )
    hanging.start()
    waiting.start()
    try:
        gone.set()
        waiting.join(30)
        assert not waiting.is_alive()
    finally:
        embedder.close()
        hanging.join(30)
