"""Apply a reply's changes to files and document; check, sync and undo."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from ..errors import LlmdError
from ..logging import LoggerBase
from ..markdown.blocks import Problem
from .changes import ChangePlan, plan
from .document import Llmd, ThreadEntry, as_shown
from .editing import remove_file, set_file
from .files import as_data, is_same_file
from .journal import Applied, Journal, JournalChange, change
from .opening import OpenedDocument, recover, root_of
from .reply import ParsedReply, parse_reply


@dataclass(frozen=True)
class Proposal:
    """The changes proposed by a document's last reply.

    problems, warnings: with lines of the document; problems prevent applying"""

    opened: OpenedDocument
    entry: ThreadEntry
    plan: ChangePlan
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    allow: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Return True if the reply changes nothing."""
        return not self.problems and self.plan.document.text == self.opened.llmd.text and not self.plan.changes

    def apply(self) -> None:
        """Change files and document, all or none. Raise LlmdError and OSError."""
        opened = self.opened
        changes = [_change(opened, one.path, one.old, one.new, self.allow) for one in self.plan.changes]
        for one, other in combinations(changes, 2):
            if one.path == other.path or is_same_file(opened.root / one.path, opened.root / other.path):
                raise LlmdError(f"{one.path}: this file is named by two paths; nothing was applied")
        journal = Journal(opened.root)
        document = change(opened.root, opened.path, opened.file.data, self.plan.document.text.encode("utf-8"))
        with journal.lock():
            journal.apply([*changes, document], opened.name, self.entry.number, fingerprint(self.entry))


def propose(opened: OpenedDocument, allow: Sequence[str] = ()) -> Proposal | None:
    """Return the last reply's changes, or None without a reply. allow: see `Files`."""
    entry = next((one for one in reversed(opened.llmd.entries) if one.assistant is not None), None)
    if entry is None or entry.assistant is None:
        return None
    reply = _with_known_paths(parse_reply(entry.assistant, entry.human), opened.llmd.files)
    texts, refused = _read_files(opened, reply, allow)
    planned = plan(opened.llmd, texts, reply)
    problems = refused or planned.problems
    first = entry.reply_line
    return Proposal(
        opened, entry, planned, _moved(problems, first), _moved(planned.warnings, first), tuple(allow)
    )  # fmt: skip


def is_applied(proposal: Proposal) -> bool:
    """Return True if this reply was applied and not undone."""
    last = Journal(proposal.opened.root).last(proposal.opened.name)
    return last is not None and (last.entry, last.reply) == (proposal.entry.number, fingerprint(proposal.entry))


def fingerprint(entry: ThreadEntry) -> str:
    """Return the hash of an entry's reply."""
    return hashlib.sha256((entry.assistant or "").encode("utf-8", "surrogatepass")).hexdigest()


def _with_known_paths(reply: ParsedReply, known: Collection[str]) -> ParsedReply:
    """Return the reply with paths spelled as in the code context.

    `é` may be two characters in a file's name, while models write one."""
    spelled = {unicodedata.normalize("NFC", path): path for path in known}
    paths = [
        path if path in known else spelled.get(unicodedata.normalize("NFC", path), path)
        for path in (file.path for file in reply.files)
    ]
    files = (replace(file, path=path) for file, path in zip(reply.files, paths, strict=True))
    return replace(reply, files=tuple(files))


def _read_files(
    opened: OpenedDocument, reply: ParsedReply, allow: Sequence[str]
) -> tuple[dict[str, str], list[Problem]]:
    texts: dict[str, str] = {}
    refused: list[Problem] = []
    for path in reply.paths:
        line = next(one.line for one in reply.files if one.path == path)
        try:
            text = opened.files(allow).read(path)
        except LlmdError as error:
            refused.append(Problem(line, str(error)))
            continue
        if text is not None:
            texts[path] = text
    return texts, refused


def _moved(problems: Sequence[Problem], first: int) -> tuple[Problem, ...]:
    return tuple(Problem(problem.line + first - 1, problem.message) for problem in problems)


def _change(opened: OpenedDocument, path: str, old: str | None, new: str | None, allow: Sequence[str]) -> JournalChange:
    before, after = (None if text is None else as_data(path, text) for text in (old, new))
    return change(opened.root, opened.files(allow).locate(path), before, after)


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
            problems.append(Problem(file.line, f"{path}: there is no such file"))
        elif as_shown(text) != file.content:
            problems.append(
                Problem(file.line, f"{path}: the code context differs from the file; `lmm llmd sync` refreshes it")
            )
    return sorted(problems, key=lambda problem: problem.line)


def sync(opened: OpenedDocument, logger: LoggerBase) -> Llmd:
    """Return the document with current files, without missing ones; unreadable ones are reported and kept."""
    synced = opened.llmd
    for path, file in opened.llmd.files.items():
        try:
            text = opened.files().read(path)
            if text is None:
                logger.warning(f"{path}: there is no such file; it was taken out of the code context", file.line)
                synced = remove_file(synced, path)
            elif as_shown(text) != file.content:
                synced = set_file(synced, path, text)
        except LlmdError as error:
            logger.error(str(error), file.line)
    return synced


def applied_last(path: Path, logger: LoggerBase) -> tuple[Path, Applied | None]:
    """Return a document's root and the last changes applied to it, or None. Raise LlmdError and OSError."""
    root = root_of(path)
    recover(root, logger)
    document = path.resolve().relative_to(root).as_posix()
    return root, Journal(root).last(document)


def undo(root: Path, applied: Applied) -> None:
    """Restore the files. Raise OSError, and LlmdError if a file changed since."""
    journal = Journal(root)
    with journal.lock():
        journal.undo(applied)
