"""Cut any markdown into windows of 64 to 320 tokens, with headings and the end of the previous window.

Cuts are at headings unless a window gets too short; long sections, and annotations, are treated as in prepared notes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from ..indexing.chunks import AnnotationModel, Chunk, make_chunks
from ..indexing.cutting.pieces import cut_text
from ..indexing.cutting.split import BlocksText
from ..indexing.cutting.units import ChunkLimits
from ..indexing.encoding import EncodingModel
from ..logging import ListLogger
from ..markdown.anchors import without_anchors
from ..markdown.blocks import Block, ErrorBlock, HeadingBlock, TextBlock, blank, header_content
from ..markdown.edits import restore_originals
from ..markdown.parse import parse_markdown_text
from ..markdown.tree import HeadingNode, TextNode, blocks_to_tree, traverse
from ..markdown.visibility import KnitRules, is_indexed
from ..models.languages.recognize import recognize_language
from ..models.languages.stemming import language_code
from ..models.tokens import count_tokens
from ..scan.rag_parts import without_metadata

VERSION = 2  # increase when the same text gives other windows
LEAST, MOST = 64, 320  # tokens of a window; only a shorter text has fewer
SIZE = 240  # target in tokens for cut sections
OVERLAP = SIZE // 5
SAMPLE = 2000  # characters first tried for language recognition
ANNOTATIONS = AnnotationModel(("titles", "questions"), ("questions", "summary"))

Count = Callable[[str], int]


def cut_windows(
    text: str, docid: str, source: str, encoding: EncodingModel, language: str = "", count: Count = count_tokens
) -> list[Chunk]:
    """Return the windows of a text in order, and the annotated summaries.

    language: default without one in the header, "" to recognize it
    count: of tokens"""
    blocks = without_anchors(parse_markdown_text(text))
    windows = [*_windows(restore_originals(blocks).blocks, ChunkLimits(SIZE, MOST, count, LEAST))]
    return make_chunks(
        windows, encoding, ANNOTATIONS, ListLogger(), docid=docid, source=source, rules=KnitRules(frozenset()),
        language=_language_of(blocks, language),
    )  # fmt: skip


def _language_of(blocks: Sequence[Block], usual: str) -> str:
    """Return the language code of the header, the default, or the recognized one."""
    named = language_code(str(header_content(blocks).get("lang") or "")) or language_code(usual)
    if named:
        return named
    text = "\n\n".join(block.source for block in blocks if isinstance(block, TextBlock))
    return recognize_language(text[:SAMPLE]) or recognize_language(text)


def _windows(blocks: Sequence[Block], limits: ChunkLimits) -> Iterator[Block]:
    """Yield a document's windows, each after its metadata and first heading, with its other headings after it."""
    parts = list(_parts(blocks))
    yield from (block for metadata, text in parts if text is None for block in metadata)
    texts = [(metadata, text) for metadata, text in parts if text is not None]
    if not texts:
        return
    source = BlocksText([text for _, text in texts])
    for piece in cut_text(source.text, source.starts, limits, OVERLAP):
        own = texts[bisect_left(source.starts, piece.start) : bisect_left(source.starts, piece.end)]
        first = own[: piece.start in source.starts]
        under = first if first and isinstance(first[0][1], HeadingBlock) else []
        others = own[len(under) :]
        yield from _headings(under)
        yield from (block for metadata, _ in others for block in metadata)
        yield source.chunk(piece._replace(start=piece.overlap))
        yield from _headings(others)


def _headings(parts: Sequence[tuple[Sequence[Block], Block]]) -> Iterator[Block]:
    """Yield the headings among parts, each after its metadata."""
    for metadata, block in parts:
        if isinstance(block, HeadingBlock):
            yield from metadata
            yield block


def _parts(blocks: Sequence[Block]) -> Iterator[tuple[Sequence[Block], Block | None]]:
    """Yield the indexed headings and texts with their metadata."""
    for node in traverse(blocks_to_tree(blocks)):
        if not is_indexed(node):
            continue
        if isinstance(node, HeadingNode):
            yield node.metadata, node.heading
        elif isinstance(node, TextNode) and node.block is not None and not isinstance(node.block, ErrorBlock):
            text = without_metadata(node.block)
            if not blank(text.content):
                yield node.metadata, text
