"""New files and folders, created completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def create_file(path: Path, data: bytes) -> None:
    """Create a file completely or not at all. Raise FileExistsError and OSError."""
    file = path.open("xb")
    try:
        with file:
            file.write(data)
    except OSError as error:  # on a full disk, the error has no file name
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def create_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create files and their folders, or none. Raise OSError."""
    created: list[Path] = []
    try:
        for name, data in files.items():
            created += make_folders((folder / name).parent)
            create_file(folder / name, data)
            created.append(folder / name)
    except OSError:
        for path in reversed(created):
            path.rmdir() if path.is_dir() else path.unlink()
        raise


def make_folders(folder: Path) -> list[Path]:
    """Create a folder; return the created folders, outermost first. Raise OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    for path in missing:
        path.mkdir()
    return missing
