"""Propose in the notes what students asked and the notes did not answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...asked.groups import count_askers
from ...asked.requests import edit_request
from ...asked.turns import RecordedTurn
from ...errors import LmmError
from ...logging import LoggerBase, in_file
from ...markdown.blocks import Block, serialize_blocks
from ...markdown.files import MarkdownFile, is_notebook, write_markdown
from ...retrieve.library import Library
from ...scan.proposals import ProposedEdit, ProposedQuestions, propose
from ...settings.project import Project
from ..passes import work_on
from .dashboard import FEWEST
from .decisions import Decider, Decision, Kin, Undecided, join, name_of
from .groups import group_questions
from .nearest import Places
from .subjects import SubjectFinder


@dataclass
class Proposals:
    """What is proposed for some groups of questions.

    groups: how many there are; decisions: to be written; undecided: groups about which nothing can be; before: how
    many were proposed before; small: how many were asked too rarely."""

    groups: int = 0
    decisions: list[Decision] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    before: int = 0
    small: int = 0


async def decide_failures(
    library: Library,
    turns: Sequence[RecordedTurn],
    proposed: frozenset[str],
    warn: Callable[[str], None],
    fewest: int = FEWEST,
    numbers: Sequence[int] = (),
) -> Proposals:
    """Return what is to be done about the questions that the notes did not answer, in groups as the dashboard has them.

    proposed: the ids of turns that were in a proposal before; a group is left alone unless more conversations asked
    it since than had asked it then. fewest: conversations of a group; numbers: of the only groups to look at, from 1.
    Raise StoreError, ModelError and RetrieveError."""
    material, lexical = await library.material(), await library.lexical()
    failures, every = await group_questions(library, turns, warn)
    decider = Decider(library, material, lexical, SubjectFinder(lexical, turns), Kin(every))
    found = Proposals(groups=len(failures))
    for number, group in enumerate(failures, 1):
        if (number not in numbers) if numbers else group.size < fewest:
            found.small += not numbers
            continue
        decided = await decider.decide(number, group)
        if isinstance(decided, Undecided):
            found.undecided.append(decided)
        else:
            found.decisions.append(decided)
    joined = join(found.decisions)
    found.decisions = [one for one in joined if not _was_proposed(one, proposed)]
    found.before = len(joined) - len(found.decisions)
    return found


def _was_proposed(one: Decision, proposed: frozenset[str]) -> bool:
    old = [turn for turn in one.turns if turn.id in proposed]
    new = [turn for turn in one.turns if turn.id not in proposed]
    return bool(old) and count_askers(new) <= count_askers(old)


@dataclass(frozen=True)
class FileProposals:
    """What is proposed in a file: its texts before and after, and the decisions that are in it, new or before."""

    file: MarkdownFile
    after: str
    decisions: tuple[Decision, ...]

    def save(self) -> None:
        """Write the file. Raise OSError and MarkdownError, a ChangedError if it has changed meanwhile."""
        if self.after != self.file.text:
            write_markdown(self.file.path, self.after, self.file)


async def propose_in_files(project: Project, decisions: Sequence[Decision], logger: LoggerBase) -> list[FileProposals]:
    """Return what becomes of the files in which something is proposed; nothing is written.

    What cannot be proposed is reported. Raise nothing for a single file."""
    sources = dict.fromkeys(one.section.source for one in decisions)
    made = []
    for source in sources:
        own = [one for one in decisions if one.section.source == source]
        try:
            made.append(await _propose_in(project, _from_here(project.root / source), own, logger))
        except OSError as error:
            logger.error(f"{error.filename or project.root / source}: {error.strerror or error}")
        except LmmError as error:
            logger.error(str(error))
    return [one for one in made if one is not None]


def _from_here(path: Path) -> Path:
    """Return a file as the person names it: from the working folder, if it is in there."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


async def _propose_in(
    project: Project, path: Path, decisions: Sequence[Decision], logger: LoggerBase
) -> FileProposals | None:
    located, places = in_file(logger, path), Places(project.root)
    if is_notebook(path):
        located.warning(f"nothing proposed, since notebooks are never written to: {decisions[0].name}")
        return None
    edits = [_edit(one, places) for one in decisions if one.kind != "questions"]
    questions = [ProposedQuestions(places.line(one.section), one.asked) for one in decisions if one.kind == "questions"]

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        return propose(blocks, edits, questions, project.spelling, logger)

    file, blocks = await work_on(path, work, logger)
    return FileProposals(file, serialize_blocks(blocks), tuple(decisions))


def _edit(one: Decision, places: Places) -> ProposedEdit:
    is_new = one.kind == "section"
    near = [name_of(section) for section in one.neighbours]
    request = edit_request(one.asked, one.conversations, one.subject.unknown, near, is_new)
    return ProposedEdit(None if is_new else places.line(one.section), request, one.asked)
