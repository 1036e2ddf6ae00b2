"""Propose changes to the notes for questions that they did not answer.

Students' text enters a request as data: each question on one line, between tags that it cannot close."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...errors import LmmError
from ...indexing.chunks import anchor_of
from ...indexing.passages import Key, Material, Section
from ...logging import LoggerBase, counted, in_file, one_line, printable, report_failure
from ...markdown.blocks import Block, serialize_blocks
from ...markdown.files import MarkdownFile, is_notebook, write_markdown
from ...markdown.tree import blocks_to_tree, sections, titles_path
from ...models.languages.frequent import frequent_words
from ...models.languages.stemming import Stemmers
from ...models.languages.words import find_words, fold
from ...models.prompts import as_data
from ...retrieve.library import Library
from ...retrieve.ranking.words import asked_words
from ...retrieve.search import Retriever
from ...scan.documents.passes import work_on
from ...scan.proposals import ProposedEdit, ProposedQuestions, propose
from ...settings.project import Project
from .grouping import FEWEST, QuestionGroup, count_askers, group_turns, make_rows
from .recordings import RecordedTurn, Recordings, answering_section, is_failure

ANSWERED = 0.5  # share of answered questions from which the notes answer a group
SHARED = 1 / 3  # share of a group's questions from which a word belongs to its subject
SEARCHED = 20  # questions of a group that are searched for
NEIGHBOURS, QUESTIONS = 3, 3  # sections named in a request, questions proposed for a section
QUOTED, MOST_CHARACTERS, WORDS = 6, 200, 8  # questions in a request, characters of each, and words
OPENING, CLOSING = "<asked>", "</asked>"

ProposalKind = Literal["edit", "section", "questions"]  # change a section, write one, or annotate one


@dataclass(frozen=True)
class GroupProposal:
    """A proposal for a group of questions.

    group: from 1; turns: all of the group; asked: questions to quote, the most typical first
    section: to change or annotate, or the nearest to a new section; neighbours: about similar subjects
    unknown: words of the subject that the notes do not contain"""

    group: int
    kind: ProposalKind
    section: Section
    turns: tuple[RecordedTurn, ...]
    asked: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    neighbours: tuple[Section, ...] = ()

    @property
    def what(self) -> str:
        words = {"edit": "change", "section": "a new section, near", "questions": "questions for"}
        return f"{words[self.kind]} {name_of(self.section)}"


@dataclass
class Proposals:
    """Proposals for groups of questions.

    undecided: sentences that say why a group has no proposal
    before, small: numbers of groups with an earlier proposal, and of groups asked too rarely"""

    proposals: list[GroupProposal] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    before: int = 0
    small: int = 0


async def decide(library: Library, turns: Sequence[RecordedTurn], proposed: frozenset[str]) -> Proposals:
    """Return proposals for unanswered questions. Raise StoreError, ModelError and RetrieveError.

    proposed: ids of turns in earlier proposals; their group is skipped until its conversations more than double"""
    failures, every = await group_failures(library, turns)
    material = await library.material()
    words = CourseWords(material, library.language, library.synonyms)
    decider = _Decider(Retriever(library), words, material, _answering_sections(material, every))
    decisions = Proposals()
    for number, group in enumerate(failures, 1):
        if group.size < FEWEST:
            decisions.small += 1
            continue
        decided = await decider.decide(number, group.turns)
        if isinstance(decided, str):
            decisions.undecided.append(f"group {number}, nothing proposed: {quoted_line(group.name)}: {decided}")
        elif _was_proposed(decided, proposed):
            decisions.before += 1
        else:
            decisions.proposals.append(decided)
    return decisions


async def group_failures(
    library: Library, turns: Sequence[RecordedTurn]
) -> tuple[list[QuestionGroup], list[QuestionGroup]]:
    """Return the groups of failed turns, and of all turns, the largest first. Raise the errors of `make_rows`."""
    rows = await make_rows(library, turns)
    failed = [(turn, row) for turn, row in zip(turns, rows, strict=True) if is_failure(turn)]
    return group_turns([turn for turn, _ in failed], [row for _, row in failed]), group_turns(turns, rows)


def _answering_sections(material: Material, groups: Sequence[QuestionGroup]) -> dict[str, Section]:
    """Return, by id of the turn, the section that answered most questions of its group, if any."""
    addresses = {section.address: section for section in material.walk()}
    answering: dict[str, Section] = {}
    for group in groups:
        good = [turn for turn in group.turns if not is_failure(turn)]
        cited = Counter(address for address in map(answering_section, good) if address in addresses)
        if cited and len(good) >= ANSWERED * len(group.turns):
            best = addresses[cited.most_common(1)[0][0]]
            answering.update((turn.id, best) for turn in group.turns)
    return answering


def _was_proposed(proposal: GroupProposal, proposed: frozenset[str]) -> bool:
    old = [turn for turn in proposal.turns if turn.id in proposed]
    new = [turn for turn in proposal.turns if turn.id not in proposed]
    return bool(old) and count_askers(new) <= count_askers(old)


class CourseWords:
    """The stems of all words in a course's texts, titles and summaries, and of synonyms (as in config.toml)."""

    def __init__(self, material: Material, language: str, synonyms: Mapping[str, Iterable[str]] | None = None) -> None:
        self.language = language
        self._stemmers = Stemmers(language)
        self._stems: set[str] = set()
        for section in material.walk():
            stemmer = self._stemmers.of(section.language)
            for text in (section.title, section.summary, *(passage.text for passage in section.passages)):
                self._stems.update(stemmer.stems(text))
        names = [name for key, more in (synonyms or {}).items() for name in (key, *more)]
        self._stems.update(
            stem for name in names for word in find_words(name) for stem in self._stemmers.query_stems(word)
        )
        self._frequent = frozenset[str]().union(*map(frequent_words, material.languages))

    def asked(self, question: str) -> dict[str, str]:
        """Return the words that name a question's subject, by stem."""
        words = asked_words(question, self.language)
        return {min(self._stemmers.query_stems(word)): word for word in words if fold(word) not in self._frequent}

    def unknown(self, question: str) -> dict[str, str]:
        """Return the words of `asked` that the course has in no form."""
        asked = self.asked(question)
        return {stem: word for stem, word in asked.items() if self._stems.isdisjoint(self._stemmers.query_stems(word))}


