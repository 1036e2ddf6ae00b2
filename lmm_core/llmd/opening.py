"""Open, create and recover LLMD documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LlmdError
from ..logging import LoggerBase
from ..markdown.files import ROOT_MARKS, MarkdownFile, project_root, read_markdown, write_markdown
from ..models.prompts import LLMD_ABOUT, LLMD_INSTRUCTIONS, LLMD_TOOLS
from .document import Llmd, parse_llmd
from .editing import append_entry, make_llmd, set_file
from .files import Files
from .journal import Journal


@dataclass(frozen=True)
class OpenedDocument:
    """A parsed document. root: folder of its relative paths."""

    file: MarkdownFile
    llmd: Llmd
    root: Path

    @property
    def path(self) -> Path:
        """Return the document's resolved path."""
        return self.file.path.resolve()

    @property
    def name(self) -> str:
        """Return the document's path from the root."""
        return self.path.relative_to(self.root).as_posix()

    def files(self, allow: Sequence[str] = ()) -> Files:
        """Return the accessible files. allow: see `Files`."""
        return Files(self.root, self.path, self.llmd.files, allow)


def root_of(path: Path) -> Path:
    """Return the project's root, or the document's folder, independent of the working folder."""
    root = project_root(path)
    marked = any((root / mark).exists() for marks in ROOT_MARKS for mark in marks)
    return root if marked else path.resolve().parent


def open_document(path: Path, logger: LoggerBase) -> OpenedDocument:
    """Read a document after rolling back a killed run. Raise OSError and MarkdownError."""
    root = root_of(path)
    recover(root, logger)
    file = read_markdown(path)
    return OpenedDocument(file, parse_llmd(file.text), root)


def recover(root: Path, logger: LoggerBase) -> None:
    """Roll back a killed run. Raise LlmdError and OSError."""
    journal = Journal(root)
    if journal.open.exists():
        with journal.lock():
            if message := journal.recover():
                logger.warning(message)


# New


def new_document(path: Path, name: str, code: Sequence[Path], logger: LoggerBase) -> int:
    """Write a document with guidance, files and an empty entry; return the number of files.

    Files that cannot be included are reported. Raise LlmdError if the path exists, and OSError."""
    if path.exists() or path.is_symlink():
        raise LlmdError(f"{path}: already exists; nothing was written")
    if not path.parent.is_dir():
        raise LlmdError(f"{path}: there is no folder {path.parent}; nothing was written")
    root = root_of(path)
    llmd = make_llmd(name, LLMD_ABOUT, LLMD_INSTRUCTIONS, LLMD_TOOLS)
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
        raise LlmdError(f"{file}: is not in the project ({root})")
    path = place.relative_to(root).as_posix()
    text = files.read(path)
    if text is None:
        raise LlmdError(f"{file}: no such file")
    return set_file(llmd, path, text)
