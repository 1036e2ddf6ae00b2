"""Sources: the parts of documents that are left out of the notes, and what stays in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import MarkdownError
from ...logging import ListLogger, LoggerBase, in_file
from ...markdown.blocks import (
    Block,
    ErrorBlock,
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    count_lead,
    header_content,
)
from ...markdown.divs import Part, cut, find_parts
from ...markdown.edits import read_edit
from ...markdown.files import load_markdown
from ...markdown.metadata.body import MESSAGE_KEYS
from ...markdown.originals import unfold_edits
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules, close_parts, div_verdict, node_block, properties_verdict, verdicts
from ...markdown.tree import blocks_to_tree
from ...scan.knit import knit, slug
from ...settings.project import Project
from ...settings.quarto_project import page_rules
from ..setup import named_in
from .site_text import strings

# Values that are said in every page's navigation, or are no prose.
_NOT_LOOKED_FOR = frozenset({"title", "titles", "docid", "annotator", "hash", "txthash", "type"})
_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """A piece of a document as it is rendered, in its place: `text` at `line`; whether it is left
    out, and whether it is metadata, which has no place on a page."""

    line: int
    text: str
    is_out: bool
    is_metadata: bool = False
    slug: str = ""  # of a heading


@dataclass(frozen=True, slots=True)
class Secret:
    """A piece of a source that is left out; `place` is its number among the source's pieces."""

    source: Path
    piece: SourcePiece
    pieces: Sequence[SourcePiece] = field(repr=False)
    place: int = 0

    @property
    def text(self) -> str:
        return self.piece.text


@dataclass(slots=True)
class Sources:
    """What is left out of some documents, and what stays in, by document; `names` are those that
    the notes use themselves, of headings and in references."""

    secrets: list[Secret] = field(default_factory=list)
    kept: list[list[str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def read_sources(sources: Sequence[Path], also_shown: Sequence[Path], project: Project, logger: LoggerBase) -> Sources:
    """The parts of the sources that are left out, and what these and others show. A file that is
    only included in parts that are left out is left out as a whole. What cannot be read is
    reported."""
    found = Sources(kept=[_project_texts(project)])
    loaded = [(path, blocks) for path in dict.fromkeys([*sources, *also_shown]) if (blocks := _load(path, logger))]
    hidden = _included_out(loaded, project)
    for path, blocks in loaded:
        rules = page_rules(path, header_content(blocks), project.rules)
        pieces = [*find_pieces(blocks, rules)]
        if path.resolve() in hidden:
            pieces = [SourcePiece(one.line, one.text, True, one.is_metadata, one.slug) for one in pieces]
        if path in sources:
            found.secrets += [Secret(path, one, pieces, at) for at, one in enumerate(pieces) if one.is_out]
        if path.resolve() not in hidden:
            found.kept.append([*stays_in(blocks, rules)])
            found.names |= {one.slug for one in pieces if one.slug and not one.is_out}
            found.names |= {name for text in found.kept[-1] for name in _NAMES.findall(text)}
    return found


def _load(path: Path, logger: LoggerBase) -> list[Block]:
    try:
        return parse_markdown_text(load_markdown(path).text)
    except OSError as error:
        in_file(logger, path).error(error.strerror or str(error))
    except MarkdownError as error:
        logger.error(str(error))
    return []


def _included_out(loaded: Sequence[tuple[Path, list[Block]]], project: Project) -> set[Path]:
    """The files that are included in parts that are left out, and nowhere else."""
    shown: set[Path] = set()
    hidden: set[Path] = set()
    for path, blocks in loaded:
        if not any("{{<" in block.source for block in blocks):
            continue
        rules = page_rules(path, header_content(blocks), project.rules)
        for piece in find_pieces(blocks, rules):
            found = {inner.resolve() for inner in named_in(piece.text, path, project.root)}
            hidden |= found if piece.is_out else set()
            shown |= set() if piece.is_out else found
    return hidden - shown


def _project_texts(project: Project) -> list[str]:
    """The writer's words for the whole site: titles and the like."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.y*ml*"))]


def stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """The texts of a document that knitting leaves in."""
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from strings(block.content)
        else:
            yield block.source


def find_pieces(blocks: Sequence[Block], rules: KnitRules) -> Iterator[SourcePiece]:
    """The pieces of a document in their order, metadata before them."""
    for block in blocks:
        if read_edit(block) is not None:
            yield SourcePiece(block.line, block.source, True, True)  # the new text; the old one is what stays in
        elif isinstance(block, MetadataBlock):
            yield from (SourcePiece(block.line, text, True, True) for text in _values(block))
    tree = blocks_to_tree(close_parts(unfold_edits(blocks).blocks, rules))
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        text = node_block(node)
        if isinstance(text, ErrorBlock):
            yield SourcePiece(text.line, text.source, True)
        elif isinstance(text, HeadingBlock):
            name = text.attributes.identifier or slug(text.title)
            yield SourcePiece(text.line, text.source, is_out, slug=name)
        elif isinstance(text, TextBlock):
            yield from _in_text(text, rules, is_out)


def _in_text(block: TextBlock, rules: KnitRules, is_out: bool) -> Iterator[SourcePiece]:
    """The pieces of a text, without the metadata in it, whose values come by themselves."""
    source, first = block.source, block.line - count_lead(block.source)

    def goes(part: Part) -> bool | None:
        if part.metadata is not None:
            return properties_verdict(part.metadata, rules)
        return div_verdict(part.attributes, rules)

    def piece(start: int, end: int, out: bool) -> SourcePiece:
        text = source[start:end]
        line = first + source.count("\n", 0, start) + count_lead(text)
        return SourcePiece(line, _bare(text), out)

    at = 0
    for start, end in [(0, len(source))] if is_out else cut(source, goes):
        if start > at:
            yield piece(at, start, False)
        yield piece(start, end, True)
        at = end
    if at < len(source):
        yield piece(at, len(source), False)
    for part in find_parts(source):
        line = first + source.count("\n", 0, part.start)
        for text in _prose(part.metadata or {}):
            yield SourcePiece(line, text, True, True)


def _bare(text: str) -> str:
    """A text without metadata blocks."""
    kept, at = [], 0
    for start, end in cut(text, lambda part: None):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _values(block: MetadataBlock) -> Iterator[str]:
    """The texts of a block's values; of the header, of those that knitting takes out."""
    keys = [key for key in block.content if key not in MESSAGE_KEYS]
    if isinstance(block, HeaderBlock):
        keys = [key for key in keys if str(key).startswith("~")]
    yield from _prose({key: block.content[key] for key in keys})
    yield from (message.text for message in block.messages)


def _prose(metadata: dict[str, object]) -> Iterator[str]:
    for key, value in metadata.items():
        name = str(key)
        if not name.startswith("~~") and name.strip("~=") not in _NOT_LOOKED_FOR:
            yield from strings(value)
