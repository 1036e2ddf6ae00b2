"""Read and write `collection.json`; a collection exists with this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import StoreError
from ...files.marked import check_removable, remove_marked
from ...files.writing import sync_folder
from ...markdown.files import write_markdown

COLLECTION = "collection"  # folder kind
RECORD = "collection.json"
FORMAT = 1


def save_record(folder: Path, values: dict[str, Any]) -> None:
    """Write a collection's record. Raise OSError."""
    write_markdown(folder / RECORD, json.dumps({"format": FORMAT, **values}, ensure_ascii=False))


def load_record(folder: Path) -> dict[str, Any] | None:
    """Return a collection's record, or None if it does not exist. Raise StoreError."""
    path = folder / RECORD
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read ({error}). Remove {folder} and index again.") from error
    if isinstance(record, dict) and record.get("format") == FORMAT and {"spec", "metadata"} <= set(record):
        return record
    raise StoreError(f"{path} was written by another version of this program. Remove {folder} and index again.")


def remove_collection(folder: Path) -> None:
    """Remove a collection, its record first, so that an interruption leaves no partial collection.

    Raise FolderError, before anything is removed, or OSError."""
    check_removable(folder, COLLECTION)
    (folder / RECORD).unlink()
    sync_folder(folder)
    remove_marked(folder, COLLECTION)
