"""Read the contents of files, of which there may be thousands."""

from __future__ import annotations

import os


def contents_of(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, in two thirds of the time of `Path.read_bytes`. Raise OSError."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.readall()