@dataclass
class _Decider:
    """Decides what to propose for groups of unanswered questions. answering: see `_answering_sections`."""

    retriever: Retriever
    words: CourseWords
    material: Material
    answering: dict[str, Section]

    async def decide(self, number: int, turns: tuple[RecordedTurn, ...]) -> GroupProposal | str:
        """Return a proposal, or a sentence that says why there is none."""
        asked = quoted_questions(turns)
        questions = list(dict.fromkeys(turn.question for turn in turns))
        subject, unknown = self._subject(questions)
        if not subject or not asked:
            return "the questions have no subject in common"
        if section := self._answering(turns):
            return GroupProposal(number, "questions", section, turns, asked[:QUESTIONS])
        near = await self._nearest(questions[:SEARCHED])
        if not near:
            return "no section is about it: decide where it belongs"
        best = await self._nearest([" ".join(subject)])
        agreed = bool(best) and best[0].key == near[0].key
        disliked = sum(turn.outcome == "answered" for turn in turns) > len(turns) / 2
        if agreed and not unknown and not disliked:
            return GroupProposal(number, "questions", near[0], turns, asked[:QUESTIONS])
        kind: ProposalKind = "edit" if best and not unknown and _can_change(best[0]) else "section"
        place = best[0] if kind == "edit" else near[0]
        return GroupProposal(number, kind, place, turns, asked, tuple(unknown), tuple(near[:NEIGHBOURS]))

    def _subject(self, questions: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the words that many questions share, and among these the words that the notes do not contain."""
        words = [self.words.asked(question) for question in questions]
        counts = Counter(stem for own in words for stem in own)
        shared = [stem for stem, count in counts.most_common() if count >= SHARED * len(questions)]
        forms = {stem: word for own in words for stem, word in own.items()}
        unknown = {stem for question in questions for stem in self.words.unknown(question)}
        return [forms[stem] for stem in shared], [forms[stem] for stem in shared if stem in unknown]

    def _answering(self, turns: Sequence[RecordedTurn]) -> Section | None:
        keys = Counter(
            self.answering[turn.id].key for turn in turns if turn.id in self.answering and turn.outcome != "answered"
        )
        key, count = keys.most_common(1)[0] if keys else (("", ""), 0)
        return self.material.sections[key] if count > len(turns) / 2 else None

    async def _nearest(self, questions: Sequence[str]) -> list[Section]:
        votes: defaultdict[Key, float] = defaultdict(float)
        documents: defaultdict[str, float] = defaultdict(float)
        for question in questions:
            ranked = (await self.retriever.retrieve(question)).sections
            for hit in ranked:
                share = hit.score / (ranked[0].score or 1.0)
                votes[hit.section.key] += share
                documents[hit.section.docid] = max(documents[hit.section.docid], share)
        order = sorted(votes, key=lambda key: (-documents[key[0]], -votes[key], key))
        return [self.material.sections[key] for key in order if votes[key] > 0]


def _can_change(section: Section) -> bool:
    around = section.parent
    return around is not None and not (around.parent is None and len(around.children) == 1 and section.children)


def name_of(section: Section) -> str:
    """Return a section's title and address."""
    return f"“{section.title}” ({section.address})"


# The request


def quoted_questions(turns: Iterable[RecordedTurn]) -> tuple[str, ...]:
    """Return the first distinct questions, each on one line."""
    quoted: dict[str, str] = {}
    for turn in turns:
        question = quoted_line(turn.question)
        if question and len(quoted) < QUOTED:
            quoted.setdefault(question.casefold().strip(" ?!."), question)
    return tuple(quoted.values())


def quoted_line(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return the beginning of a student's text, on one line and without control characters."""
    return one_line(" ".join(printable(text).split()), most)


def edit_request(
    asked: Sequence[str], conversations: int, unknown: Sequence[str], near: Sequence[str], is_new: bool
) -> str:
    """Return a request for an edit, for the model that will answer it.

    conversations: in which `asked` were asked; unknown: students' words that the notes do not contain
    near: names of sections about similar subjects; is_new: request a new section"""
    lines = [f"In {counted(conversations, 'conversation')} students asked what these notes do not answer. They typed:"]
    lines += [OPENING, *map(as_data, asked), CLOSING]
    if unknown:
        words = ", ".join(as_data(quoted_line(word)) for word in unknown[:WORDS])
        lines.append(f"The notes never use these words of theirs: {OPENING}{words}{CLOSING}")
    if near:
        lines.append(f"Something near it is said in {' and '.join(near)}.")
    lines.append(
        "Write a section that answers them, with a heading like those of the other sections."
        if is_new
        else "Say what answers them where it fits into this section, and change nothing else."
    )
    return "\n".join(lines)


# The files


@dataclass(frozen=True)
class FileProposals:
    """A file's text before and after its proposals."""

    file: MarkdownFile
    after: str
    proposals: tuple[GroupProposal, ...]


async def propose_in_files(
    project: Project, proposals: Sequence[GroupProposal], logger: LoggerBase, recordings: Recordings | None
) -> list[FileProposals]:
    """Write proposals into their files, and log failures. Return the files that could be changed.

    recordings: note what was proposed; None to write nothing"""
    written = []
    for source in dict.fromkeys(proposal.section.source for proposal in proposals):
        own = tuple(proposal for proposal in proposals if proposal.section.source == source)
        path = project.root / source
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        if is_notebook(path):
            warning = f"nothing proposed, since notebooks are never written to: {own[0].asked[0]}"
            in_file(logger, path).warning(warning)
            continue
        try:
            changed = await _propose_in(project, path, own, logger)
            if recordings is not None:
                if changed.after != changed.file.text:
                    write_markdown(changed.file.path, changed.after, changed.file)
                recordings.mark_proposed(turn.id for proposal in own for turn in proposal.turns)
            written.append(changed)
        except OSError as error:
            logger.error(f"{path}: {error.strerror or error}")
        except LmmError as error:
            report_failure(error, logger)
    return written


async def _propose_in(
    project: Project, path: Path, proposals: tuple[GroupProposal, ...], logger: LoggerBase
) -> FileProposals:
    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        edits, questions = list[ProposedEdit](), list[ProposedQuestions]()
        for proposal in proposals:
            line = _line_of(proposal.section, blocks)
            if proposal.kind == "questions":
                questions.append(ProposedQuestions(line, proposal.asked))
            else:
                edits.append(_edit(proposal, line))
        return propose(blocks, edits, questions, project.spelling, logger)

    file, blocks = await work_on(path, work, logger)
    return FileProposals(file, serialize_blocks(blocks), proposals)


def _edit(proposal: GroupProposal, line: int) -> ProposedEdit:
    is_new = proposal.kind == "section"
    near = [name_of(section) for section in proposal.neighbours]
    request = edit_request(proposal.asked, count_askers(proposal.turns), proposal.unknown, near, is_new)
    return ProposedEdit(None if is_new else line, request, proposal.asked)


def _line_of(section: Section, blocks: Sequence[Block]) -> int:
    """Return the line of a section's heading now or, if it is gone, when it was indexed."""
    tree = blocks_to_tree(blocks)
    if not section.path or tree is None:
        return 1
    identifiers = Counter[str]()
    headings = [
        (anchor_of(node.heading, identifiers), tuple(titles_path(node)), node.line)
        for node in sections(tree)
        if node.heading is not None
    ]
    named = [line for anchor, _, line in headings if anchor == section.anchor != ""]
    titled = [line for _, path_of_titles, line in headings if path_of_titles == section.titles]
    return (named or titled or [section.line_start])[0]
