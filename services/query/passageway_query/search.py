"""Answers questions from the index files of one data folder: what every door to query leads to."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from passageway.embedder import Embedder, EmbedderInfo
from passageway.errors import StorageError
from passageway.index.news import Model
from passageway.index.reader import IndexReader
from passageway.records import Section
from passageway_query.answer import (
    Answer,
    OpenedItem,
    Question,
    SilenceReason,
    SourceReport,
)
from passageway_query.explain import explanation
from passageway_query.filters import FilterMasks, updated_after_s
from passageway_query.hits import hits_of, read_best, related_to
from passageway_query.lexical import Lexicon
from passageway_query.postings import PostingsCache, SourceFailed
from passageway_query.question_vector import QuestionEmbedder, QuestionVector
from passageway_query.ranking import Ranking
from passageway_query.sources import Source, Sources
from passageway_query.words import Tokenizer, Words, question_words, readable

OTHER_MODEL = "the stored vectors are of another model; they are being made anew"

STILL_READING = "the index files are still being read into memory"


class Search:
    """Searches every `<data_dir>/*.db`, whatever comes, changes or goes there meanwhile.

    Thread-safe: embedding goes on side by side, ranking takes turns (a few milliseconds each). `min_similarity` takes
    the place of the model's own gate.
    """

    def __init__(self, data_dir: Path, embedder: Embedder, *, min_similarity: float | None = None) -> None:
        self._questions = QuestionEmbedder(embedder)
        self._min_similarity = min_similarity
        self._turn = threading.Lock()
        self._model: Model | None = None
        self._tokenizer = Tokenizer()
        self._sources = Sources(data_dir)
        self._masks = FilterMasks(self._sources)
        self._ranking = Ranking(self._sources, Lexicon(PostingsCache(self._sources)), self._tokenizer)

    def close(self) -> None:
        """Give back every file. The embedder belongs to the caller."""
        with self._turn:
            self._sources.close()
            self._tokenizer.close()

    def ask(self, question: Question) -> Answer:
        """At most three passages, or none and the reason. Any text is a question.

        Raises EmbedderError when the question cannot be embedded, unless it has a `deadline_s`: then the answer is by
        words alone and says so. Raises ValueError for an `updated_after` that is no date.
        """
        started = time.perf_counter()
        updated_after_s(question.filters)
        text = readable(question.text)
        with self._taking_turns(question.deadline_s) as my_turn:
            if not my_turn:
                return _timed(Answer((), silence=SilenceReason.STILL_INDEXING, problems=(STILL_READING,)), started)
            words = question_words(text, self._tokenizer)
            silence = self._silence_before_search(words)
            problems = self._problems()
        if silence is not None:
            return _timed(Answer((), silence=silence, problems=problems), started)
        embedding = time.perf_counter()
        waited_s = embedding - started
        left_s = None if question.deadline_s is None else max(0.0, question.deadline_s - waited_s)
        vector = self._questions.embed(text, left_s)
        embed_ms = (time.perf_counter() - embedding) * 1000
        with self._turn:
            if vector.info is not None:
                self._model = Model(vector.info.name, vector.info.dimension)
            with self._sources.current(self._model):
                answer = self._answer(question, words, vector)
        return _timed(answer, started, embed_ms)

    def item(self, source: str, item_id: str) -> OpenedItem | None:
        """A whole item by its source and id, None when it is not there. Raises StorageError."""
        with self._reading():
            if source not in self._sources:
                return None
            reader = _reader_of(self._sources[source])
            item = reader.items_by_id([item_id]).get(item_id)
            if item is None:
                return None
            sections = _whole_sections(reader.text(item.number))
            return OpenedItem(source, item.id, item.title, item.url, item.path, item.labels, item.updated, sections)

    def items(self) -> Iterator[OpenedItem]:
        """Every indexed item, whole, source by source. Raises StorageError."""
        with self._reading():
            ids = [(source.name, item_id) for source in self._sources for item_id in _item_ids(source)]
        for name, item_id in ids:
            item = self.item(name, item_id)
            if item is not None:  # gone meanwhile
                yield item

    def sources(self) -> list[SourceReport]:
        """What is there of every source, by name; a file that cannot be read is `failing`."""
        with self._reading():
            return [self._report(source) for source in self._sources]

    def model(self) -> EmbedderInfo:
        """The embedder's model, with the gate that is in force. Raises EmbedderError."""
        info = self._questions.info()
        with self._turn:
            self._model = Model(info.name, info.dimension)
        return info if self._min_similarity is None else replace(info, min_similarity=self._min_similarity)

    def labels(self) -> list[str]:
        """Every label there is, sorted. Raises StorageError."""
        with self._reading():
            found = (source.reader.labels() for source in self._sources if source.reader is not None)
            return sorted(set[str]().union(*found))

    @contextmanager
    def _taking_turns(self, deadline_s: float | None) -> Iterator[bool]:
        """The turn, or False when it did not come in time: a first reading of the files may take seconds."""
        if not self._turn.acquire(timeout=-1 if deadline_s is None else deadline_s):
            yield False
            return
        try:
            yield True
        finally:
            self._turn.release()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._turn, self._sources.current(self._model):
            yield

    def _silence_before_search(self, words: Words) -> SilenceReason | None:
        if not words.all or words.small_talk:
            return SilenceReason.NOT_A_QUESTION
        if self._anything_there():
            return None
        with self._sources.current(self._model):
            reason = self._silence()
            if self._anything_there():
                return None
            return SilenceReason.NOTHING_INDEXED if reason is SilenceReason.BELOW_GATE else reason

    def _anything_there(self) -> bool:
        return self._sources.rows.living > 0

    def _silence(self) -> SilenceReason:
        """Why there is no passage: below the gate, unless a source could not say all it has."""
        unfinished = {source.state.state for source in self._sources if not source.state.built}
        if "failing" in unfinished or self._problems():
            return SilenceReason.SOURCE_FAILING
        if "indexing" in unfinished or self._by_words_alone():
            return SilenceReason.STILL_INDEXING
        return SilenceReason.BELOW_GATE

    def _problems(self) -> tuple[str, ...]:
        of_folder = (self._sources.problem,) if self._sources.problem else ()
        return (*of_folder, *(f"{source.name}: {source.problem}" for source in self._sources if source.problem))

    def _by_words_alone(self) -> tuple[str, ...]:
        """The sources that meaning does not find all of, while it does find others: each with the reason."""
        rows = self._sources.rows
        numbers = np.unique(rows.source.used[rows.stale]).tolist() if rows.has_vectors else ()
        names = sorted(self._sources.by_number[number].name for number in numbers)
        return tuple(f"{name}: {OTHER_MODEL}, and until then only words are compared there" for name in names)

    def _answer(self, question: Question, words: Words, vector: QuestionVector) -> Answer:
        """The answer, without the sources whose files turn out to be unreadable on the way."""
        while True:
            try:
                return self._tried(question, words, vector)
            except SourceFailed as failed:
                self._sources.fail(failed.source, failed.error, drop=True)

    def _tried(self, question: Question, words: Words, vector: QuestionVector) -> Answer:
        keyword_only = vector.reason
        if keyword_only is None and not self._sources.rows.has_vectors:
            keyword_only = OTHER_MODEL
        ask = partial(
            self._ranking.ranked,
            words,
            vector.vector if keyword_only is None else None,
            min_similarity=self._gate(vector),
            context_words=question.context_words,
            cautious=question.cautious,
        )
        allowed = self._masks.mask(question.filters, question.exclude)
        ranked = ask(allowed)
        found = read_best(ranked)
        silence = None
        if not found:
            filtered_out = allowed is not None and (not allowed.any() or ask(None).any_passes)
            silence = SilenceReason.FILTERED_OUT if filtered_out else self._silence()
        why = None
        if question.explain:
            searched = self._sources.rows.living if allowed is None else int(allowed.sum())
            why = explanation(ranked, found, searched, None if keyword_only else self._gate(vector))
        return Answer(
            hits_of(found),
            related_to(found, self._sources, allowed),
            silence,
            keyword_only,
            explanation=why,
            problems=(*self._problems(), *self._by_words_alone()),
        )

    def _gate(self, vector: QuestionVector) -> float:
        if self._min_similarity is not None:
            return self._min_similarity
        return 1.0 if vector.info is None else vector.info.min_similarity

    def _report(self, source: Source) -> SourceReport:
        state = source.state
        items = sections = 0
        if source.problem is None and source.reader is not None:
            try:
                items, sections = source.reader.counts()
            except StorageError as error:
                self._sources.fail(source, error)
        if source.problem is not None:
            state = replace(state, state="failing", error=source.problem)
        rows = source.sections.values
        current = bool((self._sources.rows.scale.used[rows][self._sources.rows.live.used[rows]] > 0).all())
        return SourceReport(source.name, state, items, sections, current)


def _reader_of(source: Source) -> IndexReader:
    if source.reader is None:
        raise StorageError(f"{source.name}: {source.problem}")
    return source.reader


def _item_ids(source: Source) -> list[str]:
    reader = _reader_of(source)
    return [item.id for item in reader.items(reader.matching_items("", "", None).tolist()).values()]


def _timed(answer: Answer, started: float, embed_ms: float = 0.0) -> Answer:
    return replace(answer, took_ms=(time.perf_counter() - started) * 1000, embed_ms=embed_ms)


def _whole_sections(passages: list[tuple[str | None, str]]) -> tuple[Section, ...]:
    """Sections as they were before long ones were cut: neighbours of one heading are one section."""
    sections: list[Section] = []
    for heading, texts in groupby(passages, key=itemgetter(0)):
        sections.append(Section(heading, "\n\n".join(text for _, text in texts)))
    return tuple(section for section in sections if section.text or section.heading)
