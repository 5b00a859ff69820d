"""One table of good and bad replies, held against the core and the JSON Schema."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from passageway.embedder_messages import (
    FailedRequest,
    WrongReply,
    embed_request,
    info_request,
    parse_info,
    parse_vectors,
)

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/embedder-protocol.schema.json").read_text(encoding="utf-8"))
TABLE: list[dict[str, Any]] = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))


def label(row: dict[str, Any]) -> str:
    return f"{row['kind']}-{'good' if row['good'] else 'bad'}-{row['why']}"


def line_of(row: dict[str, Any]) -> str:
    return row["line"] if "line" in row else json.dumps(row["reply"])


def schema_accepts(definition: str, line: str | bytes) -> bool:
    return Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{definition}"}]}).is_valid(json.loads(line))


def test_the_schema_is_a_valid_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("row", TABLE, ids=label)
def test_the_core_judges_a_reply_as_the_table_does(row: dict[str, Any]) -> None:
    """Good, wrong, or good and saying that the request failed. An `embed` reply is for two texts of two numbers."""
    line = line_of(row).encode("utf-8")
    try:
        if row["kind"] == "info":
            parse_info(line)
        else:
            parse_vectors(line, 2, 2)
        verdict = "good"
    except FailedRequest:
        verdict = "failed"
    except WrongReply:
        verdict = "wrong"
    assert verdict == ("wrong" if not row["good"] else "failed" if row.get("failed") else "good")


@pytest.mark.parametrize("row", TABLE, ids=label)
def test_the_schema_judges_a_reply_as_the_table_does(row: dict[str, Any]) -> None:
    """Unless the table marks the row as beyond what a schema can say."""
    assert schema_accepts(row["kind"], line_of(row)) is (row["good"] or row.get("beyond_schema", False))


def test_the_core_asks_with_lines_the_schema_describes() -> None:
    assert schema_accepts("request", info_request())
    for kind in ("query", "passage"):
        request = embed_request(["Größe\n", "half a pair \ud83e"], kind)
        assert request.count(b"\n") == 1 and schema_accepts("request", request)


def test_vectors_are_brought_to_length_one() -> None:
    vectors = parse_vectors(b'{"vectors": [[3, 4], [1e300, -1e300], [5e-324, 0]]}', 3, 2)
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.5**0.5, -(0.5**0.5)], [1, 0]], rtol=1e-6)
    assert vectors.dtype == np.float32
