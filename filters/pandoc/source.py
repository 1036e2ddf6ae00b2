"""The source text of a document."""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lmm_core.errors import FilterError
from lmm_core.files.walk import is_document
from lmm_core.markdown.blocks import Block
from lmm_core.markdown.files import MarkdownFile, read_markdown
from lmm_core.markdown.parse import parse_markdown_text

from .call import FilterCall
from .run import PandocRun, base_format


@dataclass(frozen=True)
class Source:
    """The text of files, joined by blank lines as pandoc does. starts: line of the text on which each file begins"""

    text: str
    files: Sequence[MarkdownFile]
    starts: Sequence[int]

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks of the text."""
        return parse_markdown_text(self.text)

    @classmethod
    def load(cls, paths: Sequence[Path]) -> Source:
        """Read files. Raise OSError or MarkdownError."""
        files = [read_markdown(path) for path in paths]
        text, starts = "", []
        for file in files:
            if text:
                text += ("" if text.endswith("\n") else "\n") + "\n"
            starts.append(text.count("\n") + 1)
            text += file.text.removeprefix("\ufeff") if text else file.text
        return cls(text, files, starts)

    def locate(self, line: int) -> tuple[str, int]:
        """Return the file and line for a line of the joined text."""
        if not self.files:
            return "", line
        at = max(bisect.bisect_right(self.starts, line) - 1, 0)
        return _display_path(self.files[at].path), line - self.starts[at] + 1 if line else 0


def _display_path(path: Path) -> str:
    """Return a path relative to Quarto's project, in whose folders pandoc runs, or to this folder."""
    for folder in (Path(os.environ.get("QUARTO_PROJECT_DIR", ".")).absolute(), Path.cwd()):
        if path.absolute().is_relative_to(folder):
            return os.path.relpath(path, folder)
    return str(path)


def left_source(call: FilterCall, ast: dict[str, Any]) -> Source | None:
    """Return the text left by an earlier filter for a markdown target, or None."""
    if not (call.to_markdown and call.previous):
        return None
    parts = [block["c"][1] for block in ast["blocks"] if block.get("t") == "RawBlock"]
    if len(parts) != len(ast["blocks"]):
        return None
    files = input_source(call) or Source("", [], [])
    return replace(files, text="".join(parts))


def input_source(call: FilterCall) -> Source | None:
    """Return the text of the input files, or None if unknown.

    Raise FilterError if the file that `lmm-source` names does not exist. Raise OSError and MarkdownError.
    """
    paths = _input_paths(call)
    if paths is None or not all(path.is_file() for path in paths):
        return None
    if call.in_quarto and not is_document(paths[0].name):
        return None  # a notebook
    return Source.load(paths)


def _input_paths(call: FilterCall) -> list[Path] | None:
    if call.options.source:
        path = Path(call.options.source)
        if not path.is_file():
            raise FilterError(f"The file that lmm-source names does not exist: {path}")
        return [path]
    if call.run.files:
        return call.run.files
    if os.environ.get("QUARTO_DOCUMENT_FILE"):
        return [Path(os.environ.get("QUARTO_DOCUMENT_PATH", "."), os.environ["QUARTO_DOCUMENT_FILE"])]
    return None


def is_its_source(call: FilterCall, ast: dict[str, Any], text: Source) -> bool:
    """Return True if pandoc read its elements from this text. Raise FilterError if pandoc would overwrite a file that
    changed since.
    """
    if call.in_quarto or (call.previous and not needs_text(call)):
        return False
    if call.previous or _is_direct(call) or _is_read_again(call, ast, text):
        return True
    if call.overwrites_source and not call.may_follow_foreign:
        raise FilterError(
            "The file changed on disk after pandoc had read it. Nothing was written. Run the command again."
        )
    return False


def needs_text(call: FilterCall) -> bool:
    """Return True unless pandoc's reader parses all our blocks and divs, as only Pandoc's markdown does."""
    reader = call.run.reader
    return base_format(reader) != "markdown" or "-fenced_divs" in reader or "-native_divs" in reader


def _is_direct(call: FilterCall) -> bool:
    """Return True if pandoc certainly read its elements from the files, unchanged by other filters."""
    is_known = call.run.files is not None and not call.run.defaults and not call.options.source
    return is_known and not call.may_follow_foreign


def _is_read_again(call: FilterCall, ast: dict[str, Any], text: Source) -> bool:
    run = call.run
    if call.options.source or not run.process:
        paths = [str(file.path.resolve()) for file in text.files]
        run = PandocRun(run.executable, Path.cwd(), run.options, paths, run.defaults)
    # pandoc 3 shifts headings after filters, pandoc 2 before
    for with_shift in (True, False) if run.shifts_headings else (True,):
        try:
            inner = run.parse(with_shift=with_shift)
        except FilterError:
            return False
        if inner["blocks"] == ast["blocks"] and foreign_meta(inner["meta"]) == foreign_meta(ast["meta"]):
            return True
    return False


def foreign_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Return pandoc's metadata without our options."""
    return {key: value for key, value in meta.items() if not key.startswith("lmm")}
