"""Prepare a page for pandoc without Quarto: insert includes, remove hidden content, and knit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import RenderError
from ..files.walk import is_inside
from ..indexing.documents import language_of
from ..logging import LoggerBase, in_file
from ..markdown.blocks import Block, HeaderBlock, MetadataBlock, TextBlock, header_content, serialize_blocks
from ..markdown.files import MarkdownFile, is_notebook, read_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.regions import split_fences
from ..models.languages.stemming import language_code
from ..scan.check.document import CheckedDocument
from ..scan.documents.conditions import WITH_CELLS, visible_blocks
from ..scan.knit import knit
from ..settings.project import Project
from ..settings.quarto_inputs import INCLUDE, named_in
from ..settings.quarto_project import as_list, folder_settings, merged, page_rules, page_settings

_CELL = re.compile(r"^([ \t]*(?:`{3,}|~{3,}))[ \t]*\{([A-Za-z][\w-]*)[^{}\n]*\}", re.M)
_SHORTCODE = re.compile(r"(?<!\{)\{\{<\s*(\w+)[^{}\n]*>\}\}(?!\})")


@dataclass(frozen=True, slots=True)
class PageSource:
    """Pandoc's input for a page.

    works: bibliography files
    style: file of a citation style, or ""
    """

    text: str
    language: str
    works: tuple[str, ...] = ()
    style: str = ""
    is_left_out: bool = False


def read_page_source(path: Path, project: Project, logger: LoggerBase) -> PageSource:
    """Return a page's published text.

    project: with its `_quarto.yml`, and the language of pages in no clear one
    Raise RenderError for an unreadable metadata block, which may say what to leave out, OSError, MarkdownError and
    QuartoError."""
    folder, located = project.root, in_file(logger, path.relative_to(project.root))
    text = _with_included(read_markdown(path).text, path, folder, (path.resolve(),))
    blocks = parse_markdown_text(text)
    _check_metadata(blocks)
    header = header_content(blocks)
    own, usual = language_of(blocks, ""), project.quarto["lang"]
    language = usual if own in ("", language_code(usual)) else own
    metadata = page_settings(path, header, {**project.quarto, "lang": language})
    visible = [
        replace(block, source=_plain_cells(block.source)) if isinstance(block, TextBlock) else block
        for block in visible_blocks(blocks, path, metadata)
    ]
    published = knit(visible, page_rules(path, header, project.rules), located)
    published = [block for block in published if isinstance(block, HeaderBlock) or not isinstance(block, MetadataBlock)]
    _warn_of_shortcodes(published, located)
    text = serialize_blocks(published)
    is_left_out = _is_empty(published) and not _is_empty(visible)
    works, style = _named_files(path, header, project)
    return PageSource(text, str(metadata.get("lang") or "en"), works, style, is_left_out)


def _is_empty(blocks: Sequence[Block]) -> bool:
    return not any(block.source.strip() for block in blocks if not isinstance(block, MetadataBlock))


def _check_metadata(blocks: Sequence[Block]) -> None:
    if lines := [error.line for error in CheckedDocument(blocks).find_errors()]:
        raise RenderError(f"line {min(lines)}: this metadata block cannot be read, so what it leaves out is not known")


def _warn_of_shortcodes(blocks: Sequence[Block], logger: LoggerBase) -> None:
    words = "".join(piece for block in blocks for is_code, piece in split_fences(block.source) if not is_code)
    if names := sorted({match[1] for match in _SHORTCODE.finditer(words)}):
        shortcodes = ", ".join(f"{{{{< {name} … >}}}}" for name in names)
        logger.warning(f"{shortcodes}: only Quarto can do this; it stays as it is")


# Bibliography


def _named_files(path: Path, header: Mapping[str, Any], project: Project) -> tuple[tuple[str, ...], str]:
    folder = project.root
    inherited = merged(project.quarto, folder_settings(path, folder))

    def files_under(key: str) -> Iterator[str]:
        base = path.parent if header.get(key) else folder
        value = header.get(key) or inherited.get(key) or []
        for name in as_list(value) or [value]:
            file = folder / str(name).lstrip("/") if str(name).startswith("/") else base / str(name)
            if name and file.is_file() and is_inside(file, folder):
                yield str(file)

    return tuple(files_under("bibliography")), next(files_under("csl"), "")


# Cells


def count_cells(file: MarkdownFile) -> int:
    """Return the number of a document's code cells that Quarto would run."""
    if file.path.suffix.lower() not in WITH_CELLS or is_notebook(file.path):
        return 0
    return sum(is_code and _CELL.match(piece) is not None for is_code, piece in split_fences(file.text))


def _with_included(text: str, path: Path, folder: Path, including: tuple[Path, ...]) -> str:
    """Return a text with its includes replaced. including: this one's includers, to prevent cycles"""

    def included(match: re.Match[str]) -> str:
        file = named_in(match[0], path, folder)[0]
        if not file.is_file() or not is_inside(file, folder) or file.resolve() in including:
            return match[0]
        inner = read_markdown(file).text
        return _with_included(inner, file, folder, (*including, file.resolve())).strip("\n")

    return INCLUDE.sub(included, text)


def _plain_cells(source: str) -> str:
    return "".join(_CELL.sub(r"\1\2", piece) if is_code else piece for is_code, piece in split_fences(source))
