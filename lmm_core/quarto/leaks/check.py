"""Look for what is left out of the notes in everything that was rendered.

Text and metadata that knitting leaves out are cut into runs of words, and these are looked for in
every file of the output. Words that the notes say as well are no leak. Which of the runs a text has is
remembered (`known`); only files that have one which the notes do not say are looked into closely.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

from ...files.stamps import stamps_of
from ...logging import ConsoleLogger, ListLogger, LoggerBase
from ...markdown.files import MarkdownDocument
from ...settings.project import Project
from ...workflows.known import remember
from ..options import ASK_FOLDER, AskBoxSettings
from .comments import comment_leaks, find_comments
from .figures import unused_figures
from .findings import Findings, Leak
from .known.files import look_at_files
from .known.keys import MARKS, NAME, keys_of, needle_of
from .known.look import Parts, Seen, cut
from .known.memory import Memory
from .known.notes import Note, look_at_data, look_at_kept, look_at_texts, read_notes
from .short_parts import ShortParts, element_of
from .site_text import Text, find_files, read_texts
from .sources import Document, Secret, project_texts, read_documents
from .words import Index, Stream, markdown_words, strip_markup, text_words

_DATA = re.compile(r"(?:data|spelling|(?:part|words)-\d+)\.js")


def look_for_leaks(
    output: Path | Sequence[Path],
    sources: Sequence[Path],
    project: Project,
    logger: LoggerBase | None = None,
    published: Sequence[Path] = (),
    ask: AskBoxSettings | None = None,
    read: Iterable[MarkdownDocument] = (),
) -> Findings:
    """Return the leaks of some sources in an output (a folder, a file, or several), and counts of what
    was looked for. published: other documents of the site, in a partial render those of the other
    pages; words in their notes are no leak. ask: the site's ask box, whose data may hold the types
    that it includes, and the questions and summaries of what stays in. read: documents that have been read,
    and need not be read again. Files that cannot be read are reported as errors, those of a kind that cannot
    be looked into as warnings."""
    logger = logger or ConsoleLogger()
    outputs = [output] if isinstance(output, Path) else output
    documents = [*read_documents(dict.fromkeys([*sources, *published]), read, project, logger)]
    files = [file for one in outputs for file in find_files(one)]
    with Memory(_place(outputs, project) if _is_large(documents, files) else None) as memory:
        notes = read_notes(documents, project, memory)
        named = {*sources}
        own = [note for note in notes if note.document.path in named]
        found = memory.look_for({note.key: note.record for note in own})
        parts = [found[note.key] for note in own]
        kept = _find_kept(notes, project, ask, memory)
        seen = [*_look_at_files(files, memory, logger)]
    findings = _counted(parts, kept.said, memory.keys.marks, seen)
    findings.leaks += _find_leaks(seen, [*zip(own, parts, strict=True)], kept, memory.names, sources)
    figures = {figure for _, one in seen for figure in one.figures}
    for folder in outputs:
        findings.leaks += unused_figures(folder, _cells(own, parts), figures, project)
    return findings


def _place(outputs: Iterable[Path], project: Project) -> bytes:
    return b"\n".join(os.fsencode(path.absolute()) for path in (project.root, *outputs))


def _is_large(documents: Iterable[Document], files: Iterable[Path]) -> bool:
    """Return True if there is so much to read that it is worth to be remembered."""
    in_site = (size for file in files for _, size in stamps_of([file]).values())  # 0 for what cannot be looked at
    sizes = chain((len(one.text) for one in documents), in_site)
    return any(size >= remember.WORTH for size in accumulate(sizes, initial=0))  # mostly told by the documents


def _look_at_files(files: Sequence[Path], memory: Memory, logger: LoggerBase) -> Iterator[tuple[Path, Seen]]:
    for file, seen in zip(files, look_at_files(files, memory), strict=True):
        for report in seen.reports:
            logger.report(report)
        yield file, seen


def _counted(own: Sequence[Parts], said: Set[int], marks: Set[int], seen: Iterable[tuple[Path, Seen]]) -> Findings:
    """Return the numbers of what is looked for and looked into. A mark is looked for as that of the first part
    that has it. marks: all of them."""
    first: set[int] = set()
    count = 0
    for parts in own:
        if said.isdisjoint(parts.keys) and marks.isdisjoint(parts.keys):  # mostly
            count += len(parts.sizes) - parts.sizes.count(0)
            continue
        for keys in cut(parts.keys, parts.sizes):
            left = {*keys} - said - first
            first |= left & marks
            count += bool(left)
    total = sum(len(parts.sizes) for parts in own)
    return Findings(parts=count, files=sum(one.is_read for _, one in seen), passed_over=total - count)


def _cells(own: Iterable[Note], parts: Iterable[Parts]) -> dict[Path, int]:
    """Return the line of the first cell that is left out of each document that has some."""
    cells: dict[Path, int] = {}
    for note, found in zip(own, parts, strict=True):
        if (at := found.cells.find(1)) >= 0:
            cells.setdefault(note.document.path, found.lines[at])
    return cells


# What the notes say themselves


@dataclass(frozen=True, slots=True)
class _Kept:
    """The keys, by their numbers, that the notes say themselves, and those that they or the data of an ask box may say:
    of these the marks, too, which are the words of parts that are too short for runs."""

    said: set[int]
    data: set[int]

    def unsaid(self, file: Path, found: Sequence[int]) -> set[int]:
        """Return the keys among those found in a file that it must not have."""
        allowed = self.data if _is_data(file) else self.said
        return set() if allowed.issuperset(found) else {*found} - allowed


def _find_kept(notes: Sequence[Note], project: Project, ask: AskBoxSettings | None, memory: Memory) -> _Kept:
    said = look_at_texts(project_texts(project), memory) | look_at_kept(notes, memory)
    data = said | look_at_data(notes, ask.include, memory) if ask else said
    both = memory.keys.both_kinds
    return _Kept(both(said), both(data) | memory.keys.marks)


def _is_data(file: Path) -> bool:
    return file.parent.name == ASK_FOLDER and _DATA.fullmatch(file.name) is not None


# Files with leaks


@dataclass(slots=True)
class _Wanted:
    """The secrets that are looked for in files that have some of them, and the indexes by which they are found."""

    secrets: list[Secret]
    index: Index[tuple[str, int]]
    data: Index[tuple[str, int]]  # for the data of an ask box, which may hold more
    short: ShortParts

    def find(self, text: Text, is_data: bool) -> dict[int, list[str]]:
        """Return the numbers of the secrets that a text has, each with the first words of it found."""
        stream = Stream(text_words(text.words))
        found = dict((self.data if is_data else self.index).find(stream))
        for at, words in () if is_data else self.short.find(text):
            found.setdefault(at, words)
        return found


def _find_leaks(
    seen: Iterable[tuple[Path, Seen]],
    own: Iterable[tuple[Note, Parts]],
    kept: _Kept,
    names: Sequence[str],
    sources: Sequence[Path],
) -> Iterator[Leak]:
    """Yield the leaks in those files that have keys which the notes do not say, or comments of metadata. names: of the
    keys, by their numbers."""
    keys, data = set[int](), set[int]()
    suspects: list[Path] = []
    for file, one in seen:
        left = kept.unsaid(file, one.found)
        (data if _is_data(file) else keys).update(left)
        if left or one.has_comments:
            suspects.append(file)
    if suspects:
        some = [note for note, parts in own if not (keys | data).isdisjoint(parts.keys)]
        wanted = _wanted(some, {names[at] for at in keys}, {names[at] for at in data})
        for file in suspects:
            yield from _in_file(file, wanted, sources)


def _wanted(some: Iterable[Note], keys: Set[str], data: Set[str]) -> _Wanted:
    """Return the secrets of notes that have some keys. keys: for all files but the data of an ask box."""
    secrets = [secret for note in some for secret in note.document.secrets(note.is_hidden)]
    short = ShortParts()
    runs: list[tuple[str, int]] = []
    for at, secret in enumerate(secrets):
        for key in keys_of(secret):
            if key[0] not in MARKS:
                runs.append((key, at))
            elif key in keys and key[0] == NAME:
                short.names.setdefault(key[1:], at)
            elif key in keys:
                short.elements.setdefault(element_of(secret), at)
    return _Wanted(secrets, _index(runs, keys), _index(runs, data), short)


def _index(runs: Iterable[tuple[str, int]], keys: Set[str]) -> Index[tuple[str, int]]:
    """Return the index of those runs that are among some keys. runs: each with the number of its secret."""
    return Index(((run[0][1:], run) for run in runs if run[0] in keys), lambda run: needle_of(*run))


def _in_file(file: Path, wanted: _Wanted, sources: Sequence[Path]) -> Iterator[Leak]:
    """Yield the leaks of a file, each once."""
    leaks: dict[int, Leak] = {}
    comments: list[Leak] = []
    for text in read_texts(file, file.read_bytes(), ListLogger()):  # what is to be said of it was said before
        for at, words in sorted(wanted.find(text, _is_data(file)).items()):
            leaks.setdefault(at, _leak(file, text.member, wanted.secrets[at], words))
        if left := find_comments(text):
            comments += comment_leaks(file, text.member, left, sources, [*leaks.values()])
    yield from (*leaks.values(), *comments)


def _leak(file: Path, member: str, secret: Secret, found: list[str]) -> Leak:
    words = strip_markup(secret.text).replace("#", " ").split()[:8]
    whole = "".join(markdown_words(secret.text))
    if len(whole) >= len("".join(found)) and not whole.startswith("".join(found)):
        words = found
    return Leak(file, secret.source, secret.piece.line, " ".join(words), member)
