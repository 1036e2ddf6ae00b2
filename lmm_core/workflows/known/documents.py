"""Documents that are read only where something in them is not known yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...markdown.files import MarkdownFile, is_notebook
from .cache import Known
from .digests import FileDigests, digest_of
from .keys import key_of
from .remember import find_unknown, is_worth

FEW = 20  # files, which are read sooner than it is looked up what is known of them
Load = Callable[[Path], MarkdownFile | None]  # returns None for a file that cannot be read, which it reports


@dataclass(eq=False)
class KnownDocument:
    """A document as far as it is known.

    load: reads it; file: None until it is read; known_digest, known_size: of its content until then."""

    path: Path
    load: Load
    file: MarkdownFile | None = None
    known_digest: bytes = b""
    known_size: int = 0

    @property
    def size(self) -> int:
        """The size of its content in bytes."""
        return self.known_size if self.file is None else len(self.file.data)

    @property
    def key(self) -> bytes:
        """What a finding in the document depends on; another one if it has changed when it is read."""
        if self.file is not None and not self.known_digest:
            self.known_digest = digest_of(self.file.data)
        return content_key(self.path, self.known_digest)

    def read(self) -> MarkdownFile | None:
        """Return the file, or None if it cannot be read any more."""
        if self.file is None and (file := self.load(self.path)) is not None:
            self.take(file)
        return self.file

    def take(self, file: MarkdownFile) -> None:
        """Note the file as it is now."""
        self.file, self.known_digest = file, b""


def content_key(path: Path, digest: bytes) -> bytes:
    """Return what a finding in a file of this digest depends on: a notebook has another text than its bytes."""
    return b"notebook" + digest if is_notebook(path) else digest


def file_key(file: MarkdownFile) -> bytes:
    """Return what a finding in a file depends on that was read."""
    return content_key(file.path, digest_of(file.data))


def see_documents(paths: Sequence[Path], load: Load, known: Known) -> list[KnownDocument]:
    """Return those of some documents that can be read. Of many, those that have not changed are not read."""
    if len(paths) < FEW:
        return [KnownDocument(file.path, load, file) for file in map(load, paths) if file is not None]
    with FileDigests(b"documents\0" + os.fsencode(Path.cwd()), known) as digests:
        return [one for path in paths if (one := _see(path, load, digests)) is not None]


def _see(path: Path, load: Load, digests: FileDigests) -> KnownDocument | None:
    document = KnownDocument(path, load)
    content = digests.look(path, lambda path: file.data if (file := document.read()) is not None else None)
    if content is None:
        return None
    document.known_digest, document.known_size = content
    return document


def read_all(documents: Iterable[KnownDocument]) -> list[MarkdownFile]:
    """Return those of some documents that can be read."""
    return [file for one in documents if (file := one.read()) is not None]


def find_in_documents(
    kind: str,
    settings: bytes,
    documents: Sequence[KnownDocument],
    find: Callable[[MarkdownFile], Any],
    known: Known,
    beside: Callable[[Path], Sequence[bytes]] = lambda path: (),
) -> dict[Path, Any]:
    """Return what is found in each of some documents, as JSON values; where it is known, a document is not read.

    settings: what all findings depend on beside the documents; beside: returns what else that in a document does;
    find: see `find_in_all`. A document that cannot be read any more is left out."""

    def key(one: KnownDocument) -> bytes:
        return key_of(kind, settings, one.key, *beside(one.path))

    if not is_worth(sum(one.size for one in documents)):
        return {one.path: find(file) for one in documents if (file := one.read()) is not None}
    keys = {one: key(one) for one in documents}
    found = known.find(keys.values())
    files = {one: one.read() for one, at in keys.items() if at not in found}
    keys |= {one: key(one) for one in files}  # of the content that was read
    things = {keys[one]: (b"", file) for one, file in files.items() if file is not None}
    found |= find_unknown(known, things, find, lambda file: len(file.data))
    return {one.path: found[at] for one, at in keys.items() if at in found}
