"""What the pages show: reports and answers turned into the words and figures of a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from passageway.passages import trail
from passageway_query.answer import Answer, Candidate, SilenceReason
from passageway_query.auth.addresses import shown_target
from passageway_query.auth.store import Grant
from passageway_query.render import SUGGESTIONS, passage, place, recall_result
from passageway_query.wire import Health, Passage, SourceHealth

STATUS_WORDS = {
    "ok": "Everything is up to date.",
    "indexing": "Reading sources. What is there already can be found.",
    "degraded": "Something needs attention. What was indexed can still be found.",
    "error": "The configuration has an error; nothing can be searched.",
}


_HERE = {
    SilenceReason.NOTHING_INDEXED: "No source has anything indexed yet. Below stands what is going on.",
    SilenceReason.SOURCE_FAILING: "A source is failing, so this may be missing. Below stands which, and why.",
}
"""Where a model is sent to a tool, a person has it on the same page."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source's card. `done` is a fraction from 0 to 1 while a build runs."""

    name: str
    state: str
    counts: str
    progress: str | None
    done: float | None
    last_success: str
    notes: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class PassageView:
    """One passage; `link` is empty unless a browser may safely follow it."""

    passage: Passage
    place: str
    link: str
    similarity: str
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedView:
    """An item that a passage's item links to; `link` as above."""

    title: str
    link: str


@dataclass(frozen=True, slots=True)
class CandidateView:
    """One row of the table that explains an answer."""

    title: str
    item: str
    keyword_rank: str
    vector_rank: str
    similarity: str
    matched: str
    weight: str
    score: str
    verdict: str


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer with why it came out so."""

    passages: tuple[PassageView, ...]
    related: tuple[RelatedView, ...]
    silence: str | None
    suggestion: str | None
    words_only: str | None
    problems: tuple[str, ...]
    took: str
    candidates: tuple[CandidateView, ...]
    searched: str
    gate: str
    nearest: CandidateView | None


@dataclass(frozen=True, slots=True)
class AppView:
    """A connected app's row."""

    grant: str
    name: str
    target: str
    connected: str
    used: str


def app_view(grant: Grant, now: float) -> AppView:
    """A grant as the page shows it."""
    return AppView(
        grant.id,
        grant.client_name,
        shown_target(grant.redirect_uri),
        f"connected {ago(int(now - grant.created))}",
        f"token renewed {ago(int(now - grant.used))}",
    )


def source_views(health: Health) -> list[SourceView]:
    """The cards: what needs attention first, then what is being read, then the rest, each by name."""
    urgency = {"failing": 0, "indexing": 1}
    return [_source(source) for source in sorted(health.sources, key=lambda s: (urgency.get(s.state, 2), s.name))]


def _source(source: SourceHealth) -> SourceView:
    notes = []
    if not source.vectors_current:
        notes.append("Its vectors are of another model; until they are made anew it is found by words only.")
    if not source.configured:
        notes.append("It is no longer in the configuration. Delete its index file to be rid of it.")
    # While a source is read for the first time, what its report calls an error is what it still waits for.
    waiting = source.error if source.state == "indexing" else None
    if waiting:
        notes.append(f"{waiting[:1].upper()}{waiting[1:]}.")
    building = source.of is not None
    return SourceView(
        name=source.name,
        state=source.state,
        counts=f"{_counted(source.items, 'item')}, {_counted(source.sections, 'section')}",
        progress=f"{source.fetched or 0:,} of {source.of:,} read" if building else None,
        done=min(1.0, (source.fetched or 0) / source.of) if source.of else None,
        last_success="never synced"
        if source.last_success_age_s is None
        else f"synced {ago(source.last_success_age_s)}",
        notes=tuple(notes),
        error=None if waiting else source.error,
    )


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def ago(seconds: int) -> str:
    """`just now`, `5 minutes ago`, `3 days ago`."""
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = seconds // size
        if count > 0:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def answer_view(answer: Answer) -> AnswerView:
    """The answer as the page shows it."""
    explanation = answer.explanation
    candidates: Sequence[Candidate] = explanation.candidates if explanation else ()
    gate = explanation.min_similarity if explanation else None
    nearest = explanation.nearest_rejected if explanation else None
    return AnswerView(
        passages=tuple(
            PassageView(shown, place(shown), web_link(shown.url), _number(hit.similarity, 3), hit.matched)
            for hit, shown in ((hit, passage(hit)) for hit in answer.hits)
        ),
        related=tuple(RelatedView(item.title, web_link(item.url)) for item in recall_result(answer).related),
        silence=answer.silence.value if answer.silence else None,
        suggestion=_HERE.get(answer.silence, SUGGESTIONS[answer.silence]) if answer.silence else None,
        words_only=answer.keyword_only,
        problems=answer.problems,
        took=f"{answer.took_ms:.1f} ms, {answer.embed_ms:.1f} of them for the embedding",
        candidates=tuple(map(_candidate, candidates)),
        searched=_counted(explanation.sections_searched, "section") if explanation else "",
        gate=_number(gate, 3),
        nearest=_candidate(nearest) if nearest else None,
    )


def web_link(url: str) -> str:
    """The address when a browser may follow it, else nothing: a source could hold `javascript:` links."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def _candidate(candidate: Candidate) -> CandidateView:
    return CandidateView(
        title=trail((candidate.title, candidate.heading)),
        item=f"{candidate.source}/{candidate.id}",
        keyword_rank=_rank(candidate.keyword_rank),
        vector_rank=_rank(candidate.vector_rank),
        similarity=_number(candidate.similarity, 3),
        matched=", ".join(candidate.matched),
        weight=f"{candidate.weight:g}",
        score=_number(candidate.score, 4),
        verdict=candidate.verdict,
    )


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
