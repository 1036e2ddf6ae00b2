"""Open, create and recover LLMD documents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ..errors import LlmdError
from ..files.outputs import is_same_file
from ..logging import LoggerBase
from ..markdown.blocks import Problem
from ..markdown.files import ROOT_MARKS, MarkdownFile, project_root, read_markdown, write_markdown
from .changes import ChangePlan, FileChange, plan
from .document import Llmd, ThreadEntry, as_shown, parse_llmd
from .editing import append_entry, make_llmd, remove_file, set_file
from .files import Files, as_data
from .journal import Applied, Journal, JournalChange, journal_change
from .reply import parse_reply


@dataclass(frozen=True)
class OpenedDocument:
    """A document and its project. root: the folder that its paths are relative to."""

    file: MarkdownFile
    llmd: Llmd
    root: Path

    @property
    def path(self) -> Path:
        return self.file.path.resolve()

    @property
    def name(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    def files(self, allow: Sequence[str] = ()) -> Files:
        """Return the files that the model may read and change. allow: see `Files`."""
        return Files(self.root, self.path, self.llmd.files, allow)


def root_of(path: Path) -> Path:
    """Return the root of a document's project, or the document's folder without one."""
    root = project_root(path)
    marked = any((root / mark).exists() for marks in ROOT_MARKS for mark in marks)
    return root if marked else path.resolve().parent


def open_document(path: Path, logger: LoggerBase) -> OpenedDocument:
    """Read a document, after rolling back the changes of a killed run. Raise OSError and MarkdownError."""
    root = root_of(path)
    recover(root, logger)
    file = read_markdown(path)
    return OpenedDocument(file, parse_llmd(file.text), root)


def recover(root: Path, logger: LoggerBase) -> None:
    """Roll back changes that a killed run left half-applied, and report it. Raise LlmdError and OSError."""
    journal = Journal(root)
    if journal.open.exists():
        with journal.lock():
            if message := journal.recover():
                logger.warning(message)


# Create


def new_document(path: Path, name: str, code: Sequence[Path], logger: LoggerBase) -> int:
    """Write a document with guidance, files and an empty entry; return the number of files.

    Files that cannot be included are reported. Raise LlmdError for an invalid name, and OSError."""
    root = root_of(path)
    llmd = make_llmd(name)
    files = Files(root, path.resolve(), (), ("*",))
    for file in code:
        try:
            llmd = _with_file(llmd, files, file, root)
        except LlmdError as error:
            logger.warning(f"left out: {error}")
    write_markdown(path, append_entry(llmd).text)
    return len(llmd.files)


def _with_file(llmd: Llmd, files: Files, file: Path, root: Path) -> Llmd:
    place = file.parent.resolve() / file.name
    if not place.is_relative_to(root):
        raise LlmdError(f"{file}: the file is not in the project ({root})")
    path = place.relative_to(root).as_posix()
    text = files.read(path)
    if text is None:
        raise LlmdError(f"{file}: the file is missing")
    return set_file(llmd, path, text)


# Apply


@dataclass(frozen=True)
class Proposal:
    """The changes proposed by a document's last reply. They cannot be applied if `plan` has problems."""

    opened: OpenedDocument
    entry: ThreadEntry
    plan: ChangePlan
    files: Files

    @property
    def empty(self) -> bool:
        return not self.plan.changes and self.plan.document.text == self.opened.llmd.text

    def apply(self) -> None:
        """Change files and document, all or none. Raise LlmdError and OSError."""
        opened = self.opened
        changes = [self._journal_change(planned) for planned in self.plan.changes]
        for change, other in combinations(changes, 2):
            if change.path == other.path or is_same_file(opened.root / change.path, opened.root / other.path):
                raise LlmdError(f"{change.path}: the reply names this file by two paths, so nothing was applied")
        journal = Journal(opened.root)
        document = journal_change(opened.root, opened.path, opened.file.data, self.plan.document.text.encode("utf-8"))
        with journal.lock():
            journal.apply([*changes, document], opened.name, self.entry.number, fingerprint(self.entry))

    def _journal_change(self, change: FileChange) -> JournalChange:
        old, new = (None if text is None else as_data(change.path, text) for text in (change.old, change.new))
        return journal_change(self.opened.root, self.files.locate(change.path), old, new)


def propose(opened: OpenedDocument, allow: Sequence[str] = ()) -> Proposal | None:
    """Return the changes proposed by the last reply, or None if there is no reply. allow: see `Files`."""
    entry = next((entry for entry in reversed(opened.llmd.entries) if entry.assistant is not None), None)
    if entry is None or entry.assistant is None:
        return None
    reply, files = parse_reply(entry.assistant, entry.human, entry.reply_line), opened.files(allow)
    return Proposal(opened, entry, plan(opened.llmd, files.read, reply), files)


def is_applied(proposal: Proposal) -> bool:
    """Return True if this reply was applied and not undone."""
    last = Journal(proposal.opened.root).last(proposal.opened.name)
    return last is not None and (last.entry, last.reply) == (proposal.entry.number, fingerprint(proposal.entry))


def fingerprint(entry: ThreadEntry) -> str:
    """Return the hash of an entry's reply."""
    return hashlib.sha256((entry.assistant or "").encode("utf-8", "surrogatepass")).hexdigest()


# Check, sync, undo


def check(opened: OpenedDocument) -> list[Problem]:
    """Return a document's problems, including differences between code context and files."""
    problems = list(opened.llmd.problems)
    for path, file in opened.llmd.files.items():
        try:
            text = opened.files().read(path)
        except LlmdError as error:
            problems.append(Problem(file.line, str(error)))
            continue
        if text is None:
            problems.append(Problem(file.line, f"{path}: the file is missing"))
        elif as_shown(text) != file.content:
            problems.append(Problem(file.line, f"{path}: the code context differs from the file: run `lmm llmd sync`"))
    return sorted(problems, key=lambda problem: problem.line)


def sync(opened: OpenedDocument, logger: LoggerBase) -> Llmd:
    """Return the document with its code context as on disk, and report missing files (removed) and unreadable ones."""
    synced = opened.llmd
    for path, file in opened.llmd.files.items():
        try:
            text = opened.files().read(path)
            if text is None:
                logger.warning(f"{path}: the file is missing, and was taken out of the code context", file.line)
                synced = remove_file(synced, path)
            elif as_shown(text) != file.content:
                synced = set_file(synced, path, text)
        except LlmdError as error:
            logger.error(str(error), file.line)
    return synced


def last_applied(path: Path, logger: LoggerBase) -> tuple[Journal, Applied | None]:
    """Return the journal of a document's project, and its last changes, or None. Raise LlmdError, OSError."""
    root = root_of(path)
    recover(root, logger)
    journal = Journal(root)
    return journal, journal.last(path.resolve().relative_to(root).as_posix())
