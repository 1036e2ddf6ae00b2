"""Windows: any markdown as chunks of 64 to 320 tokens, each with its headings and the end of the window before.

Nothing is expected of the text. Sections stay whole if they fit, short ones are joined with the next ones, and long
ones are cut by the splitter of prepared notes. Annotations that are there count as they do in those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..index.chunks import AnnotationModel, Chunk, make_chunks
from ..index.cutting.cut_points import UnitCutter
from ..index.cutting.pieces import Piece, add_frame, cut_text
from ..index.cutting.split import BlocksText
from ..index.cutting.units import NO_FRAME, ChunkLimits, Frame
from ..index.encoding import EncodingModel
from ..logging import ListLogger
from ..markdown.anchors import without_anchors
from ..markdown.blocks import Block, ErrorBlock, TextBlock, blank, header_content
from ..markdown.edits import restore_originals
from ..markdown.parse import parse_markdown_text
from ..markdown.tree import HeadingNode, MarkdownTree, TextNode, blocks_to_tree, traverse
from ..markdown.visibility import KnitRules, is_indexed
from ..models.languages.recognize import recognize_language
from ..models.languages.stemming import language_code
from ..models.tokens import count_tokens

VERSION = 1  # increased when the same text gives other windows
LEAST, MOST = 64, 320  # tokens of a window; one has fewer only if the whole text has
SIZE = 240  # tokens aimed at when a section is cut
OVERLAP = SIZE // 5
SAMPLE = 2000  # characters by which a language is recognized, if they tell plainly
ANNOTATIONS = AnnotationModel(("titles", "questions"), ("questions", "summary"))

Count = Callable[[str], int]


def cut_windows(
    text: str, docid: str, source: str, encoding: EncodingModel, language: str = "", count: Count = count_tokens
) -> list[Chunk]:
    """Return the windows of a text in their order, and the summaries that are annotated in it.

    language: of a text whose header names none; "" if it is to be recognized; count: counts the tokens of a text."""
    blocks = without_anchors(parse_markdown_text(text))
    limits = ChunkLimits(SIZE, MOST, count, additive=True)
    windows = [block for group in _groups(restore_originals(blocks).blocks, limits) for block in _cut(group, limits)]
    return make_chunks(
        windows, encoding, ANNOTATIONS, ListLogger(), docid=docid, source=source, rules=KnitRules(frozenset()),
        language=_language_of(blocks, language),
    )  # fmt: skip


def _language_of(blocks: Sequence[Block], usual: str) -> str:
    """Return the code of the language that the header names, or else of the usual one, or else of the text's."""
    known = language_code(str(header_content(blocks).get("lang") or "")) or language_code(usual)
    if known:
        return known
    text = "\n\n".join(block.source for block in blocks if isinstance(block, TextBlock))
    return recognize_language(text[:SAMPLE]) or recognize_language(text)


# Sections


@dataclass(slots=True)
class _Section:
    """A section without its subsections, or several of them.

    opening: the metadata and the heading of the first; parts: its heading and texts and those of the others, each
    with the metadata before it; closing: the metadata and headings of the others; level: of the first heading; size:
    in tokens."""

    opening: list[Block] = field(default_factory=list)
    parts: list[tuple[Sequence[Block], Block]] = field(default_factory=list)
    closing: list[Block] = field(default_factory=list)
    level: int = 0
    size: int = 0

    def join(self, other: _Section) -> None:
        metadata = other.opening[:-1]
        self.parts += [(metadata, other.parts[0][1]), *other.parts[1:]]
        self.closing += [*other.opening, *other.closing]
        self.size += other.size


def _groups(blocks: Sequence[Block], limits: ChunkLimits) -> list[_Section]:
    """Return the sections of a text, those that are too short for a window joined with others.

    One that is the last below a heading is joined with those before it if they fit, any other with those after it."""
    groups: list[_Section] = []
    for section in _sections(blocks_to_tree(blocks)):
        section.size = limits.of(_text(section).text)
        if groups and groups[-1].size < LEAST and section.level < groups[-1].level:
            _join_last(groups, MOST)
        if groups and groups[-1].size < LEAST:
            groups[-1].join(section)
        else:
            groups.append(section)
    if groups[-1:] and groups[-1].size < LEAST:
        _join_last(groups)
    return groups


