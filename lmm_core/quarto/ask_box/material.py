"""Read the published material of documents for an ask box."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...files.walk import NOTEBOOK, name_from
from ...indexing.chunks import anchor_of
from ...indexing.documents import encode_passages
from ...indexing.passages import Material, build_material
from ...logging import LoggerBase
from ...markdown.blocks import Attributes, Block, HeadingBlock, TextBlock, header_content, parse_attributes
from ...markdown.divs import Part, find_cuts, without
from ...markdown.edits import restore_originals
from ...markdown.files import MarkdownFile
from ...markdown.metadata.body import parse_metadata
from ...markdown.parse import parse_markdown_text
from ...markdown.regions import split_fences
from ...markdown.tree import blocks_to_tree
from ...markdown.visibility import KnitRules, in_notes, types_of, verdicts
from ...retrieve.plain_text import CELL_OPTION
from ...scan.documents.document import docid_of, project_of
from ...scan.knit import strip_divs
from ...scan.rag_parts import extract_parts
from ...settings.project import Project
from ...settings.quarto_project import active_profiles, mapping_in, page_rules, page_settings
from ...store.vector_store import ScoredPoint

RUN = (".qmd", ".rmd", ".rmarkdown", NOTEBOOK)  # documents with executable code


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
    blocks = extract_parts(restore_originals(blocks).blocks, rules)
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


def read_material(
    page: SitePage, text: str, project: Project, settings: Mapping[str, Any], logger: LoggerBase
) -> Material:
    """Return a document's published material. settings: of `_quarto.yml`.

    Raise QuartoError and ConfigError."""
    blocks = parse_markdown_text(text)
    own = project_of(blocks, project, logger)
    header = header_content(blocks)
    # an included document's type applies to text after it, which is not part of the document
    if own is None or (page.is_included and types_of(header.get("type"))):
        return Material()
    metadata = page_settings(page.source, header, settings)
    conditions = PageConditions(frozenset(active_profiles()), metadata, page.source.suffix.lower() in RUN)
    on_page = [
        replace(block, source=conditions.visible_text(block.source)) if isinstance(block, TextBlock) else block
        for block in restore_originals(blocks).blocks
    ]
    published = public_blocks(on_page, page_rules(page.source, header, own.rules))
    chunks = encode_passages(published, own, logger, docid_of(page.source), name_from(project.root, page.source))
    return build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)


# Remove text that Quarto does not show: conditional content and hidden code

HTML = frozenset({"html", "html4", "html5", "html:js"})
_SPAN = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\](\{[^{}\n]*\.content-(?:hidden|visible)\b[^{}\n]*\})")
_CELL = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*\{(?P<language>[A-Za-z][\w-]*)(?P<options>[^{}\n]*)\}")
_OFF = re.compile(r"\b(?:echo|include)\s*=\s*F(?:ALSE)?\b")
_COMPUTED = re.compile(r"`(?:r|\{\w+\}) [^`\n]+`")


@dataclass(frozen=True, slots=True)
class PageConditions:
    """Conditions for the visibility of content.

    profiles: of the render
    metadata: document's, merged over the project's
    runs: code is executed (all documents but .md)"""

    profiles: frozenset[str]
    metadata: Mapping[str, Any]
    runs: bool

    def visible_text(self, source: str) -> str:
        hidden = [(cut.start, cut.end) for cut in find_cuts(source, self._goes) if cut.part is not None]
        source = without(source, hidden)  # metadata divs are read later
        pieces = (self._code(piece) if is_code else self._words(piece) for is_code, piece in split_fences(source))
        return "".join(pieces)

    def _goes(self, part: Part) -> bool | None:
        return None if part.metadata is not None else self.hides(part.attributes)

    def hides(self, attributes: Attributes) -> bool:
        """Return True if a div or span with these attributes is hidden."""
        if "content-hidden" in attributes.classes:
            return self._holds(attributes.pairs)
        return "content-visible" in attributes.classes and not self._holds(attributes.pairs)

    def _holds(self, pairs: Mapping[str, str]) -> bool:
        conditions = {"format": HTML.__contains__, "profile": self.profiles.__contains__, "meta": self._is_set}
        for key, value in pairs.items():
            word, _, name = key.partition("-")
            if word in ("when", "unless") and name in conditions and conditions[name](value) != (word == "when"):
                return False
        return True

    def _is_set(self, path: str) -> bool:
        value: Any = self.metadata
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return bool(value)

    def _words(self, text: str) -> str:
        if ".content-" in text:
            text = _SPAN.sub(lambda span: "" if self.hides(parse_attributes(span[1])) else span[0], text)
        return _COMPUTED.sub("", text) if self.runs else text

    def _code(self, cell: str) -> str:
        head = _CELL.match(cell)
        if head is None or not self.runs:
            return cell
        own = parse_metadata("\n".join(CELL_OPTION.findall(cell))).content or {}
        options = {**mapping_in(self.metadata, "execute"), **own}
        is_off = False in (options.get("echo"), options.get("include")) or _OFF.search(head["options"])
        return "" if is_off else CELL_OPTION.sub("", cell)
