"""Which files count, and what happens to those that cannot be used."""

import os
import socket
import sys

import pytest


def test_hidden_files_and_folders_and_node_modules_are_left_out(vault):
    vault.write("n.md")
    for name in (
        ".obsidian/plugins/p/README.md",
        ".trash/old.md",
        ".hidden.md",
        "a/.git/x.md",
        "a/node_modules/m/r.md",
    ):
        vault.write(name)
    assert list(vault.versions()) == ["n.md"]


def test_a_folder_below_a_hidden_one_can_be_indexed(vault):
    vault.write(".notes/n.md")
    assert list(vault.versions(FOLDER=str(vault.folder / ".notes"))) == ["n.md"]


def test_linked_folders_are_not_followed_and_linked_files_count_only_within_the_folder(vault):
    vault.write("n.md")
    vault.write(".trash/old.md")
    vault.write("../shared/s.md")
    (vault.folder / "loop").symlink_to(vault.folder)
    (vault.folder / "alias").symlink_to(vault.folder.parent / "shared")
    (vault.folder / "alias.md").symlink_to(vault.folder.parent / "shared")
    (vault.folder / "inside.md").symlink_to("n.md")
    (vault.folder / "outside.md").symlink_to(vault.folder.parent / "shared/s.md")
    (vault.folder / "nothing.md").symlink_to("no such file.md")
    (vault.folder / "trash.md").symlink_to(".trash/old.md")
    assert list(vault.versions()) == ["inside.md", "n.md"]
    warnings = vault.warnings().splitlines()[:3]
    assert "'nothing.md' skipped: it is a link to nothing" in "\n".join(warnings)
    assert "'outside.md' skipped: it is a link that leaves FOLDER" in "\n".join(warnings)
    assert "'trash.md' skipped: it is a link to a hidden file" in "\n".join(warnings)


def test_the_folder_may_be_a_link_itself(vault):
    vault.write("n.md")
    link = vault.folder.parent / "link"
    link.symlink_to(vault.folder)
    assert list(vault.versions(FOLDER=str(link))) == ["n.md"]


def test_a_folder_in_the_home_directory_can_be_named_with_a_tilde(vault, tmp_path):
    vault.write("n.md")
    assert vault.process("check", FOLDER="~/vault", HOME=str(tmp_path)).records[0]["count"] == 1


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, ["a.md", "drafts/d.draft.md", "drafts/sub/e.md", "m.markdown", "x/drafts/f.md"]),
        ({"INCLUDE": "*.MD"}, ["UP.MD"]),
        ({"INCLUDE": "*.txt | *.MD"}, ["UP.MD", "t.txt"]),
        ({"INCLUDE": " "}, ["a.md", "drafts/d.draft.md", "drafts/sub/e.md", "m.markdown", "x/drafts/f.md"]),
        ({"INCLUDE": "drafts/*"}, ["drafts/d.draft.md"]),
        ({"INCLUDE": "drafts/**"}, ["drafts/d.draft.md", "drafts/sub/e.md"]),
        ({"INCLUDE": "/drafts/**.md"}, ["drafts/d.draft.md", "drafts/sub/e.md"]),
        ({"INCLUDE": "**/drafts/**"}, ["drafts/d.draft.md", "drafts/sub/e.md", "x/drafts/f.md"]),
        ({"INCLUDE": "?.md"}, ["a.md", "drafts/sub/e.md", "x/drafts/f.md"]),
        ({"INCLUDE": "[a].md|{a,b}.md|a+.md"}, []),
        ({"EXCLUDE": "drafts/**|*.markdown"}, ["a.md", "x/drafts/f.md"]),
        ({"EXCLUDE": "drafts/"}, ["a.md", "m.markdown", "x/drafts/f.md"]),
        ({"EXCLUDE": "**/drafts/**|*.draft.md"}, ["a.md", "m.markdown"]),
        ({"EXCLUDE": "*.draft.md"}, ["a.md", "drafts/sub/e.md", "m.markdown", "x/drafts/f.md"]),
        ({"EXCLUDE": "**"}, []),
    ],
)
def test_patterns_choose_the_files(vault, settings, found):
    for name in ("a.md", "UP.MD", "m.markdown", "t.txt", "drafts/d.draft.md", "drafts/sub/e.md", "x/drafts/f.md"):
        vault.write(name)
    assert list(vault.versions(**settings)) == found


