"""Typos: what has to be mended in documents before they are published.

A block that cannot be read, and a word that is nearly one of ours, show what was to be left
out. The types of all documents of a project count, in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from .logging import LoggerBase, in_file
from .markdown.blocks import Block, MarkdownError, Problem
from .markdown.files import load_markdown
from .markdown.parse import parse_markdown_text
from .scan.header import find_errors
from .scan.knit import KnitRules
from .scan.near_misses import find_near_misses, types_in

MEANT = (
    "a word that is meant as it stands: name it under [knit] allowed_words in config.toml, or write knit: true "
    "in a block before the part"
)


def with_types(rules: KnitRules, documents: Iterable[Sequence[Block]]) -> KnitRules:
    """Return the rules with the types that parts of some documents have."""
    return replace(rules, types=rules.types.union(*map(types_in, documents)))


def find_typos(blocks: Sequence[Block], rules: KnitRules) -> list[Problem]:
    """Return what has to be mended in a document before it is published, by lines."""
    return sorted([*find_errors(blocks), *find_near_misses(blocks, rules)], key=lambda problem: problem.line)


def report_typos(paths: Sequence[Path], rules: KnitRules, logger: LoggerBase) -> None:
    """Report what has to be mended in some files as errors. What cannot be read is left to others."""
    documents = dict(read_blocks(paths))
    rules = with_types(rules, documents.values())
    found = [(path, problem) for path, blocks in documents.items() for problem in find_typos(blocks, rules)]
    for path, problem in found:
        in_file(logger, path).error(problem.message, problem.line)
    if found:
        logger.error(MEANT)


def read_blocks(paths: Iterable[Path]) -> Iterator[tuple[Path, list[Block]]]:
    """Yield the blocks of those files that can be read."""
    for path in paths:
        try:
            yield path, parse_markdown_text(load_markdown(path).text)
        except (OSError, MarkdownError):
            continue
