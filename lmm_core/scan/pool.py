"""Pooling: texts that make no sense alone (equations, very short ones) are joined with
their neighbours. First, which texts may be joined at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock, TextBlock, blank, count_lead
from ..markdown.divs import find_parts
from .knit import RAG_ONLY, KnitRules, types_of
from .options import SplitOpts

_LABEL = r"[ \t]*(?:\{[^{}\n]*\}|\([^()\n]{1,40}\))?[ \t]*[.,;]?"
_EQUATION = re.compile(
    rf"(?:\$\$(?:[^$]|\\\$|\$(?!\$))*\$\${_LABEL}|\\\[(?:[^\\]|\\(?!\]))*\\\]{_LABEL}"
    rf"|\\begin\{{(?P<name>[A-Za-z]+\*?)\}}.*?\\end\{{(?P=name)\}}{_LABEL})\s*",
    re.S,
)
# Environments of LaTeX that hold no formula, but text.
_PROSE_ENVIRONMENT = re.compile(r"\\begin\{(?:quote|quotation|itemize|enumerate|description|center|verbatim|tabular)")


@dataclass(slots=True)
class Run:
    """Texts that may be joined: they follow each other in the file, in one section.
    `metadata` are the blocks that annotate the text of a run; it has one text then."""

    texts: list[TextBlock]
    metadata: list[MetadataBlock] = field(default_factory=list)


def runs(blocks: Sequence[Block], rules: KnitRules) -> Iterator[Block | Run]:
    """The blocks in their order, with runs in place of texts. A text with metadata of
    its own and a RAG-only div are runs by themselves. Texts without content, and
    metadata that cannot be read, are handed on as blocks."""
    open_run: Run | None = None
    metadata: list[MetadataBlock] = []
    for block in blocks:
        is_text = isinstance(block, TextBlock) and not isinstance(block, ErrorBlock) and not blank(block.content)
        if open_run and is_text and isinstance(block, TextBlock) and _joins(open_run, block, rules):
            open_run.texts.append(block)
            continue
        if open_run:
            yield open_run
            open_run = None
        if is_text and isinstance(block, TextBlock):
            open_run = Run([block], metadata)
        else:
            yield block
        is_own = isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock)
        metadata = [*metadata, block] if is_own and isinstance(block, MetadataBlock) else []
    if open_run:
        yield open_run


def _joins(run: Run, block: TextBlock, rules: KnitRules) -> bool:
    """Whether a text that comes directly after a run may be joined with it."""
    last = run.texts[-1]
    follows = first_line(last) + last.source.count("\n") == block.line
    return follows and not run.metadata and div_type(last, rules) is None and div_type(block, rules) is None


def first_line(block: Block) -> int:
    """The line on which a block's source starts: before its own where blank lines are
    in front of it."""
    return block.line - count_lead(block.source)


def div_type(block: TextBlock, rules: KnitRules) -> str | None:
    """The type of the RAG-only div that a text block is: its class, or the attribute
    `type` of `.rag-only`. None where it is no such div, or more than one."""
    text = block.content
    if not text.startswith((":::", "<div", "<section")):
        return None
    part = next(iter(find_parts(text)), None)
    if part is None or part.is_metadata or part.start or part.end < len(text):
        return None
    types = [name for name in part.attributes.classes if name in rules.div_types]
    named = types_of(part.attributes.pairs.get("type")) if RAG_ONLY in types else []
    words = [*named, *(name for name in types if name != RAG_ONLY), *types]
    return words[0] if words else None


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
    for at, text in enumerate(texts):
        bridge = 0 < at < len(texts) - 1 and formulas[at - 1] and formulas[at + 1] and len(text.content) < short
        leading = not formulas[at] and all(formulas[:at]) if len(groups) == 1 else False
        if groups and (formulas[at] or bridge or leading):
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