def test_a_pattern_of_many_stars_is_matched_in_time(vault):
    vault.write("a/" * 40 + "n.md")
    assert vault.versions(INCLUDE="**/" * 30 + "x.md", EXCLUDE="*a" * 30) == {}


def test_files_that_are_no_text_are_named_and_skipped(vault):
    vault.write("ok.md", "# Fine\n\nplain text\n")
    vault.write("cp.md", b"# Caf\xe9\n\nlatin text\n")
    vault.write("bin.md", b"# X\n" + bytes(range(256)) * 40)
    vault.write("zero.md", b"# X\n\0")
    vault.write("wide.md", "# X\n".encode("utf-16"))
    vault.write("codes.md", b"\x01\x02abc")
    vault.write("big.md", b"x" * 101)
    for mode in (["check"], ["list"], ["fetch"], ["changed", "--since", "2099-01-01T00:00:00Z"]):
        reply = vault.call(*mode, MAX_FILE_BYTES="100")
        assert reply.code == 0
        skipped = [line.split(" skipped: ")[0] for line in reply.stderr.splitlines()]
        names = ["big.md", "bin.md", "codes.md", "cp.md", "wide.md", "zero.md"]
        assert skipped == [f"markdown connector: warning: {name!r}" for name in names]
    assert "101 bytes, more than MAX_FILE_BYTES = 100" in reply.stderr
    assert list(vault.versions(MAX_FILE_BYTES="100")) == ["ok.md"]


def test_text_with_terminal_colours_and_page_breaks_is_text(vault, words):
    assert words(vault.item("\x1b[31mred\x1b[0m\n\fnext\x01 page " + "of words " * 5)).startswith("\n\x1b[31mred")


def test_things_that_only_have_the_name_of_a_note_are_skipped(vault):
    vault.write("ok.md")
    vault.write("folder.md/inside.md")
    os.mkfifo(vault.folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(vault.folder / "s.md"))
    assert list(vault.versions()) == ["folder.md/inside.md", "ok.md"]
    assert "'pipe.md' skipped: it is not a regular file" in vault.warnings()


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses such names")
def test_a_name_that_is_not_utf8_is_skipped_and_strange_names_stay_on_one_line(vault):
    with open(os.fsencode(vault.folder) + b"/caf\xe9.md", "wb"):
        pass
    vault.write("two\nlines.md", b"\xff")
    vault.write("tab\t'quote\".md", "# Odd")
    reply = vault.process("list")
    assert reply.code == 0
    assert [record["id"] for record in reply.records] == ["tab\t'quote\".md"]
    assert len(reply.stderr.splitlines()) == 2
    assert vault.items()["tab\t'quote\".md"]["url"].endswith("/tab%09%27quote%22.md")


def test_an_empty_folder_is_said_on_check(vault):
    vault.write("t.txt")
    reply = vault.call("check")
    assert (reply.code, reply.records[0]["count"]) == (0, 0)
    assert "no note in " in reply.stderr and "INCLUDE" in reply.stderr


@pytest.mark.parametrize("mode", [["check"], ["list"], ["fetch"], ["changed", "--since", "2020-01-01T00:00:00Z"]])
def test_a_folder_that_is_gone_fails_every_call(vault, mode):
    vault.write("n.md")
    vault.folder.rename(vault.folder.with_name("elsewhere"))
    reply = vault.process(*mode)
    assert reply.code == 2
    assert reply.records == []
    assert reply.stderr.startswith("markdown connector: FOLDER is ") and "does not exist" in reply.stderr


def test_an_unreadable_folder_fails_every_call(open_vault, unprivileged):
    open_vault.write("n.md")
    open_vault.folder.chmod(0)
    with unprivileged():
        reply = open_vault.call("list")
    open_vault.folder.chmod(0o755)
    assert (reply.code, reply.records) == (1, [])
    assert "cannot be read: Permission denied" in reply.stderr


def test_a_folder_behind_a_closed_door_is_said_to_be_out_of_reach(open_vault, unprivileged):
    inner = open_vault.write("shut/inner/n.md").parent
    inner.parent.chmod(0)
    with unprivileged():
        reply = open_vault.call("list", FOLDER=str(inner))
    inner.parent.chmod(0o755)
    assert (reply.code, reply.records) == (2, [])
    assert "cannot be reached: Permission denied" in reply.stderr


