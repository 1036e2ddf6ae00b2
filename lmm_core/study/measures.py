"""Measures of retrieval, by questions whose sections are known.

hit@k and the mean reciprocal rank (MRR) are those of Voorhees, "The TREC-8 question
answering track report", 1999: a question's rank is that of the first hit that lies in its
section or below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain

from ..errors import QuestionsError, RetrieveError
from ..retrieve.context import CitedSource
from ..retrieve.passages import Key, Material, Passage, Section
from ..retrieve.retriever import HITS

DEPTH = HITS  # hits of a question that are judged
FOUND = 5  # a section among so many hits counts as found
ANNOTATED, STUDENTS = "annotated", "students"  # origins of questions
NEAR = 5  # sections named in a message at most


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with the section that answers it. place: `file:line` of a student's, in the file of questions."""

    question: str
    section: Section
    origin: str = ANNOTATED
    place: str = ""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question in a file of questions.

    section: how the file names the section, or ""; place: `file:line` of the question."""

    question: str
    section: str
    place: str


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question.

    rank: that of its section, from 1, or None if it is not among the first `DEPTH` hits;
    first: the best hit, or None if there was none; is_shown: some of the section is in the context
    that a model is shown; is_refused: without a model, there is no answer."""

    labelled: Labelled
    rank: int | None
    first: Passage | None
    is_shown: bool = False
    is_refused: bool = False

    @property
    def is_missed(self) -> bool:
        """True if the section is not among the first hits."""
        return self.rank is None or self.rank > FOUND


# Questions


def annotated_questions(material: Material) -> list[Labelled]:
    """Return the questions that sections are annotated with, in document order."""
    return [Labelled(question, section) for section in material.walk() for question in section.questions]


def label_questions(asked: Sequence[LabelledQuestion], material: Material) -> list[Labelled]:
    """Return the questions for which a file names sections, with these sections.

    Raise QuestionsError for sections that are unknown or ambiguous; it has a line for each."""
    labelled, problems = [], []
    for one in asked:
        try:
            if one.section:
                labelled.append(Labelled(one.question, find_section(material, one.section), STUDENTS, one.place))
        except RetrieveError as error:
            problems.append(f"{one.place}: {error}")
    if problems:
        raise QuestionsError("\n".join(problems))
    return labelled


def find_section(material: Material, name: str) -> Section:
    """Return the section of a name.

    name: `#anchor`, `file#anchor`, a title, the end of a path of titles (`Spread > The
    variance`), or a file. Raise RetrieveError, which names similar sections."""
    found = _with_anchor(material, name) or _with_titles(material, name) or _in_file(material.documents, name)
    found = _outermost(found)  # a document may have its title from its only heading
    if len(found) == 1:
        return found[0]
    if found:
        raise RetrieveError(f"{name!r} may be any of {_listed(found)}: write the one that is meant")
    near = _near(material, name)
    advice = f"similar: {_listed(near)}" if near else "run `lmm scan FILE` to see the sections"
    raise RetrieveError(f"there is no section {name!r}; {advice}")


def section_address(section: Section | CitedSource) -> str:
    """Return the address of a section, or of a source's: `file#anchor`, or the file of a document."""
    return f"{section.source}#{section.anchor}" if section.anchor else section.source


def _with_anchor(material: Material, name: str) -> list[Section]:
    file, mark, anchor = name.partition("#")
    found = [section for section in material.walk() if mark and section.anchor == anchor != ""]
    return _in_file(found, file) if file else found


def _with_titles(material: Material, name: str) -> list[Section]:
    wanted = [_folded(title) for title in name.split(" > ")]
    return [one for one in material.walk() if [_folded(title) for title in one.titles][-len(wanted) :] == wanted]


def _in_file(sections: Sequence[Section], file: str) -> list[Section]:
    return [one for one in sections if one.source == file or one.source.endswith(f"/{file}")]


def _outermost(sections: Sequence[Section]) -> list[Section]:
    keys = {one.key for one in sections}
    return [one for one in sections if one.parent is None or one.parent.key not in keys]


def _near(material: Material, name: str) -> list[Section]:
    """Return the sections whose title or anchor contains a name or is similar to it."""
    names: dict[str, list[Section]] = {}
    for section in material.walk():
        for known in {_folded(section.title), _folded(section.anchor), _folded(" > ".join(section.titles))}:
            names.setdefault(known, []).append(section)
    wanted = _folded(name.rpartition("#")[2])
    close = [*(known for known in names if wanted in known), *get_close_matches(wanted, names, NEAR, 0.5)]
    found = chain.from_iterable(names[known] for known in close)
    return list({section.key: section for section in found}.values())


def _listed(sections: Sequence[Section]) -> str:
    shown = [f"{section_address(one)} ({' > '.join(one.titles)})" for one in sections[:NEAR]]
    return ", ".join(shown) + (", …" if len(sections) > NEAR else "")


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


# Ranks and measures


def judge(
    labelled: Labelled, hits: Sequence[Passage], shown: Collection[Key] = (), is_refused: bool = False
) -> QuestionResult:
    """Return the result of a question, given its hits with the best first, and the sections that are shown."""
    right = {section.key for section in labelled.section.walk()}
    first = hits[0] if hits else None
    return QuestionResult(labelled, rank_of(right, hits[:DEPTH]), first, not right.isdisjoint(shown), is_refused)


def rank_of(right: set[Key], hits: Sequence[Passage]) -> int | None:
    """Return the rank, from 1, of the first hit in one of these sections, or None."""
    return next((rank for rank, hit in enumerate(hits, 1) if hit.key in right), None)


def hit_at(outcomes: Sequence[QuestionResult], k: int) -> float:
    """Return the share of questions (0 to 1) whose section is among the first k hits."""
    return sum(one.rank is not None and one.rank <= k for one in outcomes) / max(len(outcomes), 1)


def mean_reciprocal_rank(outcomes: Sequence[QuestionResult]) -> float:
    """Return the mean of 1/rank (0 to 1); a section that is not found counts 0."""
    return sum(1 / one.rank for one in outcomes if one.rank is not None) / max(len(outcomes), 1)


def share_shown(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) whose section is in the context that a model is shown."""
    return sum(one.is_shown for one in outcomes) / max(len(outcomes), 1)


def share_refused(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) that get no answer without a model. All have one in the notes."""
    return sum(one.is_refused for one in outcomes) / max(len(outcomes), 1)


def by_section(outcomes: Sequence[QuestionResult]) -> list[tuple[Section, list[QuestionResult]]]:
    """Return the results grouped by the section looked for, the hardest sections first.

    Sections are ordered by MRR, then by the order of the questions. Within a section, the worst
    question comes first."""
    groups: dict[Key, list[QuestionResult]] = {}
    for one in outcomes:
        groups.setdefault(one.labelled.section.key, []).append(one)
    for group in groups.values():
        group.sort(key=lambda one: one.rank or DEPTH + 1)
        group.reverse()
    return [(group[0].labelled.section, group) for group in sorted(groups.values(), key=mean_reciprocal_rank)]
