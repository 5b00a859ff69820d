"""`passageway eval` from the command line to its files: real connectors, embedders and indexes."""

import json
import logging
import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from passageway_cli.eval.page import END, START
from passageway_cli.main import main

TOY = Path(__file__).with_name("toy_embedder.py")

ITEMS = {
    "tea.md": ("Brewing tea", "Green leaves want water well below boiling, black leaves want it boiling hot."),
    "rope.md": ("Splicing rope", "Unlay three strands, tuck every strand under the next, then taper the splice."),
    "bees.md": (
        "Keeping bees",
        "Inspect the hive weekly in spring, because a crowded colony prepares to swarm. Look under combs for cells.",
    ),
    "bread.md": ("Baking bread", "Knead the dough until elastic, let it rise twice, bake on a hot stone."),
}

CASES = """
[[case]]
query = "how hot should water be for green leaves"
expect = ["brewing TEA"]
group = "plain"

[[case]]
query = "when does a crowded colony swarm"
expect_id = ["bees.md"]
group = "plain"

[[case]]
query = "dough elastic knead rise"
expect = ["Splicing"]
group = "mistaken"

[[case]]
query = "taper the splice"
expect = ["Splicing"]
group = "plain"

[[case]]
query = "quarterly revenue forecast spreadsheet"
group = "off-topic"

[[case]]
query = "boiling maple syrup until thick"
group = "near-topic"
"""


