"""Which items answer a question, and which are copies."""

from passageway.records import Section
from passageway_cli.eval.cases import Case
from passageway_cli.eval.catalogue import Catalogue
from passageway_query.answer import OpenedItem

LONG = "Inspect the hive weekly in spring, because a crowded colony prepares to swarm. " * 3
FOOTER = "Written by the club, free to share."


def item(source: str, item_id: str, title: str, *sections: tuple[str | None, str]) -> OpenedItem:
    url = f"https://example.org/{source}/{item_id}"
    return OpenedItem(source, item_id, title, url, (), (), None, tuple(Section(*pair) for pair in sections))


CATALOGUE = Catalogue(
    [
        item("notes", "bees.md", "Keeping bees", ("Swarming", LONG), (None, FOOTER)),
        item("wiki", "hive.md", "The hive", (None, LONG.replace(" ", "\n"))),
        item("wiki", "bees.md", "Bumblebees", ("Nests", "In the ground."), (None, FOOTER)),
        item("wiki", "empty.md", "Nothing yet"),
    ]
)


def test_an_item_is_accepted_for_title_address_heading_or_id_in_any_source() -> None:
    def accepted(*expect: str, ids: tuple[str, ...] = ()) -> set[str]:
        return {"/".join(key) for key in CATALOGUE.accepted(Case(1, "q", expect=expect, expect_id=ids))}

    assert accepted("BEES") == {"notes/bees.md", "wiki/bees.md"}
    assert accepted("swarming") == {"notes/bees.md"}
    assert accepted("/wiki/") == {"wiki/hive.md", "wiki/bees.md", "wiki/empty.md"}
    assert accepted(ids=("bees.md",)) == {"notes/bees.md", "wiki/bees.md"}
    assert accepted("hive", ids=("empty.md",)) == {"wiki/hive.md", "wiki/empty.md"}
    assert accepted("crowded colony") == set()
    assert accepted("beeshttps") == set()


def test_a_copy_shares_most_of_its_text_and_a_common_footer_makes_none() -> None:
    assert CATALOGUE.with_copies(frozenset({("notes", "bees.md")})) == {("notes", "bees.md"), ("wiki", "hive.md")}
    assert CATALOGUE.with_copies(frozenset({("wiki", "empty.md")})) == {("wiki", "empty.md")}
    assert CATALOGUE.with_copies(frozenset()) == frozenset()
