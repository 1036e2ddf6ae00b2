"""Work on LLMD documents and the files that they are about: new, chat, apply, check, sync,
undo. Nothing that a document or a model says is ever run."""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path

from ...errors import ChangedError, LlmdError, ModelError
from ...files.gitignore import is_ignored
from ...llmd import (
    ChangePlan,
    Llmd,
    ParsedReply,
    ThreadEntry,
    append_entry,
    append_reply,
    as_shown,
    make_llmd,
    parse_llmd,
    parse_reply,
    plan,
    remove_file,
    set_file,
    unanswered,
)
from ...llmd.files import Files, as_data, read_whole
from ...llmd.journal import Applied, FileChange, Journal, change
from ...logging import LoggerBase
from ...markdown.blocks import BOM, Problem
from ...markdown.files import ROOT_MARKS, MarkdownFile, load_markdown, project_root, save_markdown
from ...models.chat import ChatMessage, Request
from ...models.prompts import LLMD, LLMD_ABOUT, LLMD_INSTRUCTIONS, LLMD_TOOLS
from ...scan.chat import REPLY_TOKENS, Screen, say
from ...settings.project import load_project
from ..models import Models
from ..talk import keep_unmerged

_ATTEMPTS = 5


@dataclass(frozen=True)
class OpenedDocument:
    """A document as it was read, what it says, and the folder that its paths start from."""

    file: MarkdownFile
    llmd: Llmd
    root: Path

    @property
    def path(self) -> Path:
        """Where the document is, links followed."""
        return self.file.path.resolve()

    @property
    def name(self) -> str:
        """Its path from the root."""
        return self.path.relative_to(self.root).as_posix()

    def files(self, allow: Sequence[str] = ()) -> Files:
        """The files that may be touched."""
        return Files(self.root, self.llmd.files, partial(is_ignored, self.root), allow)

    def locate(self, path: str, allow: Sequence[str] = ()) -> Path:
        """See `Files.locate`; the document itself is none of its files."""
        place = self.files(allow).locate(path)
        if place == self.path or _is_same(place, self.path):
            raise LlmdError(f"{path}: the document itself, which is no file of its code context")
        return place

    def read(self, path: str, allow: Sequence[str] = ()) -> str | None:
        """The text of a file, None where there is none. Raises LlmdError."""
        return read_whole(path, self.locate(path, allow))


def _is_same(place: Path, other: Path) -> bool:
    """Whether two paths are one file: by a hard link, or where case makes no difference."""
    try:
        return place.samefile(other)
    except FileNotFoundError:
        return False


def root_of(path: Path) -> Path:
    """The project's root (see `project_root`); where nothing marks one, the document's folder,
    wherever one works: the same document always has the same root."""
    root = project_root(path)
    marked = any((root / mark).exists() for marks in ROOT_MARKS for mark in marks)
    return root if marked else path.resolve().parent


def open_document(path: Path, logger: LoggerBase) -> OpenedDocument:
    """Read a document, after what a run that was killed has left has been finished. Raises
    OSError and MarkdownError."""
    root = root_of(path)
    recover(root, logger)
    file = load_markdown(path)
    return OpenedDocument(file, parse_llmd(file.text), root)


def recover(root: Path, logger: LoggerBase) -> None:
    """Finish what a run that was killed has left. Raises LlmdError and OSError."""
    journal = Journal(root)
    if journal.unfinished:
        with _locked(journal):
            for said in journal.recover():
                logger.warning(said)


@contextlib.contextmanager
def _locked(journal: Journal) -> Iterator[None]:
    """The journal for one process at a time. Raises LlmdError where another has it."""
    from ...errors import StoreError
    from ...store.folder_lock import FolderLock

    journal.prepare()
    lock = FolderLock(journal.folder)
    try:
        lock.take()
    except StoreError:
        raise LlmdError(f"{journal.root}: another run is changing files here: try again when it has ended") from None
    try:
        yield
    finally:
        lock.release()


# New