def _join_last(groups: list[_Section], most: float = math.inf) -> None:
    """Join the last two groups, unless they have more than `most` tokens."""
    if len(groups) > 1 and groups[-2].size + groups[-1].size <= most:
        last = groups.pop()
        groups[-1].join(last)


def _sections(tree: MarkdownTree) -> Iterator[_Section]:
    """Yield the sections that have a heading or a text, as far as they are indexed."""
    section = _Section()
    for node in traverse(tree):
        if isinstance(node, HeadingNode):
            if section.parts:
                yield section
                section = _Section()
            if is_indexed(node):
                section.level = node.level
                section.opening += node.metadata
                if node.heading is not None:
                    section.opening.append(node.heading)
                    section.parts.append(((), node.heading))
        elif isinstance(node, TextNode) and node.block is not None and _is_text(node.block) and is_indexed(node):
            section.parts.append((node.metadata, node.block))
    if section.parts:
        yield section


def _is_text(block: TextBlock) -> bool:
    return not (isinstance(block, ErrorBlock) or blank(block.content))


def _text(section: _Section) -> BlocksText:
    return BlocksText([block for _, block in section.parts])


# Windows


def _cut(section: _Section, limits: ChunkLimits) -> Iterator[Block]:
    """Yield the windows of a section, each after the metadata of its texts.

    They stand under the first heading. The others come last, so that the sections below them have their places."""
    source = _text(section)
    yield from section.opening
    for piece in _pieces(source, section.size, limits):
        for start, (metadata, _) in zip(source.starts, section.parts, strict=True):
            if piece.start <= start < piece.end:
                yield from metadata
        yield source.chunk(piece._replace(start=piece.overlap))
    yield from section.closing


def _pieces(source: BlocksText, size: int, limits: ChunkLimits) -> list[Piece]:
    """Return the pieces of a text; one that is too short is cut again together with the one before it."""
    if size <= MOST:
        return [Piece(0, len(source.text), NO_FRAME, 0)]
    pieces: list[Piece] = []
    for piece in cut_text(source.text, source.starts, limits, OVERLAP):
        if piece.size < 2 * LEAST:  # it may be only a sum
            piece = _piece(source, piece.start, piece.end, piece.frame, limits)._replace(overlap=piece.overlap)
        if pieces and min(pieces[-1].size, piece.size) < LEAST:
            pieces += _cut_again(source, pieces.pop(), piece, limits)
        else:
            pieces.append(piece)
    return pieces


def _piece(source: BlocksText, start: int, end: int, frame: Frame, limits: ChunkLimits) -> Piece:
    return Piece(start, end, frame, start, limits.of(add_frame(source.text[start:end], frame)))


def _cut_again(source: BlocksText, one: Piece, other: Piece, limits: ChunkLimits) -> list[Piece]:
    """Return two pieces that follow one another as one, or, if that is too long, as two of about the same size."""
    begin, frame = one.overlap, Frame(one.frame.before, other.frame.after)
    joined = _piece(source, begin, other.end, frame, limits)
    if joined.size <= MOST:
        return [joined]
    starts = [0, *(start - begin for start in source.starts if begin < start < other.end)]
    units = UnitCutter(source.text[begin : other.end], ChunkLimits(LEAST // 2, LEAST // 2, limits.count)).units(starts)
    pairs: list[tuple[float, list[Piece]]] = []
    for before, after in pairwise(units):
        at = begin + after.start
        pair = [
            _piece(source, begin, at, Frame(frame.before, before.frame.after), limits),
            _piece(source, at, other.end, Frame(after.frame.before, frame.after), limits),
        ]
        sizes = [piece.size for piece in pair]
        outside = sum(max(0, LEAST - size, size - MOST) for size in sizes)
        pairs.append((outside + before.cost + abs(sizes[0] - sizes[1]) / sum(sizes), pair))
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else [one, other]
