"""The calls of the protocol: ids, versions, what changed, and the limits of the core."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passageway.protocol import Connector
from passageway.records import parse_item
from passageway.testing.contract import check_connector

FAR = "2099-01-01T00:00:00Z"


def changed(vault, since):
    reply = vault.call("changed", "--since", since.isoformat())
    assert reply.code == 0, reply.stderr
    return [record["id"] for record in reply.records]


def test_the_core_reads_what_the_connector_prints(vault):
    for number in range(120):
        vault.write(f"{number:03}.md", f"# Note {number}\n\n[[{number + 1:03}]]\n\n## Ü\n\nWörter.\n")
    connector = Connector(
        "notes", [sys.executable, "-m", "passageway_connector_markdown"], env={"FOLDER": str(vault.folder)}
    )
    try:
        assert connector.check().count == 120
        versions = connector.list()
        ids = list(versions)
        items = [item for start in range(0, 120, 50) for item in connector.fetch(ids[start : start + 50])]
        recent = connector.changed(datetime.now(UTC) - timedelta(hours=1))
    finally:
        connector.close()
    assert {item.id: item.version for item in items} == versions
    assert items[0].links == ("001.md",)
    assert [section.heading for section in items[0].sections] == [None, "Ü"]
    assert sorted(item.id for item in recent) == sorted(versions)


def test_the_connector_keeps_the_contract(vault):
    shutil.copytree(Path(__file__).with_name("vault"), vault.folder, dirs_exist_ok=True)
    connector = Connector(
        "vault", [sys.executable, "-m", "passageway_connector_markdown"], env={"FOLDER": str(vault.folder)}
    )
    try:
        check_connector(connector)
    finally:
        connector.close()


def test_output_is_ascii_and_an_unknown_id_is_no_error(vault):
    vault.write("ü.md", "Wörter ✨")
    reply = vault.process("fetch", ids=("ü.md", "gone.md"))
    assert (reply.code, len(reply.records), reply.stderr) == (0, 1, "")
    parse_item(reply.records[0])


def test_an_id_of_its_own_survives_a_move_and_the_new_place_shows(vault):
    path = vault.write("old.md", "---\nid: 007\n---\nText.")
    before = vault.items()["007"]
    (vault.folder / "new").mkdir()
    path.rename(vault.folder / "new/name.md")
    after = vault.items()["007"]
    assert after["version"] != before["version"]
    assert (after["path"], after["title"]) == (["new"], "name")
    assert after["url"] == (vault.folder / "new/name.md").as_uri()


@pytest.mark.parametrize("mode", [["check"], ["list"], ["fetch"], ["changed", "--since", FAR]])
def test_two_notes_of_one_id_fail_the_call_and_both_are_named(vault, mode):
    vault.write("a.md", "---\nid: same\n---\n")
    vault.write("b.md", "# B")
    vault.write("c.md", "---\nid: same\n---\n")
    reply = vault.call(*mode)
    assert (reply.code, reply.records) == (1, [])
    assert "'a.md' and 'c.md' have the same id 'same'" in reply.stderr


def test_an_id_that_is_the_name_of_another_note_is_the_same_id(vault):
    vault.write("a.md", "---\nid: b.md\n---\n")
    vault.write("b.md")
    assert "'a.md' and 'b.md' have the same id 'b.md'" in vault.call("list").stderr


def test_a_version_stays_until_the_note_changes(vault):
    path = vault.write("a.md", "---\ntags: [x]\n---\nText.")
    vault.write("b.md", "Other.")
    first = vault.versions()
    os.utime(path, (1, 1))
    assert vault.versions() == first
    vault.write("a.md", "---\ntags: [y]\n---\nText.")
    second = vault.versions()
    assert second["a.md"] != first["a.md"] and second["b.md"] == first["b.md"]


def test_a_link_that_starts_and_stops_to_resolve_changes_the_version_of_its_note(vault):
    vault.write("log.md", "[new](new.md) [[Rig]]")
    vault.write("other.md", "Nothing.")
    first = vault.versions()
    vault.write("new.md")
    second = vault.versions()
    assert second["log.md"] != first["log.md"] and second["other.md"] == first["other.md"]
    vault.write("Rig.md")
    assert vault.versions()["log.md"] not in {first["log.md"], second["log.md"]}
    assert vault.items()["log.md"]["links"] == ["new.md", "Rig.md"]
    (vault.folder / "Rig.md").unlink()
    assert vault.versions() == second
    assert vault.items()["log.md"]["links"] == ["new.md"]


def test_an_edit_of_a_linked_note_leaves_the_version_alone(vault):
    vault.write("log.md", "[[other]]")
    vault.write("other.md", "One.")
    first = vault.versions()["log.md"]
    vault.write("other.md", "Two.")
    assert vault.versions()["log.md"] == first


def test_one_deleted_note_is_gone_from_the_list_and_from_the_links_of_others(vault):
    for name in ("a", "b", "c"):
        vault.write(f"{name}.md", "[[a]] [[b]] [[c]]")
    before = vault.versions()
    (vault.folder / "b.md").unlink()
    items = vault.items()
    assert list(items) == ["a.md", "c.md"]
    assert [item["links"] for item in items.values()] == [["c.md"], ["a.md"]]
    assert all(items[name]["version"] != before[name] for name in items)


def test_changed_gives_what_was_edited_or_moved_in_since(vault):
    past = datetime.now(UTC) - timedelta(hours=2)
    vault.write("sub/old.md", "[[edited]]")
    now = datetime.now(UTC)
    assert changed(vault, past) == ["sub/old.md"]
    assert changed(vault, now + timedelta(hours=1)) == []
    edited = vault.write("edited.md", "New.")
    reply = vault.call("changed", "--since", past.isoformat())
    assert {record["id"]: record["version"] for record in reply.records} == vault.versions()
    # A file copied in with the date of its original: only its change time is new.
    os.utime(edited, (1, 1))
    assert "edited.md" in changed(vault, now - timedelta(minutes=1))


def test_changed_gives_a_link_made_since_to_an_older_note(vault):
    old = vault.write("old.md")
    wait_for_a_later_file_time(vault.folder, old.stat().st_ctime)
    (vault.folder / "new.md").symlink_to("old.md")
    made = (vault.folder / "new.md").lstat().st_ctime
    assert changed(vault, datetime.fromtimestamp(made, UTC) - timedelta(microseconds=10)) == ["new.md"]


def test_changed_gives_the_notes_of_a_folder_that_was_moved_in(vault):
    source = vault.folder.parent / "elsewhere"
    (source / "deep").mkdir(parents=True)
    (source / "deep/n.md").write_text("Moved.", encoding="utf-8")
    wait_for_a_later_file_time(source, (source / "deep/n.md").stat().st_ctime)
    source.rename(vault.folder / "arrived")
    since = datetime.fromtimestamp((vault.folder / "arrived").stat().st_ctime, UTC)
    assert (vault.folder / "arrived/deep/n.md").stat().st_ctime < since.timestamp()
    assert changed(vault, since - timedelta(microseconds=10)) == ["arrived/deep/n.md"]


def wait_for_a_later_file_time(folder, time_s):
    """File times move in ticks of up to 10 ms: touch a file until the clock of the file system has moved on."""
    probe = folder.parent / "probe"
    for _ in range(100_000):
        probe.touch()
        if probe.stat().st_mtime > time_s + 0.001:
            return
    raise AssertionError("the file system's clock stands still")


def test_a_poll_with_nothing_to_tell_does_not_load_the_markdown_parser(vault):
    vault.write("a.md", "---\ntitle: T\n---\nText.")
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "passageway_connector_markdown", "changed", "--since", FAR],
        env={"FOLDER": str(vault.folder)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert result.stdout == ""
    assert "passageway_connector_markdown.notes" in result.stderr
    assert "markdown_it" not in result.stderr and "yaml" not in result.stderr


def test_a_record_too_long_for_a_line_is_left_out_with_a_warning(vault):
    vault.write("ok.md", "Text.")
    # Six bytes a letter when escaped.
    vault.write("long.md", "ü" * 800_000)
    reply = vault.call("fetch", ids=("ok.md", "long.md"), MAX_FILE_BYTES="4000000")
    assert [record["id"] for record in reply.records] == ["ok.md"]
    assert "'long.md' left out" in reply.stderr


def test_a_call_stays_below_what_the_core_accepts(vault):
    for number in range(20):
        vault.write(f"{number:02}.md", "ü" * 600_000)
    ids = tuple(vault.versions(MAX_FILE_BYTES="2000000"))
    reply = vault.call("fetch", ids=ids, MAX_FILE_BYTES="2000000")
    assert [record["id"] for record in reply.records] == list(ids[:17])
    assert "'17.md' and the items after it left out" in reply.stderr


def test_a_time_outside_the_calendar_is_no_date(vault):
    path = vault.write("a.md", "Text.")
    try:
        os.utime(path, (-(10**11), 10**12))
    except OSError:
        pytest.skip("this file system has no such times")
    updated = vault.items()["a.md"]["updated"]
    assert updated is None or updated.endswith("Z")
