"""From ranked sections to passages with title, place and link, cut to the budget, and the items they point to."""

from collections.abc import Sequence

import numpy as np

from passageway.index.reader import ItemRow, PassageRow
from passageway.passages import estimated_tokens
from passageway_query.answer import MAX_HITS, Hit, Related
from passageway_query.excerpt import excerpt, shares
from passageway_query.postings import asked
from passageway_query.ranking import Ranked, RankedItems
from passageway_query.rows import Mask
from passageway_query.sources import Source, Sources

MAX_RELATED = 3

Found = tuple[Ranked, ItemRow, PassageRow]


def read_best(ranked: RankedItems) -> list[Found]:
    """The first three that pass the gate, with item and text as stored now. Raises SourceFailed."""
    found: list[Found] = []
    for entry in ranked.passing():
        item = asked(entry.source, lambda reader, own=entry: reader.items([own.item])).get(entry.item)  # type: ignore[misc]
        passage = asked(entry.source, lambda reader, own=entry: reader.passages([own.section])).get(entry.section)  # type: ignore[misc]
        # Removed since the rows were read: the next question will not see it.
        if item is not None and passage is not None:
            found.append((entry, item, passage))
            if len(found) == MAX_HITS:
                break
    return found


def hits_of(found: Sequence[Found]) -> tuple[Hit, ...]:
    """The passages, together about 400 tokens of text."""
    allowed = shares([estimated_tokens(passage.text) for _, _, passage in found])
    return tuple(
        Hit(
            source=entry.source.name,
            id=item.id,
            title=item.title,
            url=item.url,
            path=item.path,
            labels=item.labels,
            updated=item.updated,
            heading=passage.heading,
            text=excerpt(passage.text, [word.term for word in entry.matched], tokens),
            similarity=entry.similarity,
            score=entry.score,
            matched=tuple(dict.fromkeys(word.shown for word in entry.matched if word.share)),
        )
        for (entry, item, passage), tokens in zip(found, allowed, strict=True)
    )


def related_to(found: Sequence[Found], sources: Sources, allowed: Mask | None) -> tuple[Related, ...]:
    """Up to three items that the hits link to, in the order of the hits, if they are indexed and may be found."""
    shown = {(entry.source.name, item.id) for entry, item, _ in found}
    related: dict[tuple[str, str], Related] = {}
    for entry, item, _ in found:
        links = [link for link in item.links if (entry.source.name, link) not in shown]
        known = asked(entry.source, lambda reader, own=links: reader.items_by_id(own))  # type: ignore[misc]
        for link in links:
            if link in known and _may_be_found(known[link], entry.source, sources, allowed):
                key = entry.source.name, link
                related.setdefault(key, Related(*key, known[link].title, known[link].url))
                if len(related) == MAX_RELATED:
                    return tuple(related.values())
    return tuple(related.values())


def _may_be_found(item: ItemRow, source: Source, sources: Sources, allowed: Mask | None) -> bool:
    if allowed is None:
        return True
    (number,) = source.items.find(np.array([item.number]))
    return bool(allowed[sources.rows.item.used == number].any())
