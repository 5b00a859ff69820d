"""`/metrics`: the report and the questions asked so far, as Prometheus reads them."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from passageway_query.wire import Health, SourceHealth

# Seconds. Questions are answered in milliseconds; past a second the embedder is in trouble.
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_STATES = ("ok", "indexing", "degraded", "error")
_SOURCE_STATES = ("ok", "indexing", "failing")


class Door(StrEnum):
    """Where a question came in."""

    MCP = "mcp"
    HOOK = "hook"
    WEB = "web"


class Outcome(StrEnum):
    """What became of it."""

    HITS = "hits"
    SILENCE = "silence"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(slots=True)
class Timing:
    """A question under way."""

    outcome: Outcome = Outcome.ERROR


@dataclass(slots=True)
class _Series:
    count: int = 0
    sum_s: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS_S))


class QuestionLog:
    """Counts and times of questions by door and outcome; never what was asked. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._series: dict[tuple[Door, Outcome], _Series] = {}
        self._waiting: dict[Door, int] = dict.fromkeys(Door, 0)

    def note(self, door: Door, outcome: Outcome, took_s: float) -> None:
        """Count one question."""
        with self._lock:
            series = self._series.setdefault((door, outcome), _Series())
            series.count += 1
            series.sum_s += took_s
            for number, bound in enumerate(BUCKETS_S):
                series.buckets[number] += took_s <= bound

    @contextmanager
    def timed(self, door: Door) -> Iterator[Timing]:
        """Count the question that the block answers; an error unless the block says otherwise."""
        timing, started = Timing(), time.perf_counter()
        self._wait(door, 1)
        try:
            yield timing
        finally:
            self._wait(door, -1)
            self.note(door, timing.outcome, time.perf_counter() - started)

    def _wait(self, door: Door, more: int) -> None:
        with self._lock:
            self._waiting[door] += more

    def lines(self) -> Iterator[str]:
        """How many questions wait for their answers now, and the histogram, one series a door and outcome."""
        with self._lock:
            waiting = [({"door": door.value}, count) for door, count in self._waiting.items()]
        yield from _gauge("questions_waiting", "Questions that are being answered or wait for it.", waiting)
        yield "# HELP passageway_question_seconds Time to answer a question, by where it came in and what became of it."
        yield "# TYPE passageway_question_seconds histogram"
        with self._lock:
            rows = [(key, series.count, series.sum_s, list(series.buckets)) for key, series in self._series.items()]
        for (door, outcome), count, sum_s, buckets in sorted(rows):
            labels = {"door": door.value, "outcome": outcome.value}
            for bound, value in zip((*map(str, BUCKETS_S), "+Inf"), (*buckets, count), strict=True):
                yield f"passageway_question_seconds_bucket{_labels({**labels, 'le': bound})} {value}"
            yield f"passageway_question_seconds_sum{_labels(labels)} {sum_s:.6f}"
            yield f"passageway_question_seconds_count{_labels(labels)} {count}"


def exposition(health: Health, questions: QuestionLog) -> str:
    """Everything in the text format, version 0.0.4."""
    about = {"version": health.version, "instance": health.instance or ""}
    lines = [
        *_gauge("info", "Always 1; the labels say what is running.", [(about, 1)]),
        *_gauge("status", "1 for the current status.", _flags("status", health.status, _STATES)),
        *_sources(health.sources),
    ]
    if health.embedder:
        up = int(health.embedder.state == "ok")
        lines += _gauge("embedder_up", "1 while the embedding model answers.", [({}, up)])
    if health.sync:
        lines += _gauge("sync_up", "1 while every source is looked after.", [({}, int(health.sync.state == "running"))])
    return "\n".join([*lines, *questions.lines()]) + "\n"


def _sources(sources: Iterable[SourceHealth]) -> Iterator[str]:
    rows = [({"source": source.name}, source) for source in sources]
    states = [
        ({**labels, **flag}, value) for labels, s in rows for flag, value in _flags("state", s.state, _SOURCE_STATES)
    ]
    yield from _gauge("source_state", "1 for the current state of a source.", states)
    yield from _gauge("source_items", "Items indexed.", [(labels, s.items) for labels, s in rows])
    yield from _gauge("source_sections", "Sections indexed.", [(labels, s.sections) for labels, s in rows])
    left = [(labels, max(0, s.of - (s.fetched or 0))) for labels, s in rows if s.of is not None]
    yield from _gauge("source_items_left", "Items that a running build has still to read.", left)
    current = [(labels, int(s.vectors_current)) for labels, s in rows]
    yield from _gauge("source_vectors_current", "0 while vectors are of another model than the embedder's.", current)
    ages = [(labels, s.last_success_age_s) for labels, s in rows if s.last_success_age_s is not None]
    yield from _gauge("source_last_success_age_seconds", "Since a sync of the source last succeeded.", ages)
    beats = [(labels, s.heartbeat_age_s) for labels, s in rows if s.heartbeat_age_s is not None]
    yield from _gauge("source_heartbeat_age_seconds", "Since the sync process last looked after the source.", beats)


def _flags(label: str, current: str, names: Iterable[str]) -> list[tuple[dict[str, str], int]]:
    return [({label: name}, int(name == current)) for name in names]


def _gauge(name: str, text: str, samples: Iterable[tuple[Mapping[str, str], int]]) -> Iterator[str]:
    yield f"# HELP passageway_{name} {text}"
    yield f"# TYPE passageway_{name} gauge"
    for labels, value in samples:
        yield f"passageway_{name}{_labels(labels)} {value}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
