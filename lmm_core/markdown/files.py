"""Markdown files: read, and replaced atomically."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import ChangedError, LmmError, MarkdownError
from ..files.recovery import torn_problem
from ..files.walk import NOTEBOOK, SUFFIXES, TEXT_SUFFIXES, find_documents
from ..files.writing import write_file
from ..logging import ConsoleLogger, LoggerBase, in_file, report_failure
from .blocks import Block, header_content, serialize_blocks
from .parse import parse_header, parse_markdown_text

NOT_ANNOTATED = "a notebook is indexed as it is, and not annotated, since notebooks are never written to"
# The first group takes precedence.
ROOT_MARKS = (("config.toml",), ("_quarto.yml", "_quarto.yaml", ".git"))


@dataclass(slots=True, frozen=True)
class MarkdownFile:
    """A file as it was read; `data` and `place` (the resolved path) detect later changes."""

    path: Path
    text: str
    data: bytes
    place: Path | None = None


@dataclass
class MarkdownDocument:
    """A file with its parsed blocks."""

    file: MarkdownFile

    @cached_property
    def blocks(self) -> list[Block]:
        return parse_markdown_text(self.file.text)

    @cached_property
    def header(self) -> dict[str, Any]:
        first = parse_header(self.file.text)
        return header_content([first] if first else [])


def load_markdown(path: str | Path, logger: LoggerBase | None = None) -> str | None:
    """Return the text of a UTF-8 file, or None after reporting an error (`read_markdown` raises it)."""
    try:
        return read_markdown(Path(path)).text
    except (OSError, LmmError) as error:
        report_failure(error, logger or ConsoleLogger())
        return None


def save_markdown(path: str | Path, content: str | Sequence[Block], logger: LoggerBase | None = None) -> bool:
    """Replace a file atomically; return False after reporting an error (`write_markdown` raises it)."""
    try:
        write_markdown(Path(path), content if isinstance(content, str) else serialize_blocks(content))
    except (OSError, LmmError) as error:
        report_failure(error, logger or ConsoleLogger())
        return False
    return True


def read_markdown(path: Path) -> MarkdownFile:
    """Read a UTF-8 file, pipe or notebook.

    Raise OSError; MarkdownError for other encodings, devices and broken notebooks; TornError if pandoc was killed
    while writing the file.
    """
    place = _place(path)
    _refuse_device(path)
    data = path.read_bytes()
    if problem := torn_problem(path, data):
        raise MarkdownError(f"{path}: {problem}")
    text = _decode(path, data)
    return MarkdownFile(path, read_notebook(text, str(path)) if is_notebook(path) else text, data, place)


def is_notebook(path: Path) -> bool:
    """Return True for a notebook's suffix."""
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
    state = path.stat()
    if not (stat.S_ISCHR(state.st_mode) or stat.S_ISBLK(state.st_mode)):
        return
    allowed = [Path(os.devnull).stat()]
    with suppress(OSError):  # standard input may be closed
        allowed.append(os.fstat(0))
    if not any(os.path.samestat(state, device) for device in allowed):
        raise MarkdownError(f"{path}: this is a device, not a file, and is not read")


def _place(path: Path) -> Path:
    return Path(os.path.realpath(path))


def write_markdown(path: Path, text: str, original: MarkdownFile | None = None) -> None:
    """Replace a file atomically.

    Raise ChangedError if it differs from `original`, MarkdownError for a notebook, and OSError.
    """
    if is_notebook(path):
        raise MarkdownError(f"{path}: notebooks are never written to; edit this one in Jupyter")
    check = (lambda: check_unchanged(original)) if original is not None else lambda: None
    write_file(path, text.encode("utf-8"), check)


def check_unchanged(original: MarkdownFile) -> None:
    """Raise ChangedError if a file or its resolved path has changed."""
    try:
        is_same = original.place in (None, _place(original.path)) and original.path.read_bytes() == original.data
    except FileNotFoundError:
        is_same = False
    if not is_same:
        raise ChangedError(
            f"{original.path}: changed on disk while it was worked on; nothing was written; run this again"
        )