@dataclass
class Project:
    """A configuration with one source and toy embedders, and the calls its connectors got."""

    folder: Path
    sources: dict[str, dict[str, tuple[str, str]]] = field(default_factory=lambda: {"notes": ITEMS})
    embedders: dict[str, dict[str, str]] = field(default_factory=lambda: {"": {}})
    min_similarity: float = 0.25

    @property
    def config(self) -> Path:
        return self.folder / "passageway.toml"

    @property
    def calls(self) -> list[str]:
        log = self.folder / "calls.log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def write(self, cases: str = CASES, **connector_env: str) -> None:
        tables = [self._source(name, items, connector_env) for name, items in self.sources.items()]
        tables += [self._embedder(name, env) for name, env in self.embedders.items()]
        self.config.write_text("\n".join(tables), encoding="utf-8")
        (self.folder / "cases.toml").write_text(cases, encoding="utf-8")

    def _source(self, name: str, items: dict[str, tuple[str, str]], env: dict[str, str]) -> str:
        records = [
            {"id": key, "title": title, "url": f"https://example.org/{key}", "version": "1",
             "sections": [{"heading": "Steps", "text": text}]}
            for key, (title, text) in items.items()
        ]  # fmt: skip
        (self.folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
        variables = {"FAKE_ITEMS": str(self.folder / f"{name}.json"), "FAKE_LOG": str(self.folder / "calls.log"), **env}
        command = json.dumps([sys.executable, "-m", "passageway.testing.fake_connector"])
        return f'[[connector]]\nname = "{name}"\ncommand = {command}\nenv = {_inline(variables)}\n'

    def _embedder(self, name: str, env: dict[str, str]) -> str:
        table = f"[embedders.{name}]" if name else "[embedder]"
        command = json.dumps([sys.executable, env.get("PROGRAM", str(TOY))])
        gate = env.get("GATE", str(self.min_similarity))
        return f'{table}\nkind = "command"\ncommand = {command}\nenv = {_inline(env)}\nmin_similarity = {gate}\n'

    def eval(self, *words: str, compare: bool = False) -> int:
        """The exit code of `passageway eval [compare] cases.toml words`."""
        return main(["eval", *(["compare"] if compare else []), str(self.folder / "cases.toml"), *words])

    def report(self, *words: str, compare: bool = False) -> dict[str, Any]:
        """The JSON report of a run that ends well."""
        assert self.eval(*words, "--out", str(self.folder / "out"), compare=compare) == 0
        report: dict[str, Any] = orjson.loads((self.folder / "out/report.json").read_bytes())
        return report


def _inline(variables: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items()) + " }"


def wait_until(condition: Callable[[], bool], most_s: float = 60) -> None:
    deadline = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        threading.Event().wait(0.02)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setenv("PASSAGEWAY_CONFIG", str(made.config))
    monkeypatch.setenv("PASSAGEWAY_DATA_DIR", str(tmp_path / "live"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    made.write()
    return made


def quality(report: dict[str, Any]) -> Any:
    """The part of a report that depends on nothing but text, questions and model."""
    timed = {"p50_ms", "p95_ms", "embed_p50_ms"}
    return [
        {name: value for name, value in row[part].items() if name not in timed}
        for row in (report, *report["sweep"])
        for part in ("metrics", "intervals")
    ]


def test_a_run_reports_what_was_found_and_what_stayed_silent(project: Project, capsys: pytest.CaptureFixture) -> None:
    report = project.report("--include-cases")
    assert report["questions"] == {"all": 6, "answerable": 4, "unanswerable": 2}
    assert report["embedder"]["name"] == "toy"
    assert report["threshold"] == 0.25
    assert report["index"]["sources"] == [{"name": "notes", "items": 4, "sections": 4}]
    assert [case["rank"] for case in report["cases"]] == [1, 1, None, 1, None, None]
    assert report["metrics"]["hit_at_1"] == 0.75
    assert report["silence_by_group"]["off-topic"]["value"] == 1.0
    assert "| Hit@1 " in capsys.readouterr().out
    assert {path.name for path in (project.folder / "out").iterdir()} == {"report.json", "report.md", "report.html"}


def test_the_index_is_thrown_away_and_the_live_one_not_touched(project: Project) -> None:
    assert project.eval() == 0
    assert list((project.folder / "tmp").iterdir()) == []
    assert not (project.folder / "live").exists()


def test_two_runs_have_the_same_figures_to_the_last_digit(project: Project) -> None:
    words = ("--sweep", "0.1,0.25,0.5", "--leave-out")
    assert quality(project.report(*words)) == quality(project.report(*words))


def test_a_sweep_asks_at_every_threshold_and_at_the_own_one(project: Project) -> None:
    report = project.report("--sweep", "0.9,0.1,0.9")
    assert [row["threshold"] for row in report["sweep"]] == [0.1, 0.25, 0.9]
    silences = [row["metrics"]["false_silence"] for row in report["sweep"]]
    assert silences == sorted(silences)
    assert silences[0] < silences[-1]
    assert project.calls.count("list") == 1


def test_a_threshold_replaces_the_models_own(project: Project) -> None:
    assert project.report("--threshold", "0.99")["threshold"] == 0.99


def test_with_the_answers_hidden_what_comes_back_is_a_near_miss(project: Project) -> None:
    report = project.report("--leave-out", "--threshold", "0.01", "--include-cases")
    loose = report["metrics"]["near_miss"]
    first, second, third = report["cases"][:3]
    assert "tea.md" not in {hit["id"] for hit in first["near_miss"]}
    assert "bees.md" not in {hit["id"] for hit in second["near_miss"]}
    # The questions file wants the rope here, so the rope alone is hidden, and the bread that fits comes back.
    assert third["near_miss"][0]["id"] == "bread.md"
    assert 0 < project.report("--leave-out")["metrics"]["near_miss"] < loose


def test_a_copy_of_an_answer_in_another_source_is_hidden_with_it(project: Project) -> None:
    copies = {"copy/bees.md": ("Our hive", ITEMS["bees.md"][1]), "ants.md": ("Ants", "A crowded colony of ants moves.")}
    project.sources = {"notes": ITEMS, "wiki": copies}
    project.write()
    report = project.report("--leave-out", "--include-cases")
    assert {hit["id"] for hit in report["cases"][1]["near_miss"]} == {"ants.md"}


def test_a_kept_index_is_brought_up_to_date_and_not_built_again(project: Project) -> None:
    kept = project.folder / "kept"
    assert project.eval("--data-dir", str(kept)) == 0
    fetches = sum(call.startswith("fetch") for call in project.calls)
    assert project.report("--data-dir", str(kept))["index"]["kept"] is True
    assert sum(call.startswith("fetch") for call in project.calls) == fetches == 1
    assert (kept / "notes.db").exists()
    assert "an earlier index brought up to date in" in (project.folder / "out/report.md").read_text(encoding="utf-8")


def test_a_kept_index_of_another_model_is_refused_and_stays_as_it_is(
    project: Project, capsys: pytest.CaptureFixture
) -> None:
    kept = project.folder / "kept"
    assert project.eval("--data-dir", str(kept)) == 0
    project.embedders = {"": {"NAME": "other"}}
    project.write()
    calls = len(project.calls)
    assert project.eval("--data-dir", str(kept)) == 2
    assert "notes was built with another embedding model than other" in capsys.readouterr().err
    assert len(project.calls) == calls
    project.embedders = {"": {}}
    project.write()
    assert project.eval("--data-dir", str(kept)) == 0


def test_the_live_folder_and_one_with_other_sources_are_refused(
    project: Project, capsys: pytest.CaptureFixture
) -> None:
    assert project.eval("--data-dir", str(project.folder / "live")) == 2
    assert "the server serves from" in capsys.readouterr().err
    (project.folder / "kept").mkdir()
    (project.folder / "kept/wiki.db").touch()
    assert project.eval("--data-dir", str(project.folder / "kept")) == 2
    assert "also holds wiki" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("targets", "code", "words"),
    [
        ("hit_at_1 = 0.75\nsilence = 1.0\np95_ms = 60000", 0, []),
        ("hit_at_1 = 0.9\nmrr = 0.1", 1, ["target not met: Hit@1 75.0%, at least 90.0%"]),
        ("near_miss = 1.0", 1, ["near_miss is not met without --leave-out", "Near-miss answers n/a"]),
        ("", 0, ["has no [targets]"]),
    ],
)
def test_targets_decide_the_exit_code_under_enforce(
    project: Project, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture,
    targets: str, code: int, words: list[str],
) -> None:  # fmt: skip
    project.write((f"[targets]\n{targets}\n" if targets else "") + CASES)
    assert project.eval("--enforce") == code
    said = capsys.readouterr().err + caplog.text
    assert [word for word in words if word not in said] == []
    assert project.eval() == 0


def test_a_figure_without_questions_fails_its_target(project: Project) -> None:
    project.write('[targets]\nsilence = 0\n[[case]]\nquery = "green leaves water"\nexpect = ["tea"]')
    assert project.eval("--enforce") == 1


def test_a_source_that_fails_ends_the_run_with_its_name(project: Project, capsys: pytest.CaptureFixture) -> None:
    project.write(FAKE_BAD_IDS="bees.md")
    assert project.eval("--out", str(project.folder / "out")) == 1
    captured = capsys.readouterr()
    assert "source 'notes' could not be indexed" in captured.err
    assert captured.out == ""
    assert list((project.folder / "out").iterdir()) == []


def test_sources_without_any_text_are_no_measurement(project: Project, capsys: pytest.CaptureFixture) -> None:
    project.sources = {"notes": {}}
    project.write()
    assert project.eval() == 1
    assert "hold no text" in capsys.readouterr().err


def test_an_embedder_that_fails_on_a_question_is_no_silence(project: Project, capsys: pytest.CaptureFixture) -> None:
    project.embedders = {"": {"FAIL_ON": "quarterly"}}
    project.write()
    assert project.eval() == 1
    captured = capsys.readouterr()
    assert "told to fail" in captured.err
    assert "quarterly" not in captured.err
    assert captured.out == ""


def test_a_text_that_is_no_question_is_answered_with_silence(project: Project) -> None:
    project.write(CASES + '[[case]]\nquery = "ok"\nexpect = ["tea"]\n[[case]]\nquery = "?"\n')
    report = project.report("--leave-out", "--include-cases")
    assert [(case["right"], case["found"]) for case in report["cases"][6:]] == [(False, []), (True, [])]
    assert report["recall_at_10_before_gate"] == 4 / 5


def test_an_embedder_that_cannot_start_is_a_mistake_of_the_configuration(
    project: Project, capsys: pytest.CaptureFixture
) -> None:
    project.embedders = {"": {"PROGRAM": "/nonexistent.py"}}
    project.write()
    assert project.eval() == 2
    assert "cannot start" in capsys.readouterr().err
    assert project.calls == []


def test_a_configuration_named_outright_needs_no_instance(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (project.folder / "config/passageway-work").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.folder / "config"))
    monkeypatch.delenv("PASSAGEWAY_CONFIG")
    assert project.eval() == 2
    assert "only named instances" in capsys.readouterr().err
    assert project.eval("--config", str(project.config)) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--threshold", "1.5"],
        ["--threshold", "high"],
        ["--sweep", "0.8,,0.9"],
        ["--sweep", "nan"],
        ["--embedder", "default"],
        ["--unknown"],
    ],
)
def test_a_wrong_option_is_exit_code_2(project: Project, words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        project.eval(*words)
    assert caught.value.code == 2


@pytest.mark.parametrize("words", [["--sweep", "0.8", "compare", "cases.toml"], ["cases.toml", "compare"]])
def test_a_comparison_asked_for_too_late_in_the_line_is_told_where_the_word_belongs(
    capsys: pytest.CaptureFixture, words: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["eval", *words])
    assert caught.value.code == 2
    assert "passageway eval compare CASES" in capsys.readouterr().err


def test_mistakes_in_files_are_exit_code_2_before_anything_is_asked(project: Project) -> None:
    assert project.eval("--config", str(project.folder / "none.toml")) == 2
    project.write('[[case]]\nquery = "q"\nexpct = ["a"]')
    assert project.eval() == 2
    project.write()
    project.config.write_text("", encoding="utf-8")
    assert project.eval() == 2
    assert project.calls == []


def test_a_page_gets_the_run_and_the_history_of_runs(project: Project) -> None:
    page = project.folder / "page.md"
    page.write_text(f"# Mine\n\n{START}\n{END}\n\nNotes.\n", encoding="utf-8")
    for threshold in ("0.25", "0.3", "0.3"):
        assert project.eval("--write", str(page), "--threshold", threshold, "--include-cases") == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Mine\n\n{START}\n\n")
    assert text.endswith(f"\n{END}\n\nNotes.\n")
    assert "### History" in text
    assert "green leaves" not in text
    assert "Brewing" not in text
    history = orjson.loads((project.folder / "page.history.json").read_bytes())
    assert [run["threshold"] for run in history["runs"]] == [0.25, 0.3]


def test_a_page_without_markers_costs_no_measurement(project: Project, capsys: pytest.CaptureFixture) -> None:
    page = project.folder / "page.md"
    page.write_text("# Mine\n", encoding="utf-8")
    assert project.eval("--write", str(page)) == 2
    assert START in capsys.readouterr().err
    assert project.calls == []
    assert page.read_text(encoding="utf-8") == "# Mine\n"


@pytest.mark.parametrize(
    ("locked", "words"),
    [
        ("page.md", ["--write", "page.md"]),
        ("page.history.json", ["--write", "page.md"]),
        ("locked", ["--out", "locked"]),
        ("locked", ["--out", "locked/out"]),
        ("locked", ["--data-dir", "locked"]),
        ("locked", ["--data-dir", "locked/index"]),
    ],
)
def test_what_cannot_be_written_costs_no_measurement(project: Project, locked: str, words: list[str]) -> None:
    (project.folder / "page.md").write_text(f"{START}\n{END}\n", encoding="utf-8")
    (project.folder / "page.history.json").write_text('{"runs": []}', encoding="utf-8")
    (project.folder / "locked").mkdir()
    (project.folder / locked).chmod(0o555)
    as_anybody = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if as_anybody and not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and this machine has no setpriv to give that up")
    command = [*as_anybody, sys.executable, "-m", "passageway_cli", "eval", "cases.toml", *words]
    done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"passageway: {words[0]} {words[1]}")
    assert locked in done.stderr
    assert project.calls == []


