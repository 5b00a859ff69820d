"""Passages cut to the budget of an answer, around the words of the question."""

import re
from collections.abc import Sequence

from passageway.passages import estimated_tokens, split_text
from passageway_query.stop_words import fold

BUDGET_TOKENS = 400
"""For the texts of one answer together: less than a page, since it is read with every prompt."""

CUT = "…"

_SENTENCE = re.compile(r".+?(?:[.!?…]+(?=\s)|[。！？]|\n|\Z)\s*", re.DOTALL)


def shares(lengths: Sequence[int]) -> list[int]:
    """How many tokens each text may have: an equal part, and what shorter ones leave over for the longer ones."""
    allowed = [0] * len(lengths)
    left = BUDGET_TOKENS
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for done, place in enumerate(order):
        allowed[place] = min(lengths[place], left // (len(lengths) - done))
        left -= allowed[place]
    return allowed


def excerpt(text: str, terms: Sequence[str], max_tokens: int) -> str:
    """The text, or the run of its sentences within the limit that holds the most of the terms, the first of equals.

    `terms` are folded words; a sentence holds one when its folded text does.
    """
    if estimated_tokens(text) <= max_tokens:
        return text
    sentences = [match.group() for match in _SENTENCE.finditer(text)]
    sizes = [estimated_tokens(sentence) for sentence in sentences]
    held = [{term for term in terms if term in folded} for folded in map(fold, sentences)]
    start, end = _best_run(sizes, held, max_tokens)
    chosen = "".join(sentences[start:end]).strip()
    before = f"{CUT} " if start else ""
    after = f" {CUT}" if end < len(sentences) else ""
    if estimated_tokens(chosen) > max_tokens:
        chosen, after = split_text(chosen, max_tokens)[0], CUT
    return f"{before}{chosen}{after}"


def _best_run(sizes: Sequence[int], held: Sequence[set[str]], limit: int) -> tuple[int, int]:
    """Start and end of the best run of sentences; at least one sentence, even one over the limit."""
    best = (0, 1)
    most = -1
    for start in range(len(sizes)):
        end, size, found = start, 0, set[str]()
        while end < len(sizes) and (end == start or size + sizes[end] <= limit):
            size += sizes[end]
            found |= held[end]
            end += 1
        if len(found) > most:
            best, most = (start, end), len(found)
    return best