def find_markdown(paths: list[Path], logger: LoggerBase | None = None, endings: Sequence[str] = SUFFIXES) -> list[Path]:
    """Return the given files and the documents in given folders (see `find_documents`).

    Raise FileNotFoundError, and MarkdownError for other suffixes.
    """
    documents: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.is_file() and path.suffix.lower() not in TEXT_SUFFIXES.union(endings):
            raise MarkdownError(f"{path}: {_why_none(path, endings)}")
        if path.is_dir():
            in_folder, left_out = find_documents(path, endings)
            documents += in_folder
            if logger is not None:
                for skipped in left_out:
                    in_file(logger, path / skipped.doc_path).warning(skipped.reason)
        else:
            documents.append(path)
    return list(dict.fromkeys(documents))


def _why_none(path: Path, endings: Sequence[str]) -> str:
    if is_notebook(path):
        return "this command leaves notebooks alone; lmm index and lmm leak-check read them"
    return f"this is no markdown file, since it does not end in {', '.join(endings)} or .txt"


def project_root(path: Path) -> Path:
    """Return the nearest folder with a `config.toml`, else with `_quarto.yml` or `.git`.

    Otherwise it is the working folder if it contains the file, else the file's folder.
    """
    folder = path.resolve().parent
    for marks in ROOT_MARKS:
        for place in (folder, *folder.parents):
            if any((place / mark).exists() for mark in marks):
                return place
    here = Path.cwd().resolve()
    return here if folder.is_relative_to(here) else folder


# Notebooks: all cells joined, as by Quarto

_RUN = re.compile(r"`{3,}")


def read_notebook(data: str, name: str) -> str:
    """Return a notebook's markdown, and its code in fences. Raise MarkdownError, with the `name`, for other JSON."""
    cells, language = _cells(data, name)
    parts = [cell.lines if cell.kind == "markdown" else _fenced(cell, language) for cell in cells]
    text = "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)
    return text.encode("utf-8", "replace").decode("utf-8")  # JSON may hold lone surrogates


class _Cell:
    def __init__(self, cell: dict[str, Any]) -> None:
        self.kind = str(cell.get("cell_type"))
        source = cell.get("source")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
        text = text.removesuffix("\n")
        self.lines = text.split("\n") if text else []
        metadata = cell.get("metadata")
        self.format = str(metadata.get("raw_mimetype") or "") if isinstance(metadata, dict) else ""
        if self.kind == "raw" and not self.format:
            self.kind = "markdown"  # Quarto reads it as markdown; it may be the header


def _cells(data: str, name: str) -> tuple[list[_Cell], str]:
    try:
        notebook = json.loads(data)
    except json.JSONDecodeError as error:
        raise MarkdownError(f"{name}:{error.lineno}: not a notebook: {error.msg}") from None
    except ValueError as error:  # a number with thousands of digits
        raise MarkdownError(f"{name}: not a notebook: {error}") from None
    except RecursionError:
        raise MarkdownError(f"{name}: not a notebook: nested too deeply") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise MarkdownError(f"{name}: not a notebook of format 4 (it has no `cells`): save it again in Jupyter")
    return [_Cell(cell) for cell in cells], _language(notebook.get("metadata"))


def _language(metadata: Any) -> str:
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        table = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(table, dict) and re.fullmatch(r"[\w+#-]+", str(table.get(name))):
            return str(table[name]).lower()
    return "python"


def _fenced(cell: _Cell, language: str) -> list[str]:
    if not cell.lines:
        return []
    runs = _RUN.findall("\n".join(cell.lines))
    fence = max([*runs, "``"], key=len) + "`"
    opening = language if cell.kind == "code" else f"={cell.format.rpartition('/')[2]}"
    return [f"{fence}{{{opening}}}", *cell.lines, fence]
