"""What a session was shown."""

from passageway_query.shown import MAX_IDLE_S, MAX_ITEMS, MAX_SESSIONS, ShownItems


def test_a_session_remembers_its_items_and_no_other_sessions() -> None:
    shown = ShownItems()
    shown.add("a", [("notes", "1"), ("notes", "2")])
    shown.add("b", [("wiki", "1")])
    shown.add("a", [("wiki", "9")])
    assert shown.of("a") == {("notes", "1"), ("notes", "2"), ("wiki", "9")}
    assert shown.of("b") == {("wiki", "1")}
    assert shown.of("c") == frozenset()


def test_a_request_without_a_session_is_remembered_nowhere() -> None:
    shown = ShownItems()
    shown.add("", [("notes", "1")])
    assert shown.of("") == frozenset()


def test_the_session_used_longest_ago_is_forgotten_first() -> None:
    shown = ShownItems()
    for number in range(MAX_SESSIONS):
        shown.add(f"s{number}", [("notes", str(number))])
    shown.add("s0", [("notes", "again")])
    shown.add("one more", [("notes", "x")])
    assert shown.of("s0") == {("notes", "0"), ("notes", "again")}
    assert shown.of("s1") == frozenset()


def test_a_session_forgets_its_oldest_items_past_the_limit() -> None:
    shown = ShownItems()
    shown.add("a", [("notes", str(number)) for number in range(MAX_ITEMS + 1)])
    items = shown.of("a")
    assert len(items) == MAX_ITEMS
    assert ("notes", "0") not in items


def test_a_session_left_alone_for_a_day_starts_afresh() -> None:
    now = [0.0]
    shown = ShownItems(clock=lambda: now[0])
    shown.add("a", [("notes", "1")])
    now[0] = MAX_IDLE_S
    assert shown.of("a") == {("notes", "1")}
    now[0] = MAX_IDLE_S + 1
    assert shown.of("a") == frozenset()


def test_a_session_id_of_any_length_and_kind_is_taken() -> None:
    shown = ShownItems()
    shown.add("x" * 1_000_000 + "\ud800", [("notes", "1")])
    assert shown.of("x" * 1_000_000 + "\ud800") == {("notes", "1")}
