"""Made-up sections, vectors and questions for benchmarks/search.py; the same numbers give the same data.

Words follow Zipf's law with 90 English stop words in front, and a fifth of each section's words belong to its subject.
Vectors lie around 2,000 subjects in 60 groups, each subject with 16 directions of its own: the cosines of neighbours
are spread like those of real text, where a cloud of random vectors would make every search look exact.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passageway.embedder import Vectors

DIMENSION = 384
SUBJECTS = 2_000
_GROUPS = 60
_DIRECTIONS = 16
_VOCABULARY = 60_000
_SUBJECT_WORDS = 60
_MEDIAN_WORDS = 72

_STOP = """
the of and to a in is for that on with as it this are be by you can from or an not if use when will which at your we may
all has have one but how what does do i its was no more any other about into these where only must should than set each
new then so using used my their why there also out up such over who get
"""
_STOP_WORDS = tuple(_STOP.split())
_CONSONANTS = tuple("bcdfghjklmnprstvwz") + ("br", "ch", "cl", "dr", "fl", "gr", "pl", "qu", "sh", "sl", "st", "tr")
_VOWELS = (*"aeiou", "ai", "ea", "ou")


@dataclass(frozen=True, slots=True)
class Page:
    """One item of one section; `subject` says what it is about."""

    title: str
    heading: str
    text: str
    subject: int


@dataclass(frozen=True, slots=True)
class Data:
    """Pages with their vectors (n, 384), and questions with theirs: half of a question's words are stop words."""

    pages: Sequence[Page]
    vectors: Vectors
    questions: Sequence[str]
    question_vectors: Vectors


def made_up(sections: int, questions: int) -> Data:
    """Data of this size; 100,000 sections take ten seconds and 0.3 GB."""
    rng = np.random.default_rng(7)
    chance = random.Random(7)
    space = _Space(rng)
    share = rng.gamma(1.0, 1.0, SUBJECTS)
    share /= share.sum()
    subjects = rng.choice(SUBJECTS, sections, p=share)
    pages = list(_pages(subjects, rng, chance))
    asked = [_question(chance.choice(pages), chance) for _ in range(questions)]
    about = rng.choice(SUBJECTS, questions, p=share)
    return Data(pages, space.vectors(subjects, 0.18, 0.45), asked, space.vectors(about, 0.2, 0.6))


class _Space:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        groups = _unit(rng.standard_normal((_GROUPS, DIMENSION), dtype=np.float32))
        own = _unit(rng.standard_normal((SUBJECTS, DIMENSION), dtype=np.float32))
        self._centres = _unit(own * 0.8 + groups[rng.integers(0, _GROUPS, SUBJECTS)] * 0.6)
        directions = rng.standard_normal((SUBJECTS, _DIRECTIONS, DIMENSION), dtype=np.float32)
        self._directions = directions / np.float32(np.sqrt(DIMENSION))

    def vectors(self, subjects: NDArray[np.int64], along: float, around: float) -> Vectors:
        """Unit vectors near the centres of their subjects, strewn along the subject's directions and around."""
        rows = np.empty((len(subjects), DIMENSION), dtype=np.float32)
        for start in range(0, len(subjects), 5_000):
            part = subjects[start : start + 5_000]
            steps = self._rng.standard_normal((len(part), _DIRECTIONS), dtype=np.float32) * along
            noise = self._rng.standard_normal((len(part), DIMENSION), dtype=np.float32) * (around / np.sqrt(DIMENSION))
            moved = np.einsum("nr,nrd->nd", steps, self._directions[part])
            rows[start : start + 5_000] = _unit(self._centres[part] + moved + noise)
        return rows


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _vocabulary(rng: np.random.Generator) -> list[str]:
    words = dict.fromkeys(_STOP_WORDS)
    while len(words) < _VOCABULARY:
        syllables = rng.integers(2, 5)
        words[
            "".join(
                _CONSONANTS[rng.integers(len(_CONSONANTS))] + _VOWELS[rng.integers(len(_VOWELS))]
                for _ in range(syllables)
            )
        ] = None
    return list(words)


def _pages(subjects: NDArray[np.int64], rng: np.random.Generator, chance: random.Random) -> list[Page]:
    words = _vocabulary(rng)
    frequency = 1 / (np.arange(_VOCABULARY) + 2.7) ** 1.05
    steps = np.cumsum(frequency) / frequency.sum()
    own = rng.integers(150, _VOCABULARY, (SUBJECTS, _SUBJECT_WORDS))
    pages = []
    for subject in subjects.tolist():
        count = int(np.clip(rng.lognormal(np.log(_MEDIAN_WORDS), 0.5), 10, 200))
        chosen = np.searchsorted(steps, rng.random(count)).clip(0, _VOCABULARY - 1)
        about = rng.random(count) < 0.2
        chosen[about] = own[subject, (_SUBJECT_WORDS * rng.random(about.sum()) ** 2).astype(int)]
        text = [words[number] for number in chosen.tolist()]
        title = " ".join(words[number] for number in chance.sample(own[subject].tolist(), 4))
        pages.append(Page(title, " ".join(chance.sample(text, 3)), " ".join(text), subject))
    return pages


def _question(page: Page, chance: random.Random) -> str:
    """Three to twelve words, about half of them from the page and the others stop words."""
    count = chance.randint(3, 12)
    telling = [word for word in dict.fromkeys(f"{page.title} {page.text}".split()) if word not in _STOP_WORDS]
    chosen = chance.sample(telling, min(max(2, count - count * 9 // 20), len(telling)))
    return " ".join(chosen + chance.sample(_STOP_WORDS, count * 9 // 20))
