"""New files and folders, made completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def create_file(path: Path, data: bytes) -> None:
    """Create a file. Raise FileExistsError, or OSError (naming the file) after removing what was written."""
    file = path.open("xb")
    try:
        with file:
            file.write(data)
    except OSError as error:  # a full disk: the error of a write names no file
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def create_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create files, by their paths in a folder, and the folders that they need.

    Raise OSError after removing everything that was created."""
    made: list[Path] = []
    try:
        for name, data in files.items():
            made += make_folders((folder / name).parent)
            create_file(folder / name, data)
            made.append(folder / name)
    except OSError:
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink()
        raise


def make_folders(folder: Path) -> list[Path]:
    """Create a folder and its parents, and return those that were missing, outermost first. Raise OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    for path in missing:
        path.mkdir()
    return missing