def test_a_link_to_a_place_that_may_not_be_seen_is_skipped(open_vault, unprivileged, tmp_path):
    (tmp_path / "private.md").write_text("Secret.", encoding="utf-8")
    tmp_path.chmod(0o700)
    open_vault.write("n.md")
    (open_vault.folder / "private.md").symlink_to(tmp_path / "private.md")
    with unprivileged():
        reply = open_vault.call("list")
    assert [record["id"] for record in reply.records] == ["n.md"]
    assert "'private.md' skipped: it is a link that leaves FOLDER" in reply.stderr


def test_an_unreadable_subfolder_fails_the_listing_and_nothing_else(open_vault, unprivileged):
    open_vault.write("n.md", "Words.")
    (open_vault.write("shut/s.md").parent).chmod(0)
    with unprivileged():
        listed, checked = open_vault.call("list"), open_vault.call("check")
        fetched = open_vault.call("fetch", ids=("n.md",))
        excluded = open_vault.call("list", EXCLUDE="shut/**")
    (open_vault.folder / "shut").chmod(0o755)
    assert (listed.code, listed.records) == (1, [])
    assert "'shut/' cannot be read" in listed.stderr and "EXCLUDE" in listed.stderr
    assert (checked.code, checked.records[0]["count"]) == (0, 1)
    assert fetched.records[0]["sections"] == [{"heading": None, "text": "Words."}]
    assert (excluded.code, excluded.stderr, len(excluded.records)) == (0, "", 1)


def test_a_folder_whose_path_is_too_long_for_the_system_fails_the_listing(vault):
    vault.write("n.md")
    depth, name = 0, "d" * 200
    here = os.getcwd()
    os.chdir(vault.folder)
    try:
        while depth < 22:
            os.mkdir(name)
            os.chdir(name)
            depth += 1
        with open("n.md", "wb"):
            pass
        reply = vault.call("list")
        for _ in range(depth):
            if os.path.exists("n.md"):
                os.remove("n.md")
            os.chdir("..")
            os.rmdir(name)
    finally:
        os.chdir(here)
    assert (reply.code, reply.records) == (1, [])
    assert "cannot be read: File name too long" in reply.stderr


def test_an_unreadable_note_stays_listed_and_is_not_fetched(open_vault, unprivileged):
    open_vault.write("log.md", "[[shut]]")
    shut = open_vault.write("shut.md")
    before = open_vault.versions()
    shut.chmod(0)
    with unprivileged():
        listed = open_vault.call("list")
        fetched = open_vault.call("fetch", ids=("log.md", "shut.md"))
    assert listed.code == 0
    after = {record["id"]: record["version"] for record in listed.records}
    assert after.keys() == before.keys()
    assert after["log.md"] == before["log.md"] and after["shut.md"] != before["shut.md"]
    assert [record["id"] for record in fetched.records] == ["log.md"]
    assert "'shut.md' cannot be read: Permission denied" in fetched.stderr


def test_an_unreadable_note_whose_id_is_unknown_fails_the_listing(open_vault, unprivileged):
    open_vault.write("own.md", "---\nid: 007\n---\nText.")
    open_vault.write("shut.md", "---\nid: 008\n---\nText.").chmod(0)
    with unprivileged():
        reply = open_vault.call("list")
    assert (reply.code, reply.records) == (1, [])
    assert "'shut.md' cannot be read" in reply.stderr and "EXCLUDE" in reply.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"FOLDER": ""}, "FOLDER is not set"),
        ({"FOLDER": "/no/such/folder"}, "FOLDER is '/no/such/folder', which does not exist"),
        ({"FOLDER": __file__}, "which is not a folder"),
        ({"FOLDER": f"{__file__}/x"}, "which cannot be reached: Not a directory"),
        ({"INCLUDE": " | "}, "INCLUDE is '|', which holds no pattern"),
        ({"MAX_FILE_BYTES": "0"}, "MAX_FILE_BYTES is '0', expected a whole number"),
        ({"MAX_FILE_BYTES": "1e6"}, "MAX_FILE_BYTES is '1e6', expected a whole number"),
        ({"MAX_FILE_BYTES": "-1"}, "MAX_FILE_BYTES is '-1', expected a whole number"),
    ],
)
def test_a_wrong_setting_is_named(vault, settings, message):
    reply = vault.call("check", **settings)
    assert (reply.code, reply.records) == (2, [])
    assert message in reply.stderr
