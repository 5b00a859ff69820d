"""The history beside a page."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from passageway.errors import SettingsError
from passageway_cli.eval.history import (
    SHOWN,
    entry_of,
    history_path,
    load_history,
    with_entries,
    write_history,
)
from passageway_cli.eval.measurement import Occasion, Subject
from passageway_cli.eval.tables import history_table

MakeSubject = Callable[..., Subject]


def test_it_lies_beside_the_page_under_the_name_of_the_page() -> None:
    assert history_path(Path("docs/measurements.md")) == Path("docs/measurements.history.json")


def test_what_is_written_is_read_again(tmp_path: Path, subject: MakeSubject, occasion: Occasion) -> None:
    path = tmp_path / "page.history.json"
    entry = entry_of(subject(), occasion)
    assert load_history(path) == ()
    write_history(path, [entry])
    assert load_history(path) == (entry,)
    assert entry.silence_by_group == {"off-topic": 1.0, "near-topic": 0.5}
    assert entry.silence == 0.75


def test_a_run_with_the_same_day_model_threshold_and_version_is_replaced(
    subject: MakeSubject, occasion: Occasion
) -> None:
    first = entry_of(subject(), occasion)
    again = entry_of(subject(miss=2), occasion)
    others = [
        replace(first, date="2026-11-29"),
        replace(first, embedder="other"),
        replace(first, threshold=0.9),
        replace(first, version="0.2.0"),
    ]
    assert with_entries([first, *others], [again]) == (*others, again)


def test_the_table_has_the_last_ten_runs(subject: MakeSubject, occasion: Occasion) -> None:
    entry = entry_of(subject(), occasion)
    history = [replace(entry, date=f"2026-10-{day:02}") for day in range(1, 16)]
    rows = history_table(history).rows
    assert len(rows) == SHOWN
    assert (rows[0][0], rows[-1][0]) == ("2026-10-06", "2026-10-15")
    assert rows[-1][5] == "off-topic 100.0%, near-topic 50.0%"


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b'{"runs": [{"date": "x"}]}',
        b'{"runs": 3}',
        b'{"runs": [{"unknown": 1}]}',
        b'{"runs": [7]}',
        b'{"runs": [], "notes": "mine"}',
    ],
)
def test_a_broken_history_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page.history.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match="mend it or delete it"):
        load_history(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("threshold", "high"),
        ("hit_at_3", "0.75"),
        ("p95_ms", {}),
        ("date", 20261130),
        ("silence_by_group", {"off-topic": "all"}),
        ("unknown", 1),
    ],
)
def test_a_history_with_a_value_of_another_kind_is_refused_with_its_place(
    tmp_path: Path, subject: MakeSubject, occasion: Occasion, key: str, value: object
) -> None:
    path = tmp_path / "page.history.json"
    write_history(path, [entry_of(subject(), occasion)])
    tables = orjson.loads(path.read_bytes())
    tables["runs"][0][key] = value
    path.write_bytes(orjson.dumps(tables))
    with pytest.raises(SettingsError, match=rf"runs: 0: {key}.*mend it or delete it"):
        load_history(path)
