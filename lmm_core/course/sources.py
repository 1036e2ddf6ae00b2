"""The text of a page as pandoc reads it where there is no Quarto: with the files that it includes,
without what its conditions hide, and with the results of its cells if Quarto has kept them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files.walk import is_inside
from ..logging import LoggerBase, in_file
from ..markdown.blocks import TextBlock, header_content, serialize_blocks
from ..markdown.files import MarkdownFile, is_notebook, read_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.regions import split_fences
from ..quarto.ask_box.material import RUN
from ..quarto.ask_box.visibility import PageConditions
from ..settings.quarto_inputs import INCLUDE, named_in
from ..settings.quarto_project import active_profiles, mapping_in, page_settings

_CELL = re.compile(r"^([ \t]*(?:`{3,}|~{3,}))[ \t]*\{([A-Za-z][\w-]*)[^{}\n]*\}", re.M)
_NOT_RUN = re.compile(r"^[ \t]*(?:#|//|--|%%)\|[ \t]*eval:[ \t]*false\b|\beval[ \t]*=[ \t]*F(?:ALSE)?\b", re.M)
_SHORTCODE = re.compile(r"(?<!\{)\{\{<\s*(\w+)[^{}\n]*>\}\}(?!\})")


def page_source(path: Path, folder: Path, settings: Mapping[str, Any], logger: LoggerBase) -> str:
    """Return the text of a page. folder: the project's; settings: those of `_quarto.yml`. The logger is
    warned of what only Quarto can do. Raise OSError, MarkdownError and QuartoError."""
    text = _frozen(path, folder) or _with_included(read_markdown(path).text, path, folder, (path.resolve(),))
    blocks = parse_markdown_text(text)
    metadata = page_settings(path, header_content(blocks), settings)
    conditions = PageConditions(frozenset(active_profiles()), metadata, path.suffix.lower() in RUN)
    shown = [
        replace(block, source=_plain_cells(conditions.visible_text(block.source)))
        if isinstance(block, TextBlock)
        else block
        for block in blocks
    ]
    words = "".join(piece for block in shown for is_code, piece in split_fences(block.source) if not is_code)
    if names := sorted({found[1] for found in _SHORTCODE.finditer(words)}):
        shortcodes = ", ".join(f"{{{{< {name} … >}}}}" for name in names)
        in_file(logger, path.relative_to(folder)).warning(f"{shortcodes}: only Quarto can do this; it stays as it is")
    return serialize_blocks(shown)


def count_unrun_cells(file: MarkdownFile, folder: Path, settings: Mapping[str, Any]) -> int:
    """Return how many cells of a document Quarto would run whose results it has not kept."""
    path = file.path
    if path.suffix.lower() not in RUN or is_notebook(path) or _frozen(path, folder):
        return 0
    header = header_content(parse_markdown_text(file.text))
    if mapping_in(page_settings(path, header, settings), "execute").get("eval") is False:
        return 0
    codes = [piece for is_code, piece in split_fences(file.text) if is_code]
    return sum(bool(_CELL.match(code)) and not _NOT_RUN.search(code) for code in codes)


def frozen_folder(path: Path, folder: Path) -> Path:
    """Return the folder in which Quarto keeps the results of a document's cells."""
    return folder / "_freeze" / path.relative_to(folder).with_suffix("")


def _frozen(path: Path, folder: Path) -> str:
    """Return the text that Quarto has kept of a document whose cells it ran, or "" if there is none, or
    if the document has changed since."""
    kept = frozen_folder(path, folder) / "execute-results" / "html.json"
    if not (kept.is_file() and is_inside(kept, folder)):
        return ""
    try:
        found = json.loads(kept.read_text("utf-8"))
        same = found["hash"] == hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        return str(found["result"]["markdown"]) if same else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _with_included(text: str, path: Path, folder: Path, around: tuple[Path, ...]) -> str:
    """Return a text with the texts of the files that it includes. around: the files that include it,
    which it cannot include again."""

    def included(found: re.Match[str]) -> str:
        named = named_in(found[0], path, folder)[0]
        if not named.is_file() or not is_inside(named, folder) or named.resolve() in around:
            return found[0]
        inner = read_markdown(named).text
        return _with_included(inner, named, folder, (*around, named.resolve())).strip("\n")

    return INCLUDE.sub(included, text)


def _plain_cells(source: str) -> str:
    """Return a text with the cells that are run as plain code: pandoc takes their fences for text."""
    return "".join(_CELL.sub(r"\1\2", piece) if is_code else piece for is_code, piece in split_fences(source))
