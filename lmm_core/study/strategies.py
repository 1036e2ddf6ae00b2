"""Searches for a course's questions by several strategies, which show what each part of the ranking gains.

A question that the notes are annotated with would find itself. So it is left out while it is asked,
wherever it stands; the other questions of its section stay, as they do when a student asks. The
first questions of all sections are asked together, then the second ones, and so on.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from ..index.encoding import Compared
from ..retrieve.context import build_context
from ..retrieve.library import Library
from ..retrieve.passages import Key, Material, build_material
from ..retrieve.queries import MOST_CHARACTERS
from ..retrieve.quoting.choose import quote_notes
from ..retrieve.ranking.fusion import fuse
from ..retrieve.ranking.lexical import LexicalIndex
from ..retrieve.ranking.synonyms import Synonyms
from ..retrieve.retriever import HITS, Retrieval, Retriever
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, Where
from .measures import ANNOTATED, Labelled, QuestionResult, judge


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to search. name: for programs; title: for people.

    compared: what is compared; spans: rank spans in their surroundings, not chunks as the store finds
    them; names: know the names that mean the same; questions: those annotated help to find their sections."""

    name: str
    title: str
    compared: Compared
    spans: bool = True
    names: bool = True
    questions: bool = True


_BY_WORDS = (
    Strategy("chunks", "whole chunks", "words", spans=False, names=False, questions=False),
    Strategy("spans", "spans in their surroundings", "words", names=False, questions=False),
    Strategy("names", "+ names that mean the same", "words", questions=False),
    Strategy("questions", "+ other questions of the section", "words"),
)
_BY_BOTH = (
    Strategy("chunks", "whole chunks", "both", spans=False, names=False, questions=False),
    Strategy("words", "words alone", "words"),
    Strategy("meaning", "meaning alone", "meaning"),
    Strategy("both", "words and meaning", "both"),
)
_BY_MEANING = (
    Strategy("chunks", "whole chunks", "meaning", spans=False, names=False, questions=False),
    Strategy("meaning", "spans in their surroundings", "meaning"),
)


def strategies_for(compared: Compared, annotated: bool) -> tuple[Strategy, ...]:
    """Return the strategies for an index; the last one is that of `lmm ask`.

    compared: what a search in the index compares; annotated: whether sections have questions."""
    every = {"words": _BY_WORDS, "both": _BY_BOTH, "meaning": _BY_MEANING}[compared]
    return tuple(one for one in every if annotated or one.name != "questions")


@dataclass
class IndexedCourse:
    """An indexed course whose questions are searched for.

    points: all of the collection; budget: of the context in tokens; progress: told how many more searches
    are done."""

    library: Library
    points: Sequence[ScoredPoint]
    budget: int
    progress: Callable[[int], None] = lambda count: None

    async def measure(
        self, labelled: Sequence[Labelled], strategies: Sequence[Strategy]
    ) -> dict[str, list[QuestionResult]]:
        """Return the results of all questions, in their order, by the names of the strategies.

        Raise StoreError, ModelError and RetrieveError."""
        results: dict[str, dict[int, QuestionResult]] = {one.name: {} for one in strategies}
        async for lexical, asked, searched in self._turns(labelled, strategies):
            for strategy in searched:
                settled = lexical if strategy.names else _without_names(lexical)
                library = _SettledLibrary.of(self.library, settled, strategy.compared)
                for at in asked:
                    results[strategy.name][at] = await self._ask(library, labelled[at], strategy)
                    self.progress(1)
        return {name: [found[at] for at in range(len(labelled))] for name, found in results.items()}

    async def _turns(
        self, labelled: Sequence[Labelled], strategies: Sequence[Strategy]
    ) -> AsyncIterator[tuple[LexicalIndex, Sequence[int], list[Strategy]]]:
        """Yield in which words, for which questions (by their numbers) and how it is searched."""
        if without := [one for one in strategies if not one.questions]:
            yield await self.without_questions(), range(len(labelled)), without
        if with_questions := [one for one in strategies if one.questions]:
            for asked in turns(labelled):
                left_out = {labelled[at].question for at in asked if labelled[at].origin == ANNOTATED}
                yield await run_in_thread(self._index, left_out.__contains__), asked, with_questions

    async def without_questions(self) -> LexicalIndex:
        """Return the words of the course, without all questions that it is annotated with."""
        return await run_in_thread(self._index, lambda question: True)

    def _index(self, is_left_out: Callable[[str], bool]) -> LexicalIndex:
        material = build_material(self.points, self.library.order)
        for section in material.walk():
            section.questions = [one for one in section.questions if not is_left_out(one)]
        return LexicalIndex(material, material.language or self.library.language, self.library.synonyms)

    async def _ask(self, library: Library, labelled: Labelled, strategy: Strategy) -> QuestionResult:
        found = await Retriever(library).retrieve(labelled.question[:MOST_CHARACTERS])
        if not strategy.spans:
            found = await _with_chunks(found, library)
        return await run_in_thread(self._judge, labelled, found)

    def _judge(self, labelled: Labelled, found: Retrieval) -> QuestionResult:
        context = build_context(found, self.budget)
        shown = {found.material.passages[one].key for source in context.sources for one in source.ids}
        quoted = found.with_whole_passages()  # as an answer without a model is
        answer = quote_notes(quoted, build_context(quoted, self.budget))
        return judge(labelled, found.passages, shown, not answer.cited)


@dataclass
class _SettledLibrary(Library):
    """A library of which it is settled what is in it, and what a search compares."""

    words: LexicalIndex | None = None
    compared: Compared = "words"

    @classmethod
    def of(cls, library: Library, words: LexicalIndex, compared: Compared) -> _SettledLibrary:
        return cls(library.store, library.collection, library.encoder, words=words, compared=compared)

    @property
    def language(self) -> str:
        return self._words().language

    async def material(self) -> Material:
        return self._words().material

    async def lexical(self) -> LexicalIndex:
        return self._words()

    def compares(self) -> Compared:
        return self.compared

    def _words(self) -> LexicalIndex:
        assert self.words is not None
        return self.words


def turns(labelled: Sequence[Labelled]) -> list[list[int]]:
    """Return the numbers of the questions that are asked together: of each section, one annotated question.

    Questions of students need no turn of their own, and come first."""
    counts: Counter[Key] = Counter()
    made: dict[int, list[int]] = {}
    for at, one in enumerate(labelled):
        counts[one.section.key] += one.origin == ANNOTATED
        made.setdefault(counts[one.section.key] if one.origin == ANNOTATED else 0, []).append(at)
    return [made[turn] for turn in sorted(made)]


def _without_names(lexical: LexicalIndex) -> LexicalIndex:
    """Return a ranking by words that knows no names that mean the same."""
    made = copy.copy(lexical)
    made.synonyms = Synonyms((), made.stemmers.of(""), made.language, {})
    return made


async def _with_chunks(found: Retrieval, library: Library) -> Retrieval:
    """Return what the store finds for a question, in its order, in place of what was ranked."""
    where = Where({"type": found.kind}) if found.kind else None
    hits = await library.find([found.text], (), HITS, where, found.kind)
    passages = fuse([*hits.words, *hits.meaning], found.material)
    return replace(found, passages=tuple(passages)).with_whole_passages()
