import io
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import passageway_sdk
from passageway_sdk import Connector, SettingsError, SourceError

PAGES = {"a": "Lighthouses guide ships.", "b": "Größe — ✨"}


def record(item_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": item_id,
        "title": f"Page {item_id}",
        "url": f"https://example.org/{item_id}",
        "version": "1",
        "sections": [{"heading": None, "text": PAGES.get(item_id, "")}],
        **changes,
    }


class Pages(Connector):
    name = "pages"

    def __init__(self, env: Mapping[str, str], pages: Mapping[str, str] = PAGES) -> None:
        if env.get("ROOT") == "wrong":
            raise SettingsError("ROOT is 'wrong', expected a folder")
        self.pages = pages

    def versions(self) -> Mapping[str, str]:
        return dict.fromkeys(self.pages, "1")

    def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
        return [record(item_id) for item_id in ids if item_id in self.pages]


class Watched(Pages):
    def changed(self, since: datetime) -> Iterable[dict[str, Any]]:
        yield record("a", updated=since.isoformat())


def call(connector: type[Connector], *argv: str, stdin: str = "", **options: Any) -> tuple[int, list[Any], str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = connector.run(list(argv), {}, io.StringIO(stdin), stdout, stderr, **options)
    return code, [json.loads(line) for line in stdout.getvalue().splitlines()], stderr.getvalue()


def test_check_prints_the_count_and_the_protocol() -> None:
    assert call(Pages, "check") == (0, [{"ok": True, "count": 2, "protocol": "1"}], "")


def test_check_prints_the_connectors_own_count() -> None:
    class Counted(Pages):
        def count(self) -> int:
            return 7

    assert call(Counted, "check")[1][0]["count"] == 7


def test_list_prints_every_item_with_its_version() -> None:
    assert call(Pages, "list")[1] == [{"id": "a", "version": "1"}, {"id": "b", "version": "1"}]


def test_fetch_prints_the_requested_items_and_skips_blank_lines_and_unknown_ids() -> None:
    code, items, _ = call(Pages, "fetch", stdin='{"id": "b"}\n\n  \n{"id": "gone"}\n{"id": "b", "more": 1}\n')
    assert (code, items) == (0, [record("b")])


def test_the_json_is_ascii() -> None:
    stdout = io.StringIO()
    Pages.run(["fetch"], {}, ['{"id": "b"}'], stdout, io.StringIO())
    assert stdout.getvalue().isascii() and "\\u2728" in stdout.getvalue()


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("2026-10-28T09:00:00Z", "2026-10-28T09:00:00+00:00"),
        ("2026-10-28T11:00:00+02:00", "2026-10-28T09:00:00+00:00"),
        ("2026-10-28T09:00:00", "2026-10-28T09:00:00+00:00"),
    ],
)
def test_changed_gets_an_aware_time(argument: str, expected: str) -> None:
    assert call(Watched, "changed", "--since", argument)[1][0]["updated"] == expected
    assert call(Watched, "changed", f"--since={argument}")[1][0]["updated"] == expected


def test_changed_prints_nothing_and_needs_no_since_when_the_connector_has_none() -> None:
    assert call(Pages, "changed") == (0, [], "")
    assert call(Pages, "changed", "--since", "2026-10-28T09:00:00Z") == (0, [], "")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["walk"],
        ["list", "extra"],
        ["changed"],
        ["changed", "--since"],
        ["changed", "--since", "yesterday"],
        ["changed", "--since", "0001-01-01T00:00:00+14:00"],
        ["changed", "--since", "2026-10-28", "extra"],
    ],
)
def test_a_call_the_protocol_does_not_know_exits_2_with_the_usage(argv: list[str]) -> None:
    code, lines, stderr = call(Watched, *argv)
    assert (code, lines) == (2, [])
    assert stderr.startswith("pages: ") and "usage: check | list | fetch" in stderr


@pytest.mark.parametrize("line", ["a.txt", '"a"', "[]", '{"name": "a"}', '{"id": 1}', '{"id": null}', "[" * 100_000])
def test_a_line_on_stdin_that_is_no_id_exits_2_and_says_which(line: str) -> None:
    code, lines, stderr = call(Pages, "fetch", stdin=f'{{"id": "a"}}\n{line}\n')
    assert (code, lines) == (2, [])
    assert stderr.startswith("pages: line 2 of stdin")


def test_a_wrong_setting_exits_2_with_the_message_alone() -> None:
    stdout, stderr = io.StringIO(), io.StringIO()
    assert Pages.run(["list"], {"ROOT": "wrong"}, [], stdout, stderr) == 2
    assert (stdout.getvalue(), stderr.getvalue()) == ("", "pages: ROOT is 'wrong', expected a folder\n")


class Failing(Pages):
    expected_errors = (TimeoutError,)
    error: Exception

    def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
        yield record("a")
        raise self.error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SourceError("https://example.org: 503"), "pages: https://example.org: 503\n"),
        (TimeoutError("too slow"), "pages: too slow\n"),
        (TimeoutError(), "pages: TimeoutError\n"),
    ],
)
def test_a_failing_source_exits_1_and_leaves_stdout_empty(error: Exception, message: str) -> None:
    class Broken(Failing):
        pass

    Broken.error = error
    assert call(Broken, "fetch", stdin='{"id": "a"}') == (1, [], message)


