"""What documents give to the leak check: the keys of what is left out of them, and what stays in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from ....markdown.blocks import Block
from ....markdown.rag_only import KnitRules
from ....settings.project import Project
from ....settings.quarto_inputs import INCLUDE, named_in
from ....workflows.known.keys import key_of
from ....workflows.known.remember import digest
from ..figures import makes_figures
from ..short_parts import lines_of
from ..sources import Document, annotation_texts, stays_in
from ..words import Stream, markdown_words, text_words
from .keys import NAME, element_key, keys_of
from .memory import Memory, Task
from .said import Said

_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


@dataclass(frozen=True, slots=True)
class Staying:
    """What stays in of a document: the texts that knitting leaves, and their questions and summaries."""

    texts: list[str]
    annotations: list[str]


@dataclass(frozen=True)
class Note:
    """A document with what is known of it. is_hidden: nothing of it stays in, since only parts that are left
    out include it; key: the hash of all that `record` depends on; included: as in the record; record: see `_record_of`,
    None if the last look has it; read: what stays in, if it was read with the record, so that the document is not
    parsed again."""

    document: Document
    is_hidden: bool
    key: bytes
    included: Sequence[Sequence[Any]]
    record: Mapping[str, Any] | None = None
    read: Staying | None = None

    @cached_property
    def staying(self) -> Staying:
        """What stays in of the document, hidden or not."""
        return self.read or _staying(self.document.blocks, self.document.rules)

    @property
    def names(self) -> Sequence[str]:
        """The names of its headings that stay in."""
        return self.record["names"] if self.record else _names(self.document, self.is_hidden)


def read_notes(documents: Sequence[Document], project: Project, memory: Memory) -> list[Note]:
    """Return what is known of documents."""
    notes = _recall(documents, False, memory)
    hidden = _included_out(notes, project)
    if not hidden:
        return notes
    is_hidden = [note.document.path.resolve() in hidden for note in notes]
    out = iter(_recall([one for one, is_out in zip(documents, is_hidden, strict=True) if is_out], True, memory))
    return [next(out) if is_out else note for note, is_out in zip(notes, is_hidden, strict=True)]


def _recall(documents: Sequence[Document], is_hidden: bool, memory: Memory) -> list[Note]:
    keys, last = [_key_of(one, is_hidden) for one in documents], memory.last.documents
    keyed = [*zip(documents, keys, strict=True)]
    new = [Task(key, _size(one), partial(_read, one, is_hidden)) for one, key in keyed if key not in last]
    found = memory.recall(new)
    recalled = dict(zip((task.key for task in new), found, strict=True))
    return [
        Note(one, is_hidden, key, last[key].included)
        if key in last
        else Note(one, is_hidden, key, recalled[key][0]["included"], *recalled[key])
        for one, key in keyed
    ]


def _read(document: Document, is_hidden: bool) -> tuple[dict[str, Any], Staying]:
    return _record_of(document, is_hidden), _staying(document.blocks, document.rules)


def _staying(blocks: Sequence[Block], rules: KnitRules) -> Staying:
    return Staying([*stays_in(blocks, rules)], [*annotation_texts(blocks, rules)])


def _key_of(document: Document, is_hidden: bool) -> bytes:
    return key_of("left out", document.data, _digest(document.rules), b"%d" % is_hidden)


@cache
def _digest(rules: KnitRules) -> bytes:
    return digest(rules)


def _record_of(document: Document, is_hidden: bool) -> dict[str, Any]:
    """Return what is left out of a document, the names of its headings that stay in, and what it includes."""
    included = [(piece.is_out, _included(piece.text)) for piece in document.pieces] if "{{<" in document.text else []
    return {
        "parts": [
            (secret.piece.line, makes_figures(secret.text), [*dict.fromkeys(keys_of(secret))])
            for secret in document.secrets(is_hidden)
        ],
        "names": _names(document, is_hidden),
        "included": [(is_out, text) for is_out, text in included if text],
    }


def _names(document: Document, is_hidden: bool) -> list[str]:
    return [] if is_hidden else [piece.slug for piece in document.pieces if piece.slug and not piece.is_out]


def _included(text: str) -> str:
    return " ".join(found[0] for found in INCLUDE.finditer(text))


def _included_out(notes: Sequence[Note], project: Project) -> set[Path]:
    """Return the files that are included in parts that are left out, and nowhere else."""
    elsewhere: set[Path] = set()
    hidden: set[Path] = set()
    for note in notes:
        for is_out, text in note.included:
            found = {inner.resolve() for inner in named_in(text, note.document.path, project.root)}
            (hidden if is_out else elsewhere).update(found)
    return hidden - elsewhere


# What stays in


def look_at_kept(notes: Iterable[Note], memory: Memory) -> set[int]:
    """Return the keys, by their numbers, of what the notes say themselves."""
    return _found(
        (
            Task(key_of("kept", note.key, memory.manner), _size(note.document), partial(_kept, note, memory.has_marks))
            for note in notes
            if not note.is_hidden
        ),
        memory,
    )


def look_at_texts(texts: Sequence[str], memory: Memory) -> set[int]:
    """Return the keys, by their numbers, of what some texts that stay in say."""
    data = json.dumps(texts).encode()
    return _found(
        [Task(key_of("texts", data, memory.manner), len(data), partial(say, texts, memory.has_marks))], memory
    )


def look_at_data(notes: Iterable[Note], include: frozenset[str], memory: Memory) -> set[int]:
    """Return the keys, by their numbers, of what only the data of an ask box may hold. include: types that the box
    includes."""
    types = "\n".join(sorted(include)).encode()
    return _found(
        (
            Task(key_of("data", note.key, types, memory.manner), _size(note.document), partial(_data, note, include))
            for note in notes
        ),
        memory,
    )


def _found(texts: Iterable[Task[Said]], memory: Memory) -> set[int]:
    return set[int]().union(*(seen.found for seen in memory.look(texts)))


def _size(document: Document) -> int:
    return len(document.text)


def _kept(note: Note, with_marks: bool) -> Said:
    texts = note.staying.texts
    said = say(texts, with_marks)
    if with_marks:
        names = (name for text in texts for name in _NAMES.findall(text))
        said.marks.update(NAME + name for name in (*note.names, *names))
    return said


def _data(note: Note, include: frozenset[str]) -> Said:
    rules = note.document.rules
    if include <= rules.keep and not note.is_hidden:  # the rest is among what stays in
        return Said(say(note.staying.annotations, False).streams)
    found = _staying(note.document.blocks, replace(rules, keep=rules.keep | include))
    return Said([stream for one in (found.texts, found.annotations) for stream in say(one, False).streams])


def say(texts: Sequence[str], with_marks: bool) -> Said:
    """Return what texts say that stand one after the other, as they do on the page when the parts between them
    are gone. with_marks: say the elements, too."""
    read = ([word for text in texts for word in words(text)] for words in (markdown_words, text_words))
    said = Said([*map(Stream, read)])
    if with_marks:
        said.marks.update(element_key(line) for line in lines_of(texts))
    return said
