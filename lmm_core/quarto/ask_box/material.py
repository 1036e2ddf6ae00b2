"""Read the material of an ask box from what the pages of a site show, and from the types it includes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...files.walk import NOTEBOOK
from ...index.chunks import anchor_of
from ...logging import LoggerBase, in_file
from ...markdown.blocks import Block, HeadingBlock, TextBlock, header_content
from ...markdown.files import read_markdown
from ...markdown.originals import restore_originals
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules, types_of, verdicts
from ...markdown.tree import blocks_to_tree
from ...retrieve.passages import Material, build_material
from ...scan.knit import strip_divs
from ...scan.rag_parts import extract_parts
from ...settings.project import Project
from ...settings.quarto_project import active_profiles, page_rules, page_settings
from ...store.vector_store import ScoredPoint
from ...workflows.document import docid_of, project_of
from ...workflows.encode import blocklist_encode
from .visibility import PageConditions

RUN = (".qmd", ".rmd", ".rmarkdown", NOTEBOOK)  # documents whose code is run


@dataclass(frozen=True, slots=True)
class SitePage:
    """A document and the page that shows it, a path from the site's folder. An included document has
    the page of the document that includes it, in which its header is a block before what follows."""

    source: Path
    page: str
    is_included: bool = False


def public_blocks(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks that stay in the notes, with their metadata. Headings carry the identifiers
    that Pandoc gives them, which depend on the headings that are left out, too."""
    blocks = extract_parts(restore_originals(blocks).blocks, rules)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    kept: list[Block] = [] if tree.get("knit") is False else [*tree.metadata]
    counts: Counter[str] = Counter()
    for node, is_out in verdicts(tree, rules):
        block = getattr(node, "heading", None) or getattr(node, "block", None)
        if isinstance(block, HeadingBlock):
            block = _with_identifier(block, counts)
        elif isinstance(block, TextBlock) and (":::" in block.source or "<" in block.source):
            block = replace(block, source=strip_divs(block.source, rules))
        if not is_out and block is not None:
            kept += [*node.metadata, block]
    return kept


def _with_identifier(block: HeadingBlock, counts: Counter[str]) -> HeadingBlock:
    return replace(block, source=f"{'#' * block.level} {block.title} {{#{anchor_of(block, counts)}}}\n\n")


def read_material(
    pages: Sequence[SitePage], project: Project, settings: Mapping[str, Any], logger: LoggerBase
) -> tuple[Material, dict[str, str]]:
    """Return the material of some pages, and the page of each source. settings: those of
    `_quarto.yml`. Raise OSError, MarkdownError, QuartoError and ConfigError."""
    points: list[ScoredPoint] = []
    sources: dict[str, str] = {}
    for page in pages:
        source = Path(os.path.relpath(page.source.resolve(), project.root.resolve())).as_posix()
        sources[source] = page.page
        blocks = parse_markdown_text(read_markdown(page.source).text)
        located = in_file(logger, page.source)
        own = project_of(blocks, project, located)
        if own is None:
            continue
        header = header_content(blocks)
        if page.is_included and types_of(header.get("type")):
            continue  # in the page, it is of what follows it; the document itself does not show how much that is
        metadata = page_settings(page.source, header, settings)
        conditions = PageConditions(frozenset(active_profiles()), metadata, page.source.suffix.lower() in RUN)
        on_page = [_visible(block, conditions) for block in restore_originals(blocks).blocks]
        kept = public_blocks(on_page, page_rules(page.source, header, own.rules))
        chunks = blocklist_encode(kept, own, docid=docid_of(page.source), source=source, logger=located).chunks
        points += [ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks]
    return build_material(points, list(sources)), sources


def _visible(block: Block, conditions: PageConditions) -> Block:
    return replace(block, source=conditions.visible_text(block.source)) if isinstance(block, TextBlock) else block