def new_document(path: Path, name: str, code: Sequence[Path], logger: LoggerBase) -> int:
    """Write a document with the guidance that the format asks for, some files, and a first entry
    to write in. A file that cannot be shown is reported and left out. Returns how many are
    shown. Raises LlmdError where there is something already, and OSError."""
    if path.exists() or path.is_symlink():
        raise LlmdError(f"{path}: is there already; nothing was written")
    if not path.parent.is_dir():
        raise LlmdError(f"{path}: there is no folder {path.parent}; nothing was written")
    root = root_of(path)
    llmd = make_llmd(name, LLMD_ABOUT, LLMD_INSTRUCTIONS, LLMD_TOOLS)
    files = Files(root, (), partial(is_ignored, root), ("*",))
    for file in code:
        try:
            llmd = _with_file(llmd, files, file, root)
        except LlmdError as error:
            logger.warning(f"left out: {error}")
    save_markdown(path, append_entry(llmd).text)
    return len(llmd.files)


def _with_file(llmd: Llmd, files: Files, file: Path, root: Path) -> Llmd:
    place = file.parent.resolve() / file.name
    if not place.is_relative_to(root):
        raise LlmdError(f"{file}: not in the project ({root})")
    path = place.relative_to(root).as_posix()
    text = files.read(path)
    if text is None:
        raise LlmdError(f"{file}: no such file")
    return set_file(llmd, path, text)


# Chat


async def chat(path: Path, models: Models, logger: LoggerBase, screen: Screen | None = None) -> bool:
    """Answer the last entry that waits for a reply, and write the reply into the document as it
    is by then. Returns whether it was written. Raises OSError, MarkdownError and
    ConfigError."""
    opened = open_document(path, logger)
    entry = unanswered(opened.llmd)
    for problem in opened.llmd.problems:
        logger.warning(problem.message, problem.line)
    if entry is None:
        logger.info("no entry waits for an answer: write behind the last **Human:**")
        return False
    try:
        asker = models.asker(project := load_project(opened.path), "major")
        request, left_out = make_request(opened.llmd, entry, project.requests["major"].context_tokens)
        if left_out:
            logger.warning(
                f"too long for the model, which has not seen {_entries(left_out)} (context_tokens)", entry.line
            )
        reply = (await say(asker, request, entry.human, screen)).replace("\r\n", "\n").strip()
        if not reply:
            raise ModelError("the model said nothing")
    except ModelError as error:
        logger.error(f"entry {entry.number} not answered: {error}", entry.line)
        return False
    written = _save_reply(opened.file, entry, reply, logger)
    asker.forget(request)  # asked again, the model is to answer anew
    return written