def test_a_bug_propagates_and_leaves_stdout_empty() -> None:
    class Buggy(Failing):
        error = ZeroDivisionError("bug")

    stdout = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        Buggy.run(["fetch"], {}, ['{"id": "a"}'], stdout, io.StringIO())
    assert stdout.getvalue() == ""


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([record("a"), record("a", title=None)], "item 'a': 'title' must be a string, got None"),
        ([record("z")], "item 'z' was not asked for"),
        ([record("a"), record("a")], "item 'a' comes twice in one answer"),
        ([record("a", extra=object())], "item 'a' cannot be written as JSON"),
        (["a"], "an item must be a dict, got a value of type str"),
    ],
)
def test_an_item_the_core_would_refuse_exits_1_and_is_named(items: list[Any], problem: str) -> None:
    class Wrong(Pages):
        def fetch(self, ids: Sequence[str]) -> Iterable[dict[str, Any]]:
            return items

    code, lines, stderr = call(Wrong, "fetch", stdin='{"id": "a"}')
    assert (code, lines) == (1, [])
    assert stderr.startswith(f"pages: {problem}")


@pytest.mark.parametrize("versions", [{"a": 1}, {"": "1"}, {1: "1"}, {"a": " "}])
def test_a_listing_the_core_would_refuse_exits_1(versions: Any) -> None:
    class Wrong(Pages):
        def versions(self) -> Mapping[str, str]:
            return versions

    assert call(Wrong, "list")[:2] == (1, [])


def test_options_go_to_the_constructor() -> None:
    assert call(Pages, "check", pages={})[1][0]["count"] == 0


def test_warnings_and_prints_go_to_stderr_and_fail_nothing() -> None:
    class Chatty(Pages):
        def versions(self) -> Mapping[str, str]:
            print("debugging")
            self.warn("skipped 'x.txt'")
            return {"a": "1"}

    assert call(Chatty, "list") == (0, [{"id": "a", "version": "1"}], "debugging\npages: warning: skipped 'x.txt'\n")


def test_a_connector_without_versions_or_fetch_cannot_be_made() -> None:
    class Half(Connector):
        def versions(self) -> Mapping[str, str]:
            return {}

    with pytest.raises(TypeError, match="fetch"):
        call(Half, "list")


NOISY = """
import os
from passageway_sdk import Connector, SourceError

class Noisy(Connector):
    name = "noisy"

    def versions(self):
        print("from print")
        os.system("echo from a child")
        os.write(1, b"from the descriptor\\n")
        if os.environ.get("FAIL"):
            raise {"source": SourceError, "bug": ZeroDivisionError}[os.environ["FAIL"]]("no luck")
        return {"\\u00e4": "1"}

    def fetch(self, ids):
        return [{"id": i, "title": i, "url": "", "version": "1", "sections": []} for i in ids]

Noisy.main()
"""


def run_noisy(tmp_path: Path, *argv: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "noisy.py"
    script.write_text(NOISY, encoding="utf-8")
    return subprocess.run(
        [sys.executable, script, *argv], input=stdin, capture_output=True, encoding="utf-8", env=env, timeout=60
    )


def test_a_process_keeps_stdout_for_messages_whoever_else_prints(tmp_path: Path) -> None:
    result = run_noisy(tmp_path, "list", PATH="/bin:/usr/bin")
    assert (result.returncode, json.loads(result.stdout)) == (0, {"id": "ä", "version": "1"})
    for noise in ("from print", "from a child", "from the descriptor"):
        assert noise in result.stderr


def test_a_process_reads_ids_as_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    result = run_noisy(
        tmp_path, "fetch", stdin='{"id": "Größe"}\n', LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert json.loads(result.stdout)["id"] == "Größe"


def test_a_process_ends_with_the_exit_code_of_the_call(tmp_path: Path) -> None:
    assert run_noisy(tmp_path, "walk").returncode == 2
    failed = run_noisy(tmp_path, "list", FAIL="source")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.endswith("noisy: no luck\n") and "Traceback" not in failed.stderr
    bug = run_noisy(tmp_path, "list", FAIL="bug")
    assert (bug.returncode, bug.stdout) == (1, "") and "ZeroDivisionError: no luck" in bug.stderr


def test_the_public_names_are_these() -> None:
    modules = {name for name in vars(passageway_sdk) if f"passageway_sdk.{name}" in sys.modules}
    visible = {name for name in vars(passageway_sdk) if not name.startswith("_")} - modules
    assert sorted(visible) == passageway_sdk.__all__
    assert passageway_sdk.__all__ == [
        "Connector",
        "SettingsError",
        "SourceError",
        "first_h1",
        "split_markdown",
        "strip_code",
    ]


def test_the_package_imports_nothing_but_the_standard_library() -> None:
    program = "import sys, passageway_sdk; print(*{name.partition('.')[0] for name in sys.modules})"
    listed = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PYTHONPATH": str(Path(passageway_sdk.__file__).parents[1])},
    )
    foreign = set(listed.stdout.split()) - set(sys.stdlib_module_names) - {"__main__", "passageway_sdk"}
    assert foreign == set()


def test_a_time_is_given_in_utc() -> None:
    seen: list[datetime] = []

    class Seeing(Pages):
        def changed(self, since: datetime) -> Iterable[dict[str, Any]]:
            seen.append(since)
            return ()

    call(Seeing, "changed", "--since", "2026-10-28T11:00:00+02:00")
    assert seen == [datetime(2026, 10, 28, 9, tzinfo=UTC)] and seen[0].tzinfo is UTC
