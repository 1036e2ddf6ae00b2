"""Files: markdown read from disk and written back, whole or not at all."""

from __future__ import annotations

import errno
import os
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..files.recovery import torn_by
from .blocks import MarkdownError

SUFFIXES = (".md", ".markdown", ".mdown", ".qmd", ".Rmd", ".rmd")
_ENDINGS = frozenset(suffix.lower() for suffix in SUFFIXES) | {".txt", ".text", ".mkd", ".mkdn", ".mdwn"}
# What marks a project's root; the first kind goes over the second.
ROOT_MARKS = (("config.toml",), ("_quarto.yml", "_quarto.yaml", ".git"))
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})


class ChangedError(MarkdownError):
    """A file on disk is not the one that was read."""


@dataclass(slots=True, frozen=True)
class MarkdownFile:
    """A file as it was read: its path, its text (line ends and byte-order mark
    kept) and the bytes, by which a later change on disk is noticed."""

    path: Path
    text: str
    data: bytes


class TornError(MarkdownError):
    """A file holds only a part of what was being written to it."""


def load_markdown(path: Path) -> MarkdownFile:
    """Read a UTF-8 file. Raises OSError, MarkdownError (with the byte's offset) where it is
    not UTF-8, and TornError where pandoc was ended while it wrote the file."""
    data = path.read_bytes()
    if record := torn_by(path, data):
        raise TornError(
            f"{path}: torn: pandoc was ended while it wrote this file, which holds {len(data):,} of "
            f"{len(record.wanted):,} bytes; write the whole text back with: lmm recover {shlex.quote(str(path))} "
            "(or, if you have cut it yourself: lmm recover --keep FILE)"
        )
    try:
        return MarkdownFile(path, data.decode("utf-8"), data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MarkdownError(
            f"{path}:{line}: not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        ) from None


def save_markdown(path: Path, text: str, read: MarkdownFile | None = None) -> None:
    """Replace a file by a text; see `save_bytes`. With `read`, the file as it was read
    before, ChangedError is raised where it has changed on disk since, and nothing is
    written. Raises OSError."""
    save_bytes(path, text.encode("utf-8"), read)


def save_bytes(path: Path, data: bytes, read: MarkdownFile | None = None) -> None:
    """Replace a file, atomically: a new file in the same folder, synced, then renamed over
    it (a device or a pipe is written to). Permissions stay; where `path` is a link, its
    target is written. `read` as in `save_markdown`. Raises OSError."""
    target = Path(os.path.realpath(path))
    if _is_stream(path, target):
        with path.open("ab") as stream:
            stream.write(data)
        return
    if target.exists() and not target.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "read-only: not written", str(path))
    try:
        _replace(target, data, read)
    except OSError as error:  # which would name a file that nobody knows
        raise OSError(error.errno, error.strerror, str(path)) from error
    _sync_folder(target.parent)


def _is_stream(path: Path, target: Path) -> bool:
    """Whether a path is a device or pipe, or /dev/stdout, which may lead to a file."""
    return (path.is_absolute() and path.parts[1:2] == ("dev",)) or (
        target.exists() and not (target.is_file() or target.is_dir())
    )


def _replace(target: Path, data: bytes, read: MarkdownFile | None) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_mode(target, name)
        if read is not None:
            check_unchanged(read)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def check_unchanged(read: MarkdownFile) -> None:
    """Raises ChangedError where the file on disk is not the one that was read."""
    try:
        same = read.path.read_bytes() == read.data
    except FileNotFoundError:
        same = False
    if not same:
        raise ChangedError(f"{read.path}: changed on disk while it was worked on; nothing was written: run again")


def _copy_mode(target: Path, name: str) -> None:
    try:
        os.chmod(name, target.stat().st_mode & 0o7777)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def find_markdown(paths: list[Path]) -> list[Path]:
    """The files named, and all markdown files in the folders named (sorted; folders
    whose names begin with `.` or `_` are left out). Raises FileNotFoundError, and
    MarkdownError for a file whose ending is not that of markdown."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.is_file() and path.suffix.lower() not in _ENDINGS:
            raise MarkdownError(f"{path}: not a markdown file by its ending ({', '.join(SUFFIXES[:-1])}, .txt)")
        found.extend(_walk(path) if path.is_dir() else [path])
    return list(dict.fromkeys(found))


def _walk(folder: Path) -> list[Path]:
    files: list[Path] = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "_")) and f not in _SKIPPED_FOLDERS)
        files.extend(Path(base, name) for name in sorted(names) if _is_document(name))
    return files


def _is_document(name: str) -> bool:
    """Whether a file in a folder is one of its documents; what could not be merged into
    one is none."""
    return name.endswith(SUFFIXES) and not name.startswith(".") and not name.endswith(".lmm-unmerged.md")


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