def make_request(llmd: Llmd, entry: ThreadEntry, tokens: int) -> tuple[Request, list[ThreadEntry]]:
    """The request for the reply to an entry: the document and the conversation before it, with
    so many tokens at most. What is too long loses the oldest entries, which are returned.
    Raises ModelError where the rest is too long as well."""
    from ...models.tokens import count_tokens

    earlier = [one for one in llmd.entries[: llmd.entries.index(entry)] if one.human or one.assistant]
    sizes = [count_tokens(one.human + (one.assistant or "")) for one in earlier]
    room = max(tokens - REPLY_TOKENS, tokens // 2)
    room -= count_tokens(_request(llmd, [entry], []).text)
    if room < 0:
        raise ModelError(
            f"the document is {-room} tokens too long for the model without any of the conversation (context_tokens: "
            f"{tokens}): take files out of its code context"
        )
    first = next(at for at in range(len(sizes) + 1) if sum(sizes[at:]) <= room)
    return _request(llmd, [*earlier[first:], entry], earlier[:first]), earlier[:first]


def _request(llmd: Llmd, entries: Sequence[ThreadEntry], left_out: Sequence[ThreadEntry]) -> Request:
    spoken = [ChatMessage("user", entries[0].human)]
    for before, one in pairwise(entries):
        spoken += [ChatMessage("assistant", before.assistant)] if before.assistant else []
        spoken += [ChatMessage("user", one.human)]
    values = {
        "document": llmd.text[: llmd.entries[0].start].removeprefix(BOM).strip(),
        "tools": "" if llmd.tools else f"\n\n{LLMD_TOOLS}",
        "left_out": f"(Left out: {_entries(left_out)}.)\n\n" if left_out else "",
        "question": spoken[0].content,
    }
    return LLMD.request(values, chat=spoken[1:])


def _entries(entries: Sequence[ThreadEntry]) -> str:
    first, last = entries[0].number, entries[-1].number
    return f"entry {first}" if first == last else f"entries {first} to {last}"


def _save_reply(file: MarkdownFile, entry: ThreadEntry, reply: str, logger: LoggerBase) -> bool:
    """Write a reply into a document as it is now; where its entry is no more what it was, the
    reply is kept beside it. Raises OSError and MarkdownError, with the reply kept."""
    kept = False
    try:
        for _ in range(_ATTEMPTS):
            made = _with_reply(parse_llmd(file.text), entry, reply)
            if made is None:
                break
            try:
                save_markdown(file.path, made.text, file)
                kept = True
                return True
            except ChangedError:
                file = load_markdown(file.path)
    finally:
        if not kept:
            text = f"**Human:** {entry.human}\n\n**Assistant:** {reply}"
            keep_unmerged(
                file.path, [text], logger, "its entry cannot take it, or has changed meanwhile: what was said"
            )
    return False


def _with_reply(llmd: Llmd, entry: ThreadEntry, reply: str) -> Llmd | None:
    """The document with the reply, and behind the last entry with a new one to write in; None
    where the entry waits for no reply any more. Raises LlmdError."""
    here = [one for one in llmd.entries if (one.number, one.human, one.assistant) == (entry.number, entry.human, None)]
    if not here:
        return None
    made = append_reply(llmd, here[-1], reply)
    if llmd.entries[-1] == here[-1]:
        with contextlib.suppress(LlmdError):
            made = append_entry(made)
    return made


# Apply


@dataclass(frozen=True)
class Proposal:
    """What the last reply of a document would change. problems: with lines of the document; with
    any of them, nothing is changed."""

    opened: OpenedDocument
    entry: ThreadEntry
    plan: ChangePlan
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    allow: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the reply asks for no change."""
        return not self.problems and self.plan.document.text == self.opened.llmd.text and not self.plan.changes

    def apply(self) -> None:
        """Change the files and the document, all or none. Raises LlmdError and OSError."""
        opened = self.opened
        changes = [_change(opened, one.path, one.old, one.new, self.allow) for one in self.plan.changes]
        for one, other in combinations(changes, 2):
            if one.path == other.path or _is_same(opened.root / one.path, opened.root / other.path):
                raise LlmdError(f"{one.path}: one file by two paths; nothing was applied")
        _change_files(opened, changes, self.plan.document, self.entry.number, fingerprint(self.entry))


def propose(opened: OpenedDocument, allow: Sequence[str] = ()) -> Proposal | None:
    """What the last reply proposes; None where there is no reply, or it has been applied."""
    entry = next((one for one in reversed(opened.llmd.entries) if one.assistant is not None), None)
    if entry is None or entry.assistant is None:
        return None
    reply = _with_known_paths(parse_reply(entry.assistant), opened.llmd.files)
    texts, refused = _read_files(opened, reply, allow)
    planned = plan(opened.llmd, texts, reply)
    problems = refused or planned.problems
    first = entry.reply_line
    return Proposal(
        opened, entry, planned, _moved(problems, first), _moved(planned.warnings, first), tuple(allow)
    )  # fmt: skip


def is_applied(proposal: Proposal) -> bool:
    """Whether this very reply was applied, and not taken back."""
    wanted = (proposal.entry.number, fingerprint(proposal.entry))
    done = Journal(proposal.opened.root).recorded(proposal.opened.name)
    return any((one.entry, one.reply) == wanted for one in done)


def fingerprint(entry: ThreadEntry) -> str:
    """What tells a reply from others."""
    return hashlib.sha256((entry.assistant or "").encode("utf-8", "surrogatepass")).hexdigest()


def _with_known_paths(reply: ParsedReply, known: Collection[str]) -> ParsedReply:
    """The reply with the paths spelled as in the code context: in the name of a file `é` may
    be two signs, and models write one."""
    spelled = {unicodedata.normalize("NFC", path): path for path in known}
    files = (
        one if one.path in known else replace(one, path=spelled.get(unicodedata.normalize("NFC", one.path), one.path))
        for one in reply.files
    )
    return replace(reply, files=tuple(files))


def _read_files(
    opened: OpenedDocument, reply: ParsedReply, allow: Sequence[str]
) -> tuple[dict[str, str], list[Problem]]:
    """The texts of the files that a reply names, and the reasons why it may not touch some."""
    texts: dict[str, str] = {}
    refused: list[Problem] = []
    for path in reply.paths:
        line = next(one.line for one in reply.files if one.path == path)
        try:
            text = opened.read(path, allow)
        except LlmdError as error:
            refused.append(Problem(line, str(error)))
            continue
        if text is not None:
            texts[path] = text
    return texts, refused


def _moved(problems: Sequence[Problem], first: int) -> tuple[Problem, ...]:
    return tuple(Problem(problem.line + first - 1, problem.message) for problem in problems)


def _change(opened: OpenedDocument, path: str, old: str | None, new: str | None, allow: Sequence[str]) -> FileChange:
    before, after = (None if text is None else as_data(path, text) for text in (old, new))
    return change(opened.root, opened.locate(path, allow), before, after)


def _change_files(opened: OpenedDocument, changes: Sequence[FileChange], llmd: Llmd, entry: int, reply: str) -> None:
    """Change files and document by way of the journal. Raises LlmdError and OSError."""
    journal = Journal(opened.root)
    document = change(opened.root, opened.path, opened.file.data, llmd.text.encode("utf-8"))
    with _locked(journal):
        journal.apply([*changes, document], opened.name, entry, reply)


# Check, sync, undo


def check(opened: OpenedDocument) -> list[Problem]:
    """What is wrong with a document, and where its code context is not what the files hold."""
    problems = list(opened.llmd.problems)
    for path, file in opened.llmd.files.items():
        try:
            text = opened.read(path)
        except LlmdError as error:
            problems.append(Problem(file.line, str(error)))
            continue
        if text is None:
            problems.append(Problem(file.line, f"{path}: there is no such file"))
        elif as_shown(text) != file.content:
            problems.append(Problem(file.line, f"{path}: the code context is not what the file holds (lmm llmd sync)"))
    return sorted(problems, key=lambda problem: problem.line)


def sync(opened: OpenedDocument, logger: LoggerBase) -> Llmd:
    """The document with the files as they are on disk; those that have gone are taken out. A file
    that cannot be read is reported, and stays as it is."""
    made = opened.llmd
    for path, file in opened.llmd.files.items():
        try:
            text = opened.read(path)
            if text is None:
                logger.warning(f"{path}: there is no such file: taken out", file.line)
                made = remove_file(made, path)
            elif as_shown(text) != file.content:
                made = set_file(made, path, text)
        except LlmdError as error:
            logger.error(str(error), file.line)
    return made


def save_synced(opened: OpenedDocument, llmd: Llmd) -> None:
    """Write what `sync` has made, so that `undo` takes it back. Raises LlmdError and OSError."""
    _change_files(opened, [], llmd, 0, "")


def applied_last(path: Path, logger: LoggerBase) -> tuple[Path, Applied | None]:
    """The root of a document, and what was applied last for it. Raises LlmdError and OSError."""
    root = root_of(path)
    recover(root, logger)
    if unknown := Journal(root).unknown:
        logger.warning(
            f"{unknown[-1]}: applied elsewhere or by somebody else (or your cache was cleared), and not taken back "
            "here; the texts from before are in it, in the files that end in .old"
        )
    return root, Journal(root).last(path.resolve().relative_to(root).as_posix())


def undo(root: Path, applied: Applied) -> None:
    """Put everything back as it was. Raises LlmdError where a file has changed since, and OSError."""
    journal = Journal(root)
    with _locked(journal):
        journal.undo(applied)
