"""Read the published material of documents for an ask box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...files.walk import name_from
from ...indexing.chunks import anchor_of
from ...indexing.documents import encode_passages
from ...indexing.passages import Material, build_material
from ...logging import LoggerBase
from ...markdown.blocks import Block, HeadingBlock, TextBlock, header_content
from ...markdown.edits import restore_originals
from ...markdown.files import MarkdownFile
from ...markdown.parse import parse_markdown_text
from ...markdown.tree import blocks_to_tree
from ...markdown.visibility import KnitRules, in_notes, types_of, verdicts
from ...scan.documents.conditions import visible_blocks
from ...scan.documents.document import docid_of, project_of
from ...scan.knit import strip_divs
from ...scan.left_out import without_hidden_notes
from ...scan.rag_parts import extract_parts
from ...settings.project import Project
from ...settings.quarto_project import page_rules, page_settings
from ...store.vector_store import ScoredPoint


@dataclass(frozen=True, slots=True)
class SitePage:
    """A document and its page.

    page: path in the site; for an included document, of the including page
    file: None if not read yet"""

    source: Path
    page: str
    is_included: bool = False
    file: MarkdownFile | None = field(default=None, repr=False, compare=False)


def public_blocks(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return published blocks, whose identifiers depend on hidden headings as well."""
    blocks = extract_parts(without_hidden_notes(restore_originals(blocks).blocks, rules), rules)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    published: list[Block] = [] if in_notes(tree, rules, is_header=True) is False else [*tree.metadata]
    counts: Counter[str] = Counter()
    for node, is_out in verdicts(tree, rules):
        block = getattr(node, "heading", None) or getattr(node, "block", None)
        if isinstance(block, HeadingBlock):
            heading = f"{'#' * block.level} {block.title} {{#{anchor_of(block, counts)}}}\n\n"
            block = replace(block, source=heading)
        elif isinstance(block, TextBlock) and (":::" in block.source or "<" in block.source):
            block = replace(block, source=strip_divs(block.source, rules))
        if not is_out and block is not None:
            published += [*node.metadata, block]
    return published


def read_material(page: SitePage, text: str, project: Project, logger: LoggerBase) -> Material:
    """Return a document's published material. project: with its `_quarto.yml`. Raise QuartoError and ConfigError."""
    blocks = parse_markdown_text(text)
    own = project_of(blocks, project, logger)
    header = header_content(blocks)
    # an included document's type applies to text after it, which is not part of the document
    if own is None or (page.is_included and types_of(header.get("type"))):
        return Material()
    settings = page_settings(page.source, header, project.quarto)
    on_page = visible_blocks(restore_originals(blocks).blocks, page.source, settings)
    published = public_blocks(on_page, page_rules(page.source, header, own.rules))
    chunks = encode_passages(published, own, logger, docid_of(page.source), name_from(project.root, page.source))
    return build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)
