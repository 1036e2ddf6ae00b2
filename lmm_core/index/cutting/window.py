"""The window of an embedding model: chunks of the default sizes are made to fit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...markdown.blocks import Block, MetadataBlock, TextBlock
from ...markdown.tree import TextNode, blocks_to_tree, traverse
from ...scan.rag_parts import Excerpt
from ...settings.tables import SplitOpts
from ..chunks import AnnotationModel, Chunk, annotations_of, titles_paths, with_texts
from ..encoding import EncodingModel, texts_to_encode
from .split import ChunkBlock, Count, split_chunks

SIZE = 220  # tokens of a chunk: measured, see benchmarks/README.md
ANNOTATIONS = 36  # tokens that a chunk leaves for titles and questions
LEAST = 32


@dataclass(frozen=True, slots=True)
class Window:
    """What an embedding model reads of each text that an encoding gives it: `tokens`, as `count` counts them."""

    tokens: int
    count: Count
    encoding: EncodingModel

    def holds(self, content: str, annotations: str) -> bool:
        """Return True if nothing of a chunk is cut."""
        return self.holds_all(texts_to_encode(self.encoding, content, annotations).dense)

    def holds_all(self, texts: Sequence[str]) -> bool:
        """Return True if nothing of the texts is cut."""
        return all(self.count(text) <= self.tokens for text in texts)

    def room(self, annotations: str) -> int:
        """Return how many tokens annotations leave for the text that they are encoded with: at least half of all."""
        before = texts_to_encode(self.encoding, "", annotations).dense[-1]
        return max(self.tokens - self.count(before), self.tokens // 2)


def has_default_sizes(opts: SplitOpts) -> bool:
    """Return True if the sizes of chunks are not configured, and texts are cut."""
    default = SplitOpts()
    return all(
        getattr(opts, name) == getattr(default, name) for name in ("splitter", "size", "max_size", "overlap", "unit")
    )


def default_sizes(opts: SplitOpts, window: Window) -> SplitOpts:
    """Return the options with the default sizes for a window."""
    most = max(window.tokens - ANNOTATIONS, LEAST)
    return replace(opts, unit="tokens", size=min(SIZE, most), max_size=min(2 * SIZE, most))


def fit_blocks(blocks: Sequence[Block], opts: SplitOpts, window: Window, model: AnnotationModel) -> list[Block]:
    """Return the blocks, chunks that with their annotations exceed the window cut into smaller ones."""
    annotations = _annotations(blocks, model)
    fitted: list[Block] = []
    for block in blocks:
        around = annotations.get(id(block), "")
        if not isinstance(block, ChunkBlock) or window.holds(block.content, around):
            fitted.append(block)
            continue
        metadata: list[Block] = []
        while fitted and type(fitted[-1]) is MetadataBlock:
            metadata.insert(0, fitted.pop())
        fitted += _cut(metadata, block, opts, window, window.room(around))
    return fitted


def _annotations(blocks: Sequence[Block], model: AnnotationModel) -> dict[int, str]:
    """Return the annotations of texts by the `id` of their blocks."""
    tree = blocks_to_tree(blocks)
    if tree is None:
        return {}
    titles = titles_paths(tree)
    texts = (node for node in traverse(tree) if isinstance(node, TextNode))
    return {id(node.block): annotations_of(node, titles[id(node.parent)], model) for node in texts}


def _cut(metadata: Sequence[Block], block: ChunkBlock, opts: SplitOpts, window: Window, room: int) -> list[Block]:
    """Return the pieces of a chunk, each of at most `room` tokens and with the metadata before it."""
    line = block.line - block.source.count("\n", 0, block.repeated)
    text = Excerpt(block.source, line, block.kind) if block.kind else TextBlock(block.source, line)
    small = replace(opts, unit="tokens", size=room, max_size=room, overlap=0, documents=0)
    return [_within(piece, block) for piece in split_chunks([*metadata, text], small, window.count)]


def _within(piece: Block, block: ChunkBlock) -> Block:
    """Return a piece with lines that are those of the chunk that it is from."""
    if not isinstance(piece, ChunkBlock):
        return piece
    line = min(max(piece.line, block.line), block.line_end)
    return replace(piece, line=line, line_end=min(max(piece.line_end, line), block.line_end))


def fit_annotations(chunks: Sequence[Chunk], window: Window) -> list[Chunk]:
    """Return the chunks, those that still exceed the window encoded with fewer of their annotations.

    The last lines of the annotations are left out. For the words of a search, all count."""
    return [chunk if window.holds_all(chunk.texts.dense) else _with_fewer(chunk, window) for chunk in chunks]


def _with_fewer(chunk: Chunk, window: Window) -> Chunk:
    together = texts_to_encode(window.encoding, "", chunk.annotations).dense[-1] != ""
    room = window.tokens - (window.count(chunk.content) if together else 0)
    kept = _lines_within(chunk.annotations.split("\n"), room, window)
    dense = texts_to_encode(window.encoding, chunk.content, "\n".join(kept)).dense
    return with_texts(chunk, replace(chunk.texts, dense=dense))


def _lines_within(lines: Sequence[str], room: int, window: Window) -> Iterator[str]:
    for line in lines:
        room -= window.count(line)
        if room < 0:
            return
        yield line
