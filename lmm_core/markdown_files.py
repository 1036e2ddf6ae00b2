"""The passes on files, for the command, the REPL and scripts.

These functions read the file, merge configuration into the pass's arguments,
and write the result back; the passes themselves (`lmm_core.scan`) know neither
files nor settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .config import load_settings
from .logging import ConsoleLogger, LoggerBase, in_file
from .markdown.blocks import Block, HeaderBlock, Problem, Spelling, serialize_blocks
from .markdown.files import MarkdownFile, load_markdown, project_root, save_markdown
from .markdown.parse import parse_markdown_text
from .markdown.spelling import convert
from .models.annotator import Annotator
from .scan.header import report_errors, scan
from .scan.knit import KnitRules, header_rules, knit
from .scan.options import ScanOpts
from .scan.rag import scan_rag

Save = bool | str | Path
Work = Callable[[list[Block], MarkdownFile, LoggerBase], Sequence[Block]]


def markdown_scan(path: str | Path, save: Save = True, logger: LoggerBase | None = None) -> list[Block]:
    """Complete the header (`~title`, `~docid`) and report errors.

    save: True writes the file, False writes nothing, a path writes there. Returns
    the blocks. Raises OSError and MarkdownError (no UTF-8, changed meanwhile)."""
    return _run(Path(path), _scan, save, logger)


def markdown_rag(
    path: str | Path,
    opts: ScanOpts | None = None,
    save: Save = True,
    annotator: Annotator | None = None,
    logger: LoggerBase | None = None,
) -> list[Block]:
    """Complete the header and annotate the sections; arguments and errors as
    `markdown_scan` and `scan_rag`."""
    return _run(Path(path), rag_work(opts, annotator), save, logger)


def markdown_knit(
    path: str | Path, keep: Sequence[str] = (), save: Save = False, logger: LoggerBase | None = None
) -> list[Block]:
    """The lecture notes of a file; `keep` are types that stay in."""
    return _run(Path(path), knit_work(keep), save, logger)


def rag_work(opts: ScanOpts | None = None, annotator: Annotator | None = None) -> Work:
    """What `markdown_rag` does with a file's blocks."""

    def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        settings = load_settings(file.path)
        spelling: Any = settings.spelling
        scanned = _scan(blocks, file, logger)
        rules = _rules(blocks, settings.rules)
        return scan_rag(scanned, opts, annotator, docid_of(file.path), spelling, rules, logger=logger)

    return work


def knit_work(keep: Sequence[str] = ()) -> Work:
    """What `markdown_knit` does with a file's blocks."""

    def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        rules = _rules(blocks, load_settings(file.path).rules)
        report_errors(blocks, logger)
        return knit(blocks, KnitRules(rules.div_types, rules.keep | set(keep)), logger)

    return work


def convert_work(to: Spelling) -> Work:
    """Converts a file's metadata blocks to one spelling."""

    def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        report_errors(blocks, logger)
        return convert(blocks, to)

    return work


def _rules(blocks: Sequence[Block], rules: KnitRules) -> KnitRules:
    header = blocks[0] if blocks else None
    return header_rules(header.content, rules) if isinstance(header, HeaderBlock) else rules


def _scan(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
    return scan(blocks, file.path.stem, docid_of(file.path), logger)


def docid_of(path: Path) -> str:
    """A file's identity where the writer gives none: its path from the project's
    root, with `/` on every system."""
    return Path(os.path.relpath(path.resolve(), project_root(path))).as_posix()


def _run(path: Path, work: Work, save: Save, logger: LoggerBase | None) -> list[Block]:
    file, blocks = work_on(path, work, logger or ConsoleLogger())
    text = serialize_blocks(blocks)
    if save is True and text != file.text:
        save_markdown(path, text, file)
    elif not isinstance(save, bool):
        save_markdown(Path(save), text, file if _same(path, Path(save)) else None)
    return blocks


def work_on(path: Path, work: Work, logger: LoggerBase) -> tuple[MarkdownFile, list[Block]]:
    """Read a file and do some work on its blocks; nothing is written. What is wrong
    in the file is reported with its line."""
    file = load_markdown(path)
    located = in_file(logger, path)
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    for problem in problems:
        located.warning(problem.message, problem.line)
    return file, list(work(blocks, file, located))


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