def test_a_reader_that_leaves_does_not_cost_the_files(project: Project) -> None:
    command = [sys.executable, "-m", "passageway_cli", "eval", "cases.toml", "--out", "out"]
    run = subprocess.Popen(command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout is not None
    run.stdout.close()
    _, said = run.communicate(timeout=60)
    assert b"Traceback" not in said
    assert {path.name for path in (project.folder / "out").iterdir()} == {"report.json", "report.md", "report.html"}


def test_nothing_of_questions_or_sources_is_reported_or_logged_by_itself(
    project: Project, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        project.report("--sweep", "0.1,0.5", "--leave-out")
    captured = capsys.readouterr()
    files = [path.read_text(encoding="utf-8") for path in (project.folder / "out").iterdir()]
    for text in (captured.out, captured.err, caplog.text, *files):
        for word in ("green leaves", "colony", "Brewing", "bees.md", "example.org", os.uname().nodename):
            assert word not in text


def test_a_case_that_accepts_nothing_indexed_is_named_by_number(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    missing = '\n[[case]]\nquery = "q{}"\nexpect = ["No such title"]\n'
    project.write(CASES + missing.format(1))
    assert project.eval() == 0
    assert "case 7 accepts nothing that is indexed" in caplog.text
    project.write(CASES + missing.format(1) + missing.format(2))
    assert project.eval() == 0
    assert "cases 7, 8 accept nothing that is indexed" in caplog.text


def test_it_runs_as_a_command_and_shows_plain_lines_where_there_is_no_terminal(project: Project) -> None:
    command = [sys.executable, "-m", "passageway_cli", "eval", "cases.toml"]
    done = subprocess.run(
        command, cwd=project.folder, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| Metric " in done.stdout
    assert "notes: 4 items, 4 sections" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_terminal_gets_bars_and_drawn_tables(project: Project) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "passageway_cli", "eval", "cases.toml"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with open(ours, "rb", buffering=0) as screen:
        run = subprocess.Popen(command, cwd=project.folder, env=environment, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b"".join(_until_hung_up(screen)).decode()
        assert run.wait(60) == 0, shown
    assert "Indexing notes" in shown
    assert "Asking" in shown
    assert "Hit@3" in shown
    assert "| Metric" not in shown


def _until_hung_up(screen: FileIO) -> Iterator[bytes]:
    try:
        while chunk := screen.read(65536):
            yield chunk
    except OSError:  # Linux says so when the last program on the other side is gone
        return


def test_a_cancelled_run_leaves_nothing_behind(project: Project) -> None:
    project.write(FAKE_DELAY="300")
    command = [sys.executable, "-m", "passageway_cli", "eval", "cases.toml"]
    run = subprocess.Popen(command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: "check" in project.calls)
        assert list((project.folder / "tmp").iterdir()) != []
        run.terminate()
        assert run.wait(60) == 143
    finally:
        run.kill()
        run.communicate()
    assert list((project.folder / "tmp").iterdir()) == []


def test_a_comparison_puts_every_embedder_side_by_side(project: Project) -> None:
    project.embedders = {"": {}, "tiny": {"NAME": "tiny", "DIM": "4", "GATE": "0.9"}, "twin": {"NAME": "twin"}}
    project.write()
    page = project.folder / "page.md"
    page.write_text(f"{START}\n{END}\n", encoding="utf-8")
    report = project.report("--sweep", "0.5", "--write", str(page), compare=True)
    assert report["kind"] == "compare"
    names = [(c["name"], c["embedder"]["name"], c["embedder"]["dimension"], c["threshold"]) for c in
             report["candidates"]]  # fmt: skip
    assert names == [("default", "toy", 512, 0.25), ("tiny", "tiny", 4, 0.9), ("twin", "twin", 512, 0.25)]
    assert [(pair["first"], pair["second"]) for pair in report["pairs"]] == [
        ("default", "tiny"), ("default", "twin"), ("tiny", "twin"),
    ]  # fmt: skip
    assert report["pairs"][1]["hit_at_3"] == {"questions": 4, "only_first": 0, "only_second": 0, "p": 1.0}
    assert report["candidates"][0]["metrics"]["hit_at_3"] == report["candidates"][2]["metrics"]["hit_at_3"]
    assert [row["threshold"] for row in report["candidates"][1]["sweep"]] == [0.5, 0.9]
    history = orjson.loads((project.folder / "page.history.json").read_bytes())
    assert [run["embedder"] for run in history["runs"]] == ["default: toy", "tiny: tiny", "twin: twin"]
    assert list((project.folder / "tmp").iterdir()) == []


def test_a_comparison_at_one_threshold_asks_all_at_it(project: Project) -> None:
    project.embedders = {"": {}, "twin": {"NAME": "twin", "GATE": "0.9"}}
    project.write()
    report = project.report("--threshold", "0.3", "--embedder", "twin", "--embedder", "default", compare=True)
    assert [(c["name"], c["threshold"]) for c in report["candidates"]] == [("twin", 0.3), ("default", 0.3)]
    assert report["shared_threshold"] is True


@pytest.mark.parametrize(
    ("embedders", "words", "said"),
    [
        ({"": {}}, [], "at least two embedders"),
        ({"": {}, "other": {}}, ["--embedder", "other"], "at least two embedders"),
        ({"": {}, "other": {}}, ["--embedder", "default", "--embedder", "othr"], "no embedder is named 'othr'"),
        ({"": {}, "default": {}}, [], "the name that [embedder] goes by"),
        ({"": {}, "broken": {"PROGRAM": "/nonexistent.py"}}, [], "embedder 'broken' cannot start"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_exit_code_2_and_indexes_nothing(
    project: Project, capsys: pytest.CaptureFixture, embedders: dict[str, dict[str, str]], words: list[str], said: str
) -> None:
    project.embedders = embedders
    project.write()
    assert project.eval(*words, compare=True) == 2
    assert said in capsys.readouterr().err
    assert project.calls == []


def test_a_comparison_ends_with_1_and_the_candidate_when_a_source_or_an_embedder_fails(
    project: Project, capsys: pytest.CaptureFixture
) -> None:
    project.embedders = {"": {}, "broken": {"NAME": "broken", "FAIL_ON": "quarterly"}}
    project.write()
    assert project.eval(compare=True) == 1
    assert "candidate 'broken': embedder 'command': told to fail" in capsys.readouterr().err
    project.embedders = {"": {}, "twin": {"NAME": "twin"}}
    project.write(FAKE_BAD_IDS="bees.md")
    assert project.eval(compare=True) == 1
    assert "candidate 'default': source 'notes' could not be indexed" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--enforce", "--include-cases", "--data-dir"])
def test_a_comparison_has_no_options_of_a_single_run(project: Project, option: str) -> None:
    with pytest.raises(SystemExit) as caught:
        project.eval(option, compare=True)
    assert caught.value.code == 2
