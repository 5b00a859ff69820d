"""From ranked sections to passages with title, place and link, cut to the budget, and the items they point to."""

from collections.abc import Sequence

import numpy as np

from passageway.index.reader import ItemRow, PassageRow
from passageway.index.trouble import lost_rows
from passageway.passages import estimated_tokens
from passageway_query.answer import MAX_HITS, Hit, Related
from passageway_query.excerpt import excerpt, shares
from passageway_query.postings import SourceFailed, asked
from passageway_query.ranking import Ranked, RankedItems
from passageway_query.rows import Mask
from passageway_query.sources import Source, Sources

MAX_RELATED = 3

Found = tuple[Ranked, PassageRow]


def read_best(ranked: RankedItems) -> list[Found]:
    """The first three that pass the gate, with their texts. Raises SourceFailed."""
    found: list[Found] = []
    for entry in ranked.passing():
        passage = read_passage(entry)
        if passage is not None:
            found.append((entry, passage))
            if len(found) == MAX_HITS:
                break
    return found


def read_passage(entry: Ranked) -> PassageRow | None:
    """The text of a ranked section and its item, None if its source has a problem already. Raises SourceFailed."""
    passage = asked(entry.source, lambda reader: reader.passage(entry.section))
    if passage is None and entry.source.problem is None:
        # Rows and texts are of one moment, so a row without its text is no removal.
        raise SourceFailed(entry.source, lost_rows(entry.source.path))
    return passage


def hits_of(found: Sequence[Found]) -> tuple[Hit, ...]:
    """The passages, together about 400 tokens of text."""
    allowed = shares([estimated_tokens(passage.text) for _, passage in found])
    return tuple(_hit(entry, passage, tokens) for (entry, passage), tokens in zip(found, allowed, strict=True))


def _hit(entry: Ranked, passage: PassageRow, max_tokens: int) -> Hit:
    item = passage.item
    return Hit(
        source=entry.source.name,
        id=item.id,
        title=item.title,
        url=item.url,
        path=item.path,
        labels=item.labels,
        updated=item.updated,
        heading=passage.heading,
        text=excerpt(passage.text, [word.term for word in entry.matched], max_tokens),
        similarity=entry.similarity,
        score=entry.score,
        matched=entry.matched_words,
    )


def related_to(found: Sequence[Found], sources: Sources, allowed: Mask | None) -> tuple[Related, ...]:
    """Up to three items that the hits link to, in the order of the hits, if they are indexed and may be found."""
    shown = {(entry.source.name, passage.item.id) for entry, passage in found}
    related: dict[tuple[str, str], Related] = {}
    for entry, passage in found:
        links = [link for link in passage.item.links if (entry.source.name, link) not in shown]
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
