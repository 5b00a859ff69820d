"""Any text is a question, and words are found however they are written, with vectors and without."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passageway.records import Item
from passageway_query.answer import Question, SilenceReason
from passageway_query.search import Search

Index = Callable[..., Path]
MakeItem = Callable[..., Item]

ODD_PROMPTS = [
    "where's the hook?",
    "hook, roughly?",
    "boat-hook",
    "hook: door",
    '"hook',
    "hook AND",
    "(hook",
    "hook*",
    "C:\\hook\\door",
    "'hook '",
    "hook " * 30_000,
    "hook:door OR door:hook",
    "NEAR(hook door, 3)",
    "hook\x00door",
    "hook \ud800",
    "^hook",
    "{hook} : +hook -hook",
]


def ids(search: Search, text: str) -> list[str]:
    return [hit.id for hit in search.ask(Question(text)).hits]


def best_candidates(search: Search, text: str) -> list[str]:
    """The first three by rank, whatever the gate made of them."""
    explanation = search.ask(Question(text, explain=True)).explanation
    return [] if explanation is None else [candidate.id for candidate in explanation.candidates[:3]]


@pytest.fixture
def boat_hook(index: Index, item: MakeItem) -> None:
    index("notes", item("hook", "Boat hook", "The hook hangs by the door."))


@pytest.fixture
def four_pages(index: Index, item: MakeItem) -> None:
    index(
        "notes",
        item("d1", "Warranty", "Returns are possible within thirty days with a receipt."),
        item("d2", "Client", "Use parse_http_reply and RetryBudget for release 4.12."),
        item("d3", "停车", "访客停车需要提前登记车牌号码。"),
        item("d4", "Übergabe", "Die Übergabe erfolgt um sechs Uhr."),
    )


@pytest.mark.usefixtures("boat_hook")
@pytest.mark.parametrize("prompt", ODD_PROMPTS)
def test_an_odd_prompt_finds_the_page_within_a_second(search: Search, words_alone: Search, prompt: str) -> None:
    for asked in (search, words_alone):
        started = time.monotonic()
        assert ids(asked, prompt) == ["hook"]
        assert time.monotonic() - started < 1


@pytest.mark.usefixtures("boat_hook")
@pytest.mark.parametrize("prompt", ["NEAR", "", "🪝", "   ", "?!", "\x00", "\ud83e"])
def test_a_prompt_without_a_word_of_the_page_finds_nothing(search: Search, words_alone: Search, prompt: str) -> None:
    assert ids(search, prompt) == []
    assert ids(words_alone, prompt) == []


@pytest.mark.usefixtures("boat_hook")
def test_the_last_word_of_a_long_text_is_looked_for_as_well(words_alone: Search) -> None:
    prompt = " ".join(f"word{number}" for number in range(400)) + " hook"
    assert best_candidates(words_alone, prompt) == ["hook"]
    # One word of four hundred is no reason to answer.
    assert ids(words_alone, prompt) == []


@pytest.mark.usefixtures("boat_hook")
@pytest.mark.parametrize(
    "megabyte",
    [
        " ".join(f"word{number}" for number in range(140_000)),
        "x" * 1_000_000,
        "车" * 350_000,
        "a_" * 500_000,
        "ü " * 350_000,
    ],
    ids=["words", "one word", "one unspaced run", "one name", "accents"],
)
def test_a_megabyte_is_answered_within_a_second(words_alone: Search, megabyte: str) -> None:
    started = time.monotonic()
    assert ids(words_alone, megabyte) == []
    assert time.monotonic() - started < 1


@pytest.mark.usefixtures("four_pages")
@pytest.mark.parametrize(
    ("prompt", "page"),
    [
        ("could you tell me how many days customers have for returns please", "d1"),
        ("warranty", "d1"),
        ("parse_http_reply", "d2"),
        ("http reply", "d2"),
        ("RetryBudget", "d2"),
        ("retry_budget", "d2"),
        ("retry budget", "d2"),
        ("4.12", "d2"),
        ("停车", "d3"),
        ("车牌", "d3"),
        ("牌", "d3"),
        ("Übergabe", "d4"),
        ("ubergabe", "d4"),
        ("U\u0308bergabe", "d4"),
        ("ÜBERGABE", "d4"),
    ],
)
def test_a_word_is_found_however_it_is_written(search: Search, words_alone: Search, prompt: str, page: str) -> None:
    assert best_candidates(search, prompt)[:1] == [page]
    assert ids(words_alone, prompt)[:1] == [page]


@pytest.mark.usefixtures("four_pages")
@pytest.mark.parametrize(
    "prompt",
    [
        "ok thanks",
        "continue",
        "fix the failing test in utils.py",
        "who won the match yesterday?",
        "please do the same for the other one",
        "danke, mach weiter",
    ],
)
def test_a_prompt_that_asks_nothing_of_the_sources_adds_nothing(
    search: Search, words_alone: Search, prompt: str
) -> None:
    for asked in (search, words_alone):
        answer = asked.ask(Question(prompt))
        assert (answer.hits, answer.related) == ((), ())
        assert answer.silence in (SilenceReason.BELOW_GATE, SilenceReason.NOT_A_QUESTION)


@pytest.mark.usefixtures("four_pages")
def test_a_real_question_adds_the_page_that_answers_it_first(search: Search, words_alone: Search) -> None:
    assert ids(search, "how many days for returns?")[:1] == ["d1"]
    assert ids(words_alone, "how many days for returns?")[:1] == ["d1"]


def test_words_between_unspaced_letters_are_found(index: Index, item: MakeItem, words_alone: Search) -> None:
    index("notes", item("zh", "部署", "使用Docker部署服务"), item("th", "ที่จอดรถ", "ผู้มาเยือนต้องลงทะเบียนป้ายทะเบียนรถ"))
    index("hindi", item("hi", "पार्किंग", "आगंतुकों को नंबर प्लेट पहले से दर्ज करानी होगी"))
    assert ids(words_alone, "docker") == ["zh"]
    assert ids(words_alone, "ทะเบียน") == ["th"]
    assert ids(words_alone, "प्लेट") == ["hi"]
    assert ids(words_alone, "आगंतुकों") == ["hi"]


def test_a_whole_name_ranks_before_its_parts(index: Index, item: MakeItem, words_alone: Search) -> None:
    index(
        "code",
        item("parts", "Reply", "The http reply is there to parse: parse the http reply, then parse it again."),
        item("whole", "Client", "Call parse_http_reply first."),
    )
    assert ids(words_alone, "parse_http_reply") == ["whole", "parts"]
    assert ids(words_alone, "parseHttpReply") == ["whole", "parts"]


@pytest.mark.usefixtures("boat_hook")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=200))
def test_no_text_whatever_breaks_a_search(words_alone: Search, text: str) -> None:
    answer = words_alone.ask(Question(text, explain=True))
    assert bool(answer.hits) != bool(answer.silence)
    assert answer.problems == ()
