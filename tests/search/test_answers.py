"""What an answer holds: passages within the budget, one an item, gated, with related items, or a reason."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passageway.embed_command import CommandEmbedder
from passageway.errors import EmbedderError
from passageway.index.state import SourceState
from passageway.index.writer import IndexWriter
from passageway.passages import estimated_tokens
from passageway.records import Item
from passageway_query.answer import Filters, Question, Related, SilenceReason
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]


def write_state(path: Path, state: SourceState) -> None:
    with IndexWriter.open(path) as writer:
        writer.write_state(state)


def test_a_hit_carries_title_place_link_and_why(index: Index, item: MakeItem, search: Search) -> None:
    index(
        "notes",
        item(
            "a",
            "Boat hook",
            sections=[("Storage › Winter", "The hook hangs by the door.")],
            path=("Shed", "Gear"),
            labels=("rope",),
            updated="2026-03-01",
        ),
    )
    (hit,) = search.ask(Question("where is the boat hook in winter")).hits
    assert (hit.source, hit.id, hit.title, hit.url) == ("notes", "a", "Boat hook", "https://example.org/a")
    assert (hit.path, hit.heading, hit.labels, hit.updated) == (
        ("Shed", "Gear"),
        "Storage › Winter",
        ("rope",),
        "2026-03-01",
    )
    assert hit.text == "The hook hangs by the door."
    assert hit.matched == ("boat", "hook", "winter")
    assert hit.similarity is not None and 0.25 < hit.similarity < 1


def test_only_the_best_section_of_an_item_is_shown(index: Index, item: MakeItem, search: Search) -> None:
    index(
        "notes",
        item("a", "Anchor", sections=[("Chain", "anchor chain of steel"), ("Rope", "anchor rope of hemp")]),
        item("b", "Oar", "An oar of ash, no anchor."),
    )
    hits = search.ask(Question("anchor rope hemp")).hits
    assert [(hit.id, hit.heading) for hit in hits if hit.id == "a"] == [("a", "Rope")]


def test_at_most_three_hits_come_back(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", *(item(f"i{number}", "Tide table", f"High tide at pier {number}") for number in range(9)))
    assert len(search.ask(Question("high tide pier table")).hits) == 3


def test_long_passages_are_cut_to_the_budget_around_the_words(index: Index, item: MakeItem, search: Search) -> None:
    filler = "The crew painted the deck again that day. " * 16
    texts = [f"{filler}The mooring buoy {number} lies north. {filler}" for number in range(3)]
    index("notes", *(item(f"i{number}", "Log", text) for number, text in enumerate(texts)))
    hits = search.ask(Question("mooring buoy north")).hits
    assert len(hits) == 3
    assert sum(estimated_tokens(hit.text) for hit in hits) <= 410
    assert all("mooring buoy" in hit.text and hit.text.startswith("…") for hit in hits)


def test_a_short_passage_leaves_its_room_to_a_long_one(index: Index, item: MakeItem, search: Search) -> None:
    long = "Mooring buoys lie north of the pier in a row of ten. " * 20
    index("notes", item("short", "Mooring", "Buoys lie north."), item("long", "Mooring", long))
    hits = {hit.id: hit.text for hit in search.ask(Question("mooring buoys north")).hits}
    assert hits["short"] == "Buoys lie north."
    assert estimated_tokens(hits["long"]) > 250


def test_weight_ranks_one_item_above_its_equal(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", item("light", "Tide", "High tide at noon"), item("heavy", "Tide", "High tide at noon", weight=1.5))
    assert [hit.id for hit in search.ask(Question("high tide at noon")).hits] == ["heavy", "light"]
    index("notes", item("heavy", "Tide", "High tide at noon", weight=0.5))
    assert [hit.id for hit in search.ask(Question("high tide at noon")).hits] == ["light", "heavy"]


def test_a_word_of_the_working_folder_ranks_its_items_first(index: Index, item: MakeItem, search: Search) -> None:
    index(
        "notes",
        item("a", "Deploy", "How to deploy the service", path=("Warehouse",)),
        item("b", "Deploy", "How to deploy the service", labels=("Billing",)),
    )
    folder = frozenset({"billing", "src"})
    assert [hit.id for hit in search.ask(Question("deploy the service", context_words=folder)).hits] == ["b", "a"]


def test_related_items_are_the_indexed_ones_that_hits_link_to(index: Index, item: MakeItem, search: Search) -> None:
    links = ("oar", "never indexed", "sail", "rudder", "keel", "hook")
    index(
        "notes",
        item("hook", "Boat hook", "The hook hangs by the door.", links=links),
        *(item(name, name.title(), f"{name} made of wood") for name in ("oar", "sail", "rudder", "keel")),
    )
    assert search.ask(Question("boat hook door")).related == tuple(
        Related("notes", name, name.title(), f"https://example.org/{name}") for name in ("oar", "sail", "rudder")
    )


def test_three_shared_words_open_the_gate_two_do_not(
    index: Index, item: MakeItem, data_dir: Path, embedder: CommandEmbedder
) -> None:
    index("notes", item("a", "Rigging", "The mast, the boom and the shroud of a small sloop, all of them varnished."))
    strict = Search(data_dir, embedder, min_similarity=0.99)
    assert [hit.id for hit in strict.ask(Question("mast boom shroud")).hits] == ["a"]
    assert strict.ask(Question("mast boom keel")).silence is SilenceReason.BELOW_GATE
    # Stop words are no words here.
    assert strict.ask(Question("the mast and all of them")).silence is SilenceReason.BELOW_GATE
    strict.close()


def test_silence_names_its_reason(index: Index, item: MakeItem, search: Search, data_dir: Path) -> None:
    def reason(text: str = "boat hook", **filters: str) -> SilenceReason | None:
        return search.ask(Question(text, Filters(**filters))).silence

    assert reason() is SilenceReason.NOTHING_INDEXED
    path = index("notes", item("hook", "Boat hook", "The hook hangs by the door.", labels=("rope",)))
    assert reason() is None
    assert reason("zebra crossing") is SilenceReason.BELOW_GATE
    assert reason(label="paint") is SilenceReason.FILTERED_OUT
    assert reason(source="elsewhere") is SilenceReason.FILTERED_OUT
    assert reason("zebra crossing", label="rope") is SilenceReason.BELOW_GATE
    assert reason("thanks!") is SilenceReason.NOT_A_QUESTION
    write_state(path, SourceState("indexing", 3, 10))
    assert reason("zebra crossing") is SilenceReason.STILL_INDEXING
    write_state(path, SourceState("failing", error="no answer from the server"))
    assert reason("zebra crossing") is SilenceReason.SOURCE_FAILING
    write_state(path, SourceState("failing", error="no answer from the server", built=True))
    assert reason("zebra crossing") is SilenceReason.BELOW_GATE


def test_what_was_shown_before_can_be_left_out(index: Index, item: MakeItem, search: Search) -> None:
    index("notes", item("a", "Tide", "High tide at noon"), item("b", "Tide", "High tide at six"))
    question = Question("high tide", exclude=frozenset({("notes", "a"), ("notes", "unknown"), ("unknown", "a")}))
    assert [hit.id for hit in search.ask(question).hits] == ["b"]
    both = Question("high tide", exclude=frozenset({("notes", "a"), ("notes", "b")}))
    assert search.ask(both).silence is SilenceReason.FILTERED_OUT


def test_an_explanation_shows_ranks_words_and_the_nearest_rejected(
    index: Index, item: MakeItem, search: Search
) -> None:
    index(
        "notes",
        item("hook", "Boat hook", "The hook hangs by the door."),
        item("door", "Paint", "The door of the shed is painted green every spring by all of us."),
        *(item(f"x{number}", "Other", f"nothing of the kind {number}") for number in range(3)),
    )
    answer = search.ask(Question("boat hook door", explain=True))
    assert answer.explanation is not None
    first, second = answer.explanation.candidates[:2]
    assert (first.id, first.keyword_rank, first.vector_rank, first.verdict) == ("hook", 1, 1, "hit")
    assert first.matched == ("boat", "hook", "door")
    assert (second.id, second.verdict) == ("door", "below the gate")
    assert answer.explanation.nearest_rejected == second
    assert answer.explanation.sections_searched == 5
    assert answer.explanation.min_similarity == 0.25


def test_an_item_opens_whole(index: Index, item: MakeItem, search: Search) -> None:
    long = "\n\n".join(f"Paragraph {number} of the log. " + "calm sea " * 60 for number in range(6))
    index("notes", item("log", "Log", sections=[(None, "Intro"), ("Day", long), ("Night", "Dark.")], path=("Ship",)))
    opened = search.item("notes", "log")
    assert opened is not None
    assert (opened.title, opened.path) == ("Log", ("Ship",))
    assert [section.heading for section in opened.sections] == [None, "Day", "Night"]
    assert opened.sections[1].text.split() == long.split()
    assert search.item("notes", "unknown") is None
    assert search.item("unknown", "log") is None


def test_every_item_of_every_source_can_be_gone_through(index: Index, item: MakeItem, search: Search) -> None:
    assert list(search.items()) == []
    index("notes", item("log", "Log", sections=[("Day", "Calm."), ("Night", "Dark.")]), item("map", "Map", "North."))
    index("a", item("log", "Other log", "Storm."))
    assert [(opened.source, opened.id, opened.title, len(opened.sections)) for opened in search.items()] == [
        ("a", "log", "Other log", 1),
        ("notes", "log", "Log", 2),
        ("notes", "map", "Map", 1),
    ]


def test_sources_and_labels_are_listed(index: Index, item: MakeItem, search: Search, words_alone: Search) -> None:
    index("b", item("1", "One", "x", labels=("red", "blue")), item("2", "Two", "y"))
    index("a", item("3", "Three", "z", labels=("red", "café")))
    assert [(report.name, report.items, report.sections) for report in search.sources()] == [("a", 1, 1), ("b", 2, 2)]
    assert search.labels() == ["blue", "café", "red"]
    words_alone.ask(Question("anything there"))
    assert [report.vectors_current for report in words_alone.sources()] == [False, False]
    assert [report.vectors_current for report in search.sources()] == [True, True]


def test_a_failing_embedder_is_an_error_and_never_silence(index: Index, item: MakeItem, data_dir: Path) -> None:
    index("notes", item("a", "Boat hook", "by the door"))
    broken = CommandEmbedder("broken", [sys.executable, "-c", "raise SystemExit('no model')"], min_similarity=0.5)
    search = Search(data_dir, broken)
    with pytest.raises(EmbedderError, match="no model"):
        search.ask(Question("boat hook"))
    answer = search.ask(Question("boat hook", deadline_s=30))
    assert [hit.id for hit in answer.hits] == ["a"]
    assert answer.hits[0].similarity is None
    assert answer.keyword_only is not None and "no model" in answer.keyword_only
    search.close()
    broken.close()


def test_a_late_embedder_leaves_an_answer_by_words_that_says_so(index: Index, item: MakeItem, data_dir: Path) -> None:
    index("notes", item("a", "Boat hook", "by the door"))
    command = [sys.executable, "-m", "passageway.testing.fake_embedder"]
    slow = CommandEmbedder("slow", command, env={"FAKE_DELAY": "30"}, min_similarity=0.5)
    search = Search(data_dir, slow)
    answer = search.ask(Question("boat hook", deadline_s=0.05))
    assert [hit.id for hit in answer.hits] == ["a"]
    assert answer.keyword_only == "the embedder did not answer in time"
    for _ in range(8):
        assert search.ask(Question("boat hook", deadline_s=0.01)).hits
    answer = search.ask(Question("boat hook", deadline_s=30))
    assert answer.keyword_only == "the embedder is too slow: earlier questions still wait for it"
    search.close()
    slow.close()


def test_a_question_with_a_deadline_does_not_wait_for_the_files_to_be_read(
    index: Index, item: MakeItem, search: Search
) -> None:
    index("notes", item("a", "Boat hook", "by the door"))
    with search._turn:  # as while a large file is read for the first time
        answer = search.ask(Question("boat hook", deadline_s=0.05))
    assert answer.silence is SilenceReason.STILL_INDEXING
    assert answer.problems == ("the index files are still being read into memory",)
    assert [hit.id for hit in search.ask(Question("boat hook", deadline_s=30)).hits] == ["a"]
