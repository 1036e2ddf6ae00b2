"""Pooling: texts that make no sense alone (equations, very short ones) are joined with
their neighbours. First, which texts may be joined at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..markdown.blocks import (
    BOM,
    Attributes,
    Block,
    ErrorBlock,
    HeaderBlock,
    MetadataBlock,
    TextBlock,
    blank,
    count_lead,
    parse_attributes,
)
from ..markdown.divs import find_parts
from ..markdown.rag_only import KnitRules
from ..markdown.regions import DIV_OPEN, Regions
from ..scan.options import SplitOpts
from ..scan.rag_parts import Excerpt, div_kind

_LABEL = r"[ \t]*(?:\{[^{}\n]*\}|\([^()\n]{1,40}\))?[ \t]*[.,;]?"
_EQUATION = re.compile(
    rf"(?:\$\$(?:[^$\\]|\\.|\$(?!\$))*\$\${_LABEL}|\\\[(?:[^\\]|\\(?!\]))*\\\]{_LABEL}"
    rf"|\\begin\{{(?P<name>[A-Za-z]+\*?)\}}.*?\\end\{{(?P=name)\}}{_LABEL})\s*",
    re.S,
)
# Environments of LaTeX that hold no formula, but text.
_PROSE_ENVIRONMENT = re.compile(r"\\begin\{(?:quote|quotation|itemize|enumerate|description|center|verbatim|tabular)")


@dataclass(slots=True)
class Run:
    """Texts that may be joined: they follow each other in the file, in one section.
    `metadata` are the blocks that annotate the text of a run. It has one text then, as
    it has where it is `alone`."""

    texts: list[TextBlock]
    metadata: list[MetadataBlock] = field(default_factory=list)
    alone: bool = False


def runs(blocks: Sequence[Block], rules: KnitRules) -> Iterator[Block | Run]:
    """The blocks in their order, with runs in place of texts. A text with metadata of
    its own, a RAG-only div and an excerpt are runs by themselves. Texts without content, and
    metadata that cannot be read, are handed on as blocks."""
    run: Run | None = None
    metadata: list[MetadataBlock] = []
    for block in blocks:
        text = _text(block)
        if text and run and _joins(run, text, rules):
            run.texts.append(text)
            continue
        if run:
            yield run
        run = Run([text], metadata, bool(metadata) or _is_alone(text, rules)) if text else None
        if not text:
            yield block
        is_own = isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock)
        metadata = [*metadata, block] if is_own and isinstance(block, MetadataBlock) else []
    if run:
        yield run


def _text(block: Block) -> TextBlock | None:
    """The block, where it is a text and holds something."""
    is_text = isinstance(block, TextBlock) and not isinstance(block, ErrorBlock)
    return block if is_text and isinstance(block, TextBlock) and not blank(block.content) else None


def _joins(run: Run, block: TextBlock, rules: KnitRules) -> bool:
    """Whether a text that comes after a run may be joined with it."""
    last = run.texts[-1]
    follows = first_line(last) + last.source.count("\n") == block.line
    return follows and not run.alone and not _is_alone(block, rules)


def _is_alone(block: TextBlock, rules: KnitRules) -> bool:
    return isinstance(block, Excerpt) or div_type(block, rules) is not None


def first_line(block: Block) -> int:
    """The line on which a block's source starts: before its own where blank lines are
    in front of it."""
    return block.line - count_lead(block.source)


def div_type(block: TextBlock, rules: KnitRules) -> str | None:
    """The type of the RAG-only div that a text block is. None where it is no such div, or
    more than one."""
    if isinstance(block, Excerpt):
        return block.kind
    if not block.source.lstrip(BOM + " \t\r\n").startswith((":", "<")):
        return None  # as most texts
    attributes = _first_attributes(block.content)
    kind = div_kind(attributes, rules)
    return kind if kind and _is_one_div(block.content) else None


def _first_attributes(text: str) -> Attributes:
    """The attributes of the div that a text begins with, none where it begins with none."""
    if opened := DIV_OPEN.match(text):
        return parse_attributes(opened["attributes"])
    parts = find_parts(text) if text.startswith(("<div", "<section")) else []
    return parts[0].attributes if parts and parts[0].start == 0 else Attributes()


def _is_one_div(text: str) -> bool:
    """Whether the div that a text begins with ends where the text does."""
    regions = Regions(text)
    return (regions.div_end(0) if text.startswith(":::") else regions.end(0)) == len(text)


def pool_blocks(blocks: Sequence[Block], opts: SplitOpts) -> list[Block]:
    """The blocks, with equations and short texts joined with their neighbours. The
    source of what is joined is that of its parts, one after the other."""
    pooled: list[Block] = []
    for part in runs(blocks, opts.rules):
        pooled += _pool(part.texts, opts.short) if isinstance(part, Run) else [part]
    return pooled


def _pool(texts: list[TextBlock], short: int) -> list[TextBlock]:
    if len(texts) == 1:
        return texts
    pools: list[list[TextBlock]] = []
    length = 0
    for group in _equation_groups(texts, short):
        if pools and length < short:
            pools[-1] += group
        else:
            pools.append(group)
            length = 0
        length += sum(len(text.content) for text in group)
    if len(pools) > 1 and length < short:
        pools[-2:] = [pools[-2] + pools[-1]]
    return [_join(pool) for pool in pools]


def _join(texts: list[TextBlock]) -> TextBlock:
    return texts[0] if len(texts) == 1 else replace(texts[0], source="".join(text.source for text in texts))


def _equation_groups(texts: list[TextBlock], short: int) -> list[list[TextBlock]]:
    """Texts in groups: equations with the text before them (at the start with the one
    after them), and with the next equation where only a short text is between."""
    formulas = [is_equation(text) for text in texts]
    groups: list[list[TextBlock]] = []
    head = next((at for at, formula in enumerate(formulas) if not formula), 0)  # equations at the start
    for at, text in enumerate(texts):
        bridge = 0 < at < len(texts) - 1 and formulas[at - 1] and formulas[at + 1] and len(text.content) < short
        if groups and (formulas[at] or bridge or at == head):
            groups[-1].append(text)
        else:
            groups.append([text])
    return groups


def is_equation(block: TextBlock) -> bool:
    """Whether a text block is nothing but displayed formulas, with their labels."""
    text = block.content.strip()
    if not text.startswith(("$$", "\\[", "\\begin{")) or _PROSE_ENVIRONMENT.match(text):
        return False
    at = 0
    while found := _EQUATION.match(text, at):
        at = found.end()
    return at == len(text)
