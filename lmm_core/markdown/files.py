"""Files: markdown read from disk and written back, whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import ChangedError, MarkdownError, TornError
from ..files.recovery import torn_problem
from ..files.walk import NOTEBOOK, SUFFIXES, TEXT_SUFFIXES, Skipped, find_documents
from ..files.writing import write_file
from ..logging import LoggerBase, in_file
from .notebooks import read_notebook

NOT_ANNOTATED = "a notebook, which is never written to: it is indexed as it is, and not annotated"
# What marks a project's root; the first kind goes over the second.
ROOT_MARKS = (("config.toml",), ("_quarto.yml", "_quarto.yaml", ".git"))


@dataclass(slots=True, frozen=True)
class MarkdownFile:
    """A file as it was read: its path, its text (line ends and byte-order mark
    kept), the bytes, by which a later change on disk is noticed, and where it was, links
    followed."""

    path: Path
    text: str
    data: bytes
    place: Path | None = None


def load_markdown(path: Path) -> MarkdownFile:
    """Read a UTF-8 file, or what comes through a pipe; of a notebook, its text (see
    `read_notebook`). Raises OSError, MarkdownError (with the byte's offset) where it is not UTF-8,
    is a device, or no notebook by its content, and TornError where pandoc was ended while it wrote
    the file."""
    place = _place(path)
    _refuse_device(path)
    data = path.read_bytes()
    if problem := torn_problem(path, data):
        raise TornError(f"{path}: {problem}")
    text = _decode(path, data)
    return MarkdownFile(path, read_notebook(text, str(path)) if is_notebook(path) else text, data, place)


def is_notebook(path: Path) -> bool:
    """Whether a file is a notebook, by its ending: its text is read, and never written to."""
    return path.suffix.lower() == NOTEBOOK


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MarkdownError(
            f"{path}:{line}: not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        ) from None


def _refuse_device(path: Path) -> None:
    """Raises MarkdownError where a path, or the link that it is, leads to a device, which may
    never end (/dev/zero). What this process is given as its input is read."""
    state = path.stat()
    if not (stat.S_ISCHR(state.st_mode) or stat.S_ISBLK(state.st_mode)):
        return
    allowed = [Path(os.devnull).stat()]
    with suppress(OSError):  # the input is closed
        allowed.append(os.fstat(0))
    if not any(os.path.samestat(state, one) for one in allowed):
        raise MarkdownError(f"{path}: leads to a device, not to a file, and is not read")


def _place(path: Path) -> Path:
    return Path(os.path.realpath(path))


def save_markdown(path: Path, text: str, read: MarkdownFile | None = None) -> None:
    """Replace a file by a text; see `save_bytes`. With `read`, the file as it was read
    before, ChangedError is raised where it has changed on disk since, and nothing is
    written. Raises OSError, and MarkdownError for a notebook."""
    if is_notebook(path):
        raise MarkdownError(f"{path}: a notebook, which is read, and never written to: edit it in Jupyter")
    save_bytes(path, text.encode("utf-8"), read)


def save_bytes(path: Path, data: bytes, read: MarkdownFile | None = None) -> None:
    """Replace a file, atomically (see `write_file`); `read` as in `save_markdown`. Raises
    OSError."""
    write_file(path, data, (lambda: check_unchanged(read)) if read is not None else lambda: None)


def check_unchanged(read: MarkdownFile) -> None:
    """Raises ChangedError where the file on disk is not the one that was read: it has changed,
    or a link leads elsewhere."""
    try:
        same = read.place in (None, _place(read.path)) and read.path.read_bytes() == read.data
    except FileNotFoundError:
        same = False
    if not same:
        raise ChangedError(f"{read.path}: changed on disk while it was worked on; nothing was written: run again")


def find_markdown(paths: list[Path], logger: LoggerBase | None = None, endings: Sequence[str] = SUFFIXES) -> list[Path]:
    """The files named, and all markdown files in the folders named (see `find_documents`). What
    is left out of a folder is a warning of the logger's. endings: of documents, in lower case.
    Raises FileNotFoundError, and MarkdownError for a file whose ending is not that of markdown."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.is_file() and path.suffix.lower() not in TEXT_SUFFIXES.union(endings):
            raise MarkdownError(f"{path}: {_why_none(path, endings)}")
        if path.is_dir():
            inside, left_out = find_documents(path, endings)
            found += inside
            if logger is not None:
                _tell(left_out, path, logger)
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _why_none(path: Path, endings: Sequence[str]) -> str:
    if is_notebook(path):
        return "a notebook, which this command leaves alone: lmm index and lmm leak-check read it"
    return f"not a markdown file by its ending ({', '.join(endings)}, .txt)"


def _tell(left_out: list[Skipped], folder: Path, logger: LoggerBase) -> None:
    for one in left_out:
        in_file(logger, folder / one.doc_path).warning(one.reason)


def project_root(path: Path) -> Path:
    """The project that a file belongs to: the nearest folder upward with a
    `config.toml`, else with `_quarto.yml` or `.git`; without any of these the working
    folder where the file lies in it, else the file's own folder."""
    folder = path.resolve().parent
    for marks in ROOT_MARKS:
        for place in (folder, *folder.parents):
            if any((place / mark).exists() for mark in marks):
                return place
    here = Path.cwd().resolve()
    return here if folder.is_relative_to(here) else folder
