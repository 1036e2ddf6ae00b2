"""Markdown text of a Jupyter notebook, with all cells joined as by Quarto."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import MarkdownError

_RUN = re.compile(r"`{3,}")


def read_notebook(data: str, name: str) -> str:
    """Return a notebook's markdown, and its code in fences.

    name: of the file, for messages. Raise MarkdownError if the JSON is no notebook.
    """
    cells, language = _cells(data, name)
    parts = [cell.lines if cell.kind == "markdown" else _fenced(cell, language) for cell in cells]
    text = "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)
    return text.encode("utf-8", "replace").decode("utf-8")  # JSON may hold lone surrogates


class _Cell:
    """A cell; `format` is that of a raw cell."""

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
