"""Making files and folders where there are none: whole, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def create_file(path: Path, data: bytes) -> None:
    """Make a file. Raises FileExistsError where there is one, and OSError, which names the
    file, where it cannot be written: then nothing is left of it."""
    file = path.open("xb")
    try:
        with file:
            file.write(data)
    except OSError as error:  # a full disk: the error of a write names no file
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def copy_files(source: Path, names: Sequence[str], target: Path) -> None:
    """Copy files of a folder, named by their paths in it, into a new one. Raises OSError as
    `create_file`; then nothing is left of the copies, and of the folders made for them."""
    made: list[Path] = []
    try:
        for name in names:
            made += make_folders((target / name).parent)
            create_file(target / name, (source / name).read_bytes())
            made.append(target / name)
    except OSError:
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink()
        raise


def make_folders(folder: Path) -> list[Path]:
    """Make a folder, and those that it lies in. Returns those that were not there, outermost
    first. Raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    for path in missing:
        path.mkdir()
    return missing
