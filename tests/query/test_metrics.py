"""`/metrics`, read as Prometheus reads it."""

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from passageway.index.state import SourceState
from passageway_query.metrics import Door, Outcome, QuestionLog, exposition
from passageway_query.wire import Health, SourceHealth

SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (?P<value>[-+0-9.e]+)\Z')


def samples(text: str) -> dict[tuple[str, str], float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match, line
            found[match["name"], match["labels"] or ""] = float(match["value"])
    return found


def metrics(client: httpx.Client, auth: dict[str, str]) -> dict[tuple[str, str], float]:
    reply = client.get("/metrics", headers=auth)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return samples(reply.text)


def test_sources_and_services_are_told(client: httpx.Client, auth: dict[str, str]) -> None:
    found = metrics(client, auth)
    assert found["passageway_info", 'version="9.9.9",instance=""'] == 1
    assert found["passageway_status", 'status="ok"'] == 1
    assert found["passageway_status", 'status="degraded"'] == 0
    assert found["passageway_source_items", 'source="notes"'] == 3
    assert found["passageway_source_sections", 'source="notes"'] == 4
    assert found["passageway_source_state", 'source="notes",state="ok"'] == 1
    assert found["passageway_embedder_up", ""] == 1
    assert found["passageway_sync_up", ""] == 1


def test_questions_are_counted_by_door_and_outcome(client: httpx.Client, auth: dict[str, str]) -> None:
    for prompt in ("rotate the signing certificate", "football championship", "ok", "ok"):
        client.post("/recall", headers=auth, json={"prompt": prompt})
    found = metrics(client, auth)
    count = "passageway_question_seconds_count"
    assert found[count, 'door="hook",outcome="hits"'] == 1
    assert found[count, 'door="hook",outcome="silence"'] == 1
    assert found[count, 'door="hook",outcome="skipped"'] == 2
    assert found["passageway_question_seconds_bucket", 'door="hook",outcome="skipped",le="+Inf"'] == 2


def test_what_waits_is_told_and_never_what_was_asked(
    build: Callable[..., None],
    serve: Callable[..., str],
    auth: dict[str, str],
    password: str,
    embedder: Any,
    wait_until: Callable[[Callable[[], object]], None],
) -> None:
    build(state=SourceState("indexing", fetched=300, of=1200, heartbeat=time.time()))
    call = {"name": "recall", "arguments": {"query": "certificate of zanzibar"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {**auth, "Accept": "application/json, text/event-stream"}
    with httpx.Client(base_url=serve(), timeout=30) as client, ThreadPoolExecutor(1) as pool:
        assert metrics(client, auth)["passageway_source_items_left", 'source="notes"'] == 900
        embedder.release.clear()
        waiting = ("passageway_questions_waiting", 'door="mcp"')
        asked = pool.submit(httpx.post, client.base_url.join("/mcp"), json=body, headers=headers, timeout=30)
        wait_until(lambda: metrics(client, auth)[waiting] == 1)
        embedder.release.set()
        assert asked.result().status_code == 200
        assert metrics(client, auth)[waiting] == 0
        client.post("/recall", headers=auth, json={"prompt": "the certificate of zanzibar", "session_id": "zanzibar"})
        hidden = re.search(r'name="token" value="(\w+)"', client.get("/sign-in").text)
        assert hidden
        client.post("/sign-in", data={"token": hidden[1], "password": password})
        form = re.search(r'name="token" value="(\w+)"', client.get("/").text)
        assert form
        client.post("/ask", data={"token": form[1], "question": "where is zanzibar?"})
        text = client.get("/metrics", headers=auth).text
    assert 'passageway_question_seconds_count{door="web"' in text
    assert "zanzibar" not in text


def test_error_texts_are_in_no_metric(
    build: Callable[..., None], serve: Callable[..., str], auth: dict[str, str]
) -> None:
    build(state=SourceState("failing", error="https://wiki.internal refused", heartbeat=time.time()))
    reply = httpx.get(f"{serve()}/metrics", headers=auth)
    assert samples(reply.text)["passageway_status", 'status="degraded"'] == 1
    assert "wiki.internal" not in reply.text


def test_an_error_is_counted_when_a_block_fails() -> None:
    questions = QuestionLog()
    try:
        with questions.timed(Door.MCP):
            raise RuntimeError
    except RuntimeError:
        pass
    questions.note(Door.MCP, Outcome.HITS, 0.007)
    found = samples("\n".join(questions.lines()))
    assert found["passageway_question_seconds_count", 'door="mcp",outcome="error"'] == 1
    assert found["passageway_question_seconds_bucket", 'door="mcp",outcome="hits",le="0.005"'] == 0
    assert found["passageway_question_seconds_bucket", 'door="mcp",outcome="hits",le="0.01"'] == 1


def test_labels_are_escaped() -> None:
    source: Any = SourceHealth(name='a"b\\c\nd', state="ok", items=1, sections=1, vectors_current=True)
    health = Health(status="ok", version="1", sources=[source])
    assert samples(exposition(health, QuestionLog()))["passageway_source_items", r'source="a\"b\\c\nd"'] == 1
