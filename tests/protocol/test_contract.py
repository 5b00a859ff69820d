"""The check that connector authors run: it passes good connectors and names the rule a bad one breaks."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.protocol import Connector
from passageway.testing.contract import RULES, check_connector

Make = Callable[..., Connector]
PAGE = Path(__file__).parents[2] / "docs/reference/connector-protocol.md"


def test_a_connector_that_keeps_the_rules_passes(fake: Make, tmp_path: Path) -> None:
    check_connector(fake(FAKE_LOG=tmp_path / "log"))
    modes = {line.split(" ")[0] for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()}
    assert modes == {"check", "list", "fetch", "changed"}


@pytest.mark.rule("P14")
@pytest.mark.rule("P17")
@pytest.mark.parametrize(
    ("misbehaviour", "modes", "rule", "seen"),
    [
        ("wrong-version", "check", "P12", "protocol '2'"),
        ("silent", "check", "P11", "printed nothing"),
        ("hang", "check", "P11", "took longer than 0.5 s"),
        ("exit-3", "list", "P13", "exit status 3"),
        ("silent", "list", "P13", "the listing is empty"),
        ("duplicate-id", "list", "P13", "comes twice"),
        ("not-json", "list", "P13", "not JSON"),
        ("unstable-id", "list", "P14", "differ in the ids 'a-"),
        ("unstable-version", "list", "P14", "other versions to 'a', 'b', 'ç/3'"),
        ("unstable-text", "fetch", "P14", "another content"),
        ("missing-item", "fetch", "P15", "not fetched: 'a'"),
        ("invented-item", "fetch", "P15", "was not asked for"),
        ("unrequested-id", "fetch", "P16", "'nobody-asked' was not asked for"),
        ("duplicate-id", "fetch", "P16", "comes twice"),
        ("version-of-its-own", "fetch", "P17", "'a' has version '1' in `list` and 'another' in its record"),
        ("version-of-its-own", "changed", "P17", "'b' has version '1'"),
        ("unrequested-id", "changed", "P18", "`list` does not: 'nobody-asked'"),
        ("exit-3", "changed", "P18", "exit status 3"),
    ],
)
def test_a_connector_that_breaks_a_rule_fails_with_the_rule_and_what_was_seen(
    fake: Make, misbehaviour: str, modes: str, rule: str, seen: str
) -> None:
    connector = fake(
        FAKE_MISBEHAVE=misbehaviour, FAKE_MISBEHAVE_IN=modes, timeout=0.5 if misbehaviour == "hang" else 60
    )
    with pytest.raises(AssertionError) as caught:
        check_connector(connector)
    assert str(caught.value).startswith(f"rule {rule}: {RULES[rule]} Seen: ")
    assert seen in str(caught.value)


IGNORES_STDIN = """
import json, sys
items = [{"id": i, "title": i, "url": "", "version": "1", "sections": []} for i in "abcd"]
if sys.argv[1] == "check": print('{"ok": true, "count": 4}')
if sys.argv[1] == "list": print(*map(json.dumps, items), sep="\\n")
if sys.argv[1] == "fetch": print(*map(json.dumps, items), sep="\\n")
"""


def test_a_connector_that_always_prints_everything_is_found_out(scripted: Make) -> None:
    with pytest.raises(AssertionError, match=r"rule P16: .*'c' was not asked for"):
        check_connector(scripted(IGNORES_STDIN))


FAILS_FOR_UNKNOWN = """
import json, sys
item = {"id": "a", "title": "a", "url": "", "version": "1", "sections": []}
if sys.argv[1] == "check": print('{"ok": true, "count": 1}')
if sys.argv[1] == "list": print(json.dumps(item))
if sys.argv[1] == "fetch":
    for line in sys.stdin:
        print(json.dumps({"a": item}[json.loads(line)["id"]]))
"""


@pytest.mark.rule("P15")
def test_a_connector_that_fails_for_an_id_that_is_gone_is_found_out(scripted: Make) -> None:
    with pytest.raises(AssertionError, match=r"rule P15: .*KeyError: 'passageway-contract-check/no-such-item'"):
        check_connector(scripted(FAILS_FOR_UNKNOWN))


def test_a_big_source_is_sampled_from_end_to_end(tmp_path: Path) -> None:
    items = [{"id": str(n), "title": "t", "url": "", "version": "1", "sections": []} for n in range(120)]
    (tmp_path / "items.json").write_text(json.dumps(items), encoding="utf-8")
    env = {"FAKE_ITEMS": str(tmp_path / "items.json"), "FAKE_LOG": str(tmp_path / "log")}
    check_connector(Connector("big", [sys.executable, "-m", "passageway.testing.fake_connector"], env=env))
    fetches = [
        line.split()[1:] for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines() if "fetch" in line
    ]
    assert fetches[0][0] == "0" and fetches[0][-1] == "117" and len(fetches[0]) == 40


def test_every_rule_of_the_check_reads_the_same_on_the_page() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for number, rule in RULES.items():
        assert f"**{number}.** {rule}" in page
