import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import passageway_sdk.web as web
from passageway_sdk.web.testing import Answer, LocalServer, Request, spoilt

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "sdk-web.md"


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def notes(request: Request) -> Answer:
    if request.headers.get("authorization") != "Bearer abc":
        return Answer(status=401)
    if request.path == "/notes":
        return Answer(json.dumps([{"id": "a", "changed": "1"}]))
    if request.path == "/notes/a":
        return Answer(json.dumps({"title": "Keel", "changed": "1", "html": "<p>Oak.</p><h2>Care</h2><p>Oil it.</p>"}))
    return Answer(status=404)


def test_the_connector_on_the_page_lists_and_fetches() -> None:
    names: dict[str, Any] = {}
    exec(examples()[0], names)
    with LocalServer(notes) as server:
        env = {"URL": server.url, "TOKEN": "abc"}
        out, err = StringIO(), StringIO()
        assert names["Notes"].run(["list"], env, [], out, err) == 0, err.getvalue()
        assert names["Notes"].run(["fetch"], env, ['{"id": "a"}', '{"id": "gone"}'], out, err) == 0, err.getvalue()
        listing, item = (json.loads(line) for line in out.getvalue().splitlines())
        assert listing == {"id": "a", "version": "1"}
        assert item["sections"] == [{"heading": None, "text": "Oak."}, {"heading": "Care", "text": "Oil it."}]
        assert names["Notes"].run(["list"], {**env, "TOKEN": "wrong"}, [], out, err) == 1
        assert "check it" in err.getvalue() and "wrong\n" not in err.getvalue()


def test_the_other_examples_on_the_page_run() -> None:
    for example in examples()[1:]:
        exec(example, {})


def test_the_page_names_everything_that_is_public() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in web.__all__ if name not in text and name != "MAX_SECTION_TOKENS"] == []


def test_the_public_names_are_sorted_and_exist() -> None:
    assert sorted(web.__all__) == web.__all__
    assert all(hasattr(web, name) for name in web.__all__)


def test_damage_takes_the_place_of_a_number_or_takes_it_out() -> None:
    assert spoilt({"a": [1, 2]}, [(1, None)]) == {"a": None}
    assert spoilt({"a": [1, 2], "b": 3}, [(2, ...), (3, "x")]) == {"a": [1, "x"]}
    assert spoilt({"a": [1, 2]}, [(0, ...)]) is None
    odd: list[int] = []
    assert spoilt([1, 2], [(1, odd), (2, odd)]) == [[], []] and odd == []
