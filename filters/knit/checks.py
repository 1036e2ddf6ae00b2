"""Checks before knitting."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from lmm_core.errors import FilterError
from lmm_core.logging import ListLogger, LocatedLogger, LoggerBase
from lmm_core.markdown.blocks import Block, header_content, serialize_blocks
from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import NOT_CLOSED, KnitRules, header_rules
from lmm_core.scan.check.mistakes import read_documents, typo_lines, with_types
from lmm_core.scan.header import report_errors
from lmm_core.scan.knit import find_dangling, find_unclosed_div, knit
from lmm_core.scan.left_out import find_pieces

from ..pandoc.document import FilterDocument
from ..pandoc.outputs import holds_markdown
from ..pandoc.run import base_format
from ..pandoc.source import Source, needs_text

# Divs and blocks that a reader did not parse
_UNSEEN_MARKS = (":::", "HorizontalRule", "<div", "<section", "<!--")


def refuse_annotated_output(document: FilterDocument) -> None:
    """Raise FilterError if the output is a source."""
    output = document.call.run.output
    if output is None or not holds_markdown(output):
        return
    text = read_markdown(output).text
    if serialize_blocks(knit(parse_markdown_text(text), document.rules, ListLogger())) != text:
        raise FilterError(
            f"Refused: {output} has annotations, or parts that lecture notes leave out, so it is a source. "
            "Name another output, or remove that file first."
        )


def require_reader(document: FilterDocument) -> None:
    """Raise FilterError if pandoc's reader may miss divs or blocks."""
    run = document.call.run
    is_read = run.reads_markdown or base_format(run.reader) == "ipynb"
    if not is_read or not needs_text(document.call):
        return
    elements = json.dumps(document.ast["blocks"])
    if any(mark in elements for mark in _UNSEEN_MARKS):
        raise FilterError(
            f"Pandoc's reader {run.reader} does not see all divs and blocks that lecture notes leave out, so the text "
            "is needed. Give pandoc the file by its name, and this filter before others, or read it with -f markdown."
        )


def report_dangling(blocks: Sequence[Block], rules: KnitRules, logger: LoggerBase) -> None:
    """Warn of references to parts left out."""
    for line, message in find_dangling(blocks, rules):
        logger.warning(message, line)


def check_quarto_file(document: FilterDocument, text: Source) -> None:
    """Report errors in a page's file. Raise FilterError for serious ones."""
    _refuse_faults(document)
    logger = LocatedLogger(document.logger, text.locate)
    report_errors(text.blocks, logger)
    if (line := find_unclosed_div(text.blocks, document.rules)) is not None:
        file, line = text.locate(line)
        raise FilterError(f"{file}:{line}: {NOT_CLOSED}")
    report_dangling(text.blocks, document.rules, logger)


def _refuse_faults(document: FilterDocument) -> None:
    from lmm_core.quarto.leaks.causes import explain_reader
    from lmm_core.quarto.native_blocks import find_native
    from lmm_core.settings.quarto_inputs import with_included
    from lmm_core.settings.quarto_project import page_settings, read_project

    assert document.path is not None
    folder = Path(os.environ.get("QUARTO_PROJECT_DIR") or document.path.parent)
    files = [*read_documents(with_included([document.path], folder))]
    rules = with_types(document.rules, files)
    documents = [(os.path.relpath(page.file.path, folder), page) for page in files]
    problems = [*typo_lines(documents, rules), *find_native(documents)]
    settings = page_settings(document.path, header_content(files[0].blocks), read_project(folder))
    if (message := explain_reader(settings)) and any(_leaves_out(page.blocks, rules) for page in files):
        problems.append(f"{documents[0][0]}: {message}")
    if problems:
        raise FilterError("\n".join(problems))


def _leaves_out(blocks: Sequence[Block], rules: KnitRules) -> bool:
    return any(piece.is_out for piece in find_pieces(blocks, header_rules(header_content(blocks), rules)))
