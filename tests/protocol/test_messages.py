"""One table of good and bad messages, held against the core, the SDK and the JSON Schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from passageway.errors import ProtocolVersionError, RecordError
from passageway.protocol import Connector
from passageway.records import parse_check, parse_item, parse_listing
from passageway_sdk.errors import RecordError as SDKRecordError
from passageway_sdk.records import check_line, item_line, listing_line

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/connector-protocol.schema.json").read_text(encoding="utf-8"))
TABLE: list[dict[str, Any]] = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))
CORE: dict[str, Callable[[Any], object]] = {"check": parse_check, "list": parse_listing, "item": parse_item}


def label(row: dict[str, Any]) -> str:
    return f"{row['kind']}-{'good' if row['good'] else 'bad'}-{row['why']}"


def line_of(row: dict[str, Any]) -> str:
    return row["line"] if "line" in row else json.dumps(row["record"])


def core_accepts(kind: str, line: str) -> bool:
    try:
        CORE[kind](orjson.loads(line))
    except (RecordError, ProtocolVersionError, orjson.JSONDecodeError):
        return False
    return True


def schema_accepts(kind: str, line: str) -> bool:
    return Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}).is_valid(json.loads(line))


def sdk_accepts(kind: str, line: str) -> bool:
    """Whether the SDK would print it: a listing from its two values, an item as it is."""
    record = json.loads(line)
    try:
        if kind == "item":
            item_line(record)
        else:
            fields = record if isinstance(record, dict) else {}
            listing_line(fields.get("id"), fields.get("version"))
    except SDKRecordError:
        return False
    return True


def test_the_schema_is_a_valid_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.rule("P20")
@pytest.mark.parametrize("row", TABLE, ids=label)
def test_the_core_judges_a_message_as_the_table_does(row: dict[str, Any]) -> None:
    assert core_accepts(row["kind"], line_of(row)) is row["good"]


@pytest.mark.rule("P20")
@pytest.mark.parametrize("row", [row for row in TABLE if row["kind"] != "check"], ids=label)
def test_the_sdk_judges_a_message_as_the_table_does(row: dict[str, Any]) -> None:
    assert sdk_accepts(row["kind"], line_of(row)) is row["good"]


@pytest.mark.rule("P20")
@pytest.mark.parametrize("row", TABLE, ids=label)
def test_the_schema_judges_a_message_as_the_table_does(row: dict[str, Any]) -> None:
    """Unless the table marks the row as beyond what a schema can say."""
    assert schema_accepts(row["kind"], line_of(row)) is (row["good"] or row.get("beyond_schema", False))


@pytest.mark.parametrize("count", [-1, 1.5, "1", True, None])
def test_the_sdk_prints_no_count_the_core_would_refuse(count: Any) -> None:
    with pytest.raises(SDKRecordError, match="count"):
        check_line(count)


def test_what_the_sdk_prints_for_check_satisfies_core_and_schema() -> None:
    assert core_accepts("check", check_line(42)) and schema_accepts("check", check_line(42))


VALUES = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 2.5, "", " ", "a", [], ["a"], ["a", None], [[]], {}, {"text": "x"}]),
    st.text(max_size=3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.one_of(st.text(max_size=2), st.integers(), st.none()), max_size=2),
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"text": st.sampled_from(["x", "", None, 1]), "heading": st.sampled_from(["h", "", None, 1])}
        ),
        max_size=2,
    ),
)
GOOD = {"id": "a", "title": "Tides", "url": "", "version": "1", "sections": [{"text": "High water."}]}
FIELDS = st.sampled_from([*GOOD, "weight", "path", "links", "labels", "updated", "colour"])


@given(changes=st.dictionaries(FIELDS, VALUES, max_size=4), missing=st.sets(st.sampled_from(sorted(GOOD)), max_size=1))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_core_sdk_and_schema_agree_on_any_item(changes: dict[str, Any], missing: set[str]) -> None:
    item = {key: value for key, value in {**GOOD, **changes}.items() if key not in missing}
    line = json.dumps(item)
    verdicts = {core_accepts("item", line), sdk_accepts("item", line), schema_accepts("item", line)}
    assert len(verdicts) == 1


def test_what_the_fake_connector_prints_satisfies_the_schema(fake: Callable[..., Connector], items_path: Path) -> None:
    connector = fake()
    assert connector.check().count == 3 and len(connector.list()) == 3
    for item in json.loads(items_path.read_text(encoding="utf-8")):
        assert schema_accepts("item", json.dumps(item)) and schema_accepts("list", json.dumps(item))


def test_the_core_asks_with_lines_the_schema_describes(scripted: Callable[..., Connector]) -> None:
    source = "import json, sys; sys.stderr.write(sys.stdin.read()); sys.exit(1)"
    with pytest.raises(Exception, match="exit status 1") as caught:
        scripted(source).fetch(['quo"te', "ç"])
    requests = str(caught.value).partition("exit status 1: ")[2].split(" | ")
    assert [json.loads(request)["id"] for request in requests] == ['quo"te', "ç"]
    assert all(schema_accepts("fetch-request", request) for request in requests)
