"""Split texts into chunks, and gather them into documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from ...errors import MarkdownError
from ...logging import ConsoleLogger, LoggerBase
from ...markdown.blocks import (
    BOM,
    Attributes,
    Block,
    ErrorBlock,
    HeaderBlock,
    MetadataBlock,
    TextBlock,
    blank,
    count_lead,
    ends_blank,
    header_content,
    is_text,
    newline_of,
    parse_attributes,
    prefix_block,
    source_line,
    trim_blank_lines,
)
from ...markdown.divs import find_parts
from ...markdown.edits import restore_originals
from ...markdown.metadata.body import DELETED
from ...markdown.metadata.keys import MESSAGE_KEYS
from ...markdown.parse import COMMENT_OPEN
from ...markdown.regions import DIV_OPEN, Regions, without_comments
from ...markdown.spelling import edit_block
from ...markdown.tree import TextNode, blocks_to_tree, sections, titles_path
from ...markdown.visibility import KnitRules, header_rules, in_notes, is_indexed, type_of_div
from ...models.tokens import count_tokens
from ...scan.annotations.sections import nearest_summary
from ...scan.left_out import without_hidden_notes
from ...scan.rag_parts import Excerpt, extract_parts
from ...settings.tables import SplitOpts
from .pieces import Piece, add_frame, cut_text
from .units import NO_FRAME, ChunkLimits

Count = Callable[[str], int]


@dataclass(slots=True)
class ChunkBlock(TextBlock):
    """A chunk of a document.

    line, line_end: of its own text in the file, from 1
    repeated, closing: characters at its start and end that are not its own (overlap, table head, fences)
    type: its RAG-only div's, or None"""

    line_end: int = 1
    repeated: int = 0
    closing: int = 0
    type: str | None = None

    @property
    def content(self) -> str:
        """The source without surrounding blank lines."""
        return trim_blank_lines(self.source)

    @property
    def own(self) -> str:
        """The source without characters that are not its own."""
        return self.source[self.repeated : len(self.source) - self.closing]


@dataclass(frozen=True, slots=True)
class ParentDocument:
    """A text that a search may return for a chunk: a section's own text, or a part of it.

    titles: of enclosing sections, the outermost first; context_summary: of the nearest that has one"""

    text: str
    line: int
    line_end: int
    titles: tuple[str, ...] = ()
    context_summary: str = ""


@dataclass(frozen=True, slots=True)
class Split:
    """A document's blocks, with chunks in place of texts, and its parent documents."""

    blocks: list[Block]
    documents: list[ParentDocument]


def scan_split(
    blocks: Sequence[Block],
    opts: SplitOpts | None = None,
    count: Count | None = None,
    logger: LoggerBase | None = None,
) -> list[Block]:
    """Return the document with its texts cut into chunks; headings and metadata stay. See `transform`."""
    return transform(blocks, opts, count, logger).blocks


def transform(
    blocks: Sequence[Block],
    opts: SplitOpts | None = None,
    count: Count | None = None,
    logger: LoggerBase | None = None,
) -> Split:
    """Split a document's blocks into chunks and parent documents, and report unreadable metadata blocks.

    Edits not yet accepted or rejected count with their old text. HTML comments are left out, and footnotes that only
    RAG-only parts refer to. The header may declare further RAG-only divs.
    count: returns the number of tokens in a text; by default an estimate"""
    opts = opts or SplitOpts()
    logger = logger or ConsoleLogger()
    opts = replace(opts, rules=header_rules(header_content(blocks), opts.rules))
    visible = _without_comments(without_hidden_notes(restore_originals(blocks).blocks, opts.rules))
    texts = extract_parts(visible, opts.rules)
    documents = split_documents(texts, opts)
    chunks = split_chunks(texts, opts, len if opts.unit == "characters" else count or count_tokens)
    for block in chunks:
        if isinstance(block, ErrorBlock):
            logger.warning("this metadata block cannot be read, and is in no chunk", block.line)
    return Split(chunks, documents)


def _without_comments(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without HTML comments, but for those that may be nested metadata."""
    visible: list[Block] = []
    for block in blocks:
        if is_text(block) and "<!--" in block.source and not COMMENT_OPEN.search(block.source):
            source = without_comments(block.source)
            if blank(source) and visible and is_text(visible[-1]):
                visible[-1] = replace(visible[-1], source=visible[-1].source + source)
                continue
            block = replace(block, source=source, line=source_line(block) + count_lead(source))
        visible.append(block)
    return visible


# Chunks


def split_chunks(blocks: Sequence[Block], opts: SplitOpts, count: Count) -> list[Block]:
    """Join neighbouring texts, and cut them into chunks.

    A text with its own metadata is not joined with others, and no chunk crosses the end of a parent document."""
    limits = ChunkLimits(opts.size, opts.max_size, count)
    boundaries = {document.line for document in split_documents(blocks, opts)} if opts.documents > 0 else set()
    chunks: list[Block] = []
    for part in find_runs(blocks, opts.rules):
        if not isinstance(part, TextRun):
            chunks.append(part)
            continue
        for texts in _cut_at(part.texts, boundaries):
            source = BlocksText(texts)
            pieces = cut_text(source.text, source.starts, limits, opts.overlap)
            type = div_type(part.texts[0], opts.rules) if part.alone else None
            chunks += _with_metadata([replace(source.chunk(piece), type=type) for piece in pieces], part.metadata)
    return chunks


def _cut_at(texts: list[TextBlock], lines: set[int]) -> Iterator[list[TextBlock]]:
    starts = [0, *(at for at, text in enumerate(texts) if at and text.line in lines), len(texts)]
    return (texts[start:end] for start, end in pairwise(starts))


class BlocksText:
    """The joined text of blocks, which knows the file's line at each position. starts: of the blocks."""

    def __init__(self, texts: Sequence[Block]) -> None:
        sources = [_without_lead(text) if text.source[:1] in _LEAD_CHARACTERS else text.source for text in texts]
        for at, source in enumerate(sources[:-1]):
            if source.endswith("\n\n") or ends_blank(source) or _follows(texts[at], texts[at + 1]):
                continue
            sources[at] += "\n" if source.endswith("\n") else "\n\n"
        self.text = "".join(sources)
        self.starts = list(accumulate(map(len, sources[:-1]), initial=0))
        self._lines = [text.line for text in texts]
        self._gaps = [
            (start + at, count)
            for start, text in zip(self.starts, texts, strict=True)
            for at, count in (text.gaps if isinstance(text, Excerpt) else ())
        ]

    def line(self, pos: int) -> int:
        """Return the file's line at a position."""
        block = bisect_right(self.starts, pos) - 1
        start = self.starts[block]
        gaps = sum(count for at, count in self._gaps if start <= at <= pos)
        return self._lines[block] + self.text.count("\n", start, pos) + gaps

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line of a part, without surrounding blank lines."""
        text = self.text[start:end]
        first = start + len(text) - len(text.lstrip(" \t\r\n"))
        return self.line(first), self.line(start + max(0, len(text.rstrip(" \t\r\n")) - 1))

    def chunk(self, piece: Piece) -> ChunkBlock:
        """Return the chunk for a piece of this text."""
        own = self.text[piece.start : piece.end]
        first, last = self.lines(piece.start, piece.end)
        source = add_frame(own, piece.frame)
        closing = len(source) - len(piece.frame.before) - len(own)
        repeated = piece.frame.before + self.text[piece.overlap : piece.start]
        source = repeated + source[len(piece.frame.before) :]
        return ChunkBlock(source, first, last, len(repeated), closing)


# First characters of sources that may start with a byte-order mark or blank lines
_LEAD_CHARACTERS = frozenset({"", BOM, " ", "\t", "\r", "\n"})


def _without_lead(block: Block) -> str:
    """Return a block's source without a byte-order mark and leading blank lines."""
    source = block.source
    if source.startswith(BOM) and block.line == 1 + count_lead(source):
        source = source[1:]
    blanks = len(source) - len(source.lstrip(" \t\r\n"))
    return source[source.rfind("\n", 0, blanks) + 1 :]


def _follows(block: Block, following: Block) -> bool:
    """Return True if `following` begins on the line where `block` ends."""
    return source_line(block) + block.source.count("\n") == source_line(following)


# Metadata of a text with several chunks


def _with_metadata(chunks: Sequence[ChunkBlock], metadata: Sequence[MetadataBlock]) -> Iterator[Block]:
    for at, chunk in enumerate(chunks):
        if at == 1:
            metadata = [block for source_block in metadata if (block := _public_part(source_block)) is not None]
        if at and metadata:
            yield _after_blank_line(metadata[0], chunks[at - 1])
            yield from metadata[1:]
        yield chunk


def _public_part(block: MetadataBlock) -> MetadataBlock | None:
    """Return a block without private keys, chats and edits, or None if nothing else is in it."""
    drop = {key for key in block.content if key.startswith("~~") or key == "~chat"}
    drop |= {message.key for message in block.messages if message.key in MESSAGE_KEYS}
    if not drop:
        return block
    try:
        return edit_block(block, dict.fromkeys(drop, DELETED))
    except MarkdownError:  # a mapping in braces cannot be edited
        content = {key: value for key, value in block.content.items() if key not in drop}
        return replace(block, content=content, messages=[]) if content else None


def _after_blank_line(block: MetadataBlock, before: ChunkBlock) -> Block:
    if ends_blank(before.source):
        return block
    newline = newline_of(block.source)
    return prefix_block(block, newline if before.source.endswith("\n") else newline * 2)


# Documents


def split_documents(blocks: Sequence[Block], opts: SplitOpts) -> list[ParentDocument]:
    """Return the parent documents of blocks, in the order of their lines.

    A section's own text is one document or, if it is longer than `opts.documents` characters, several. Each RAG-only
    text is a document of its own, and texts under `skip: true` are in none."""
    tree = blocks_to_tree(blocks)
    documents: list[ParentDocument] = []
    for section in sections(tree):
        titles = tuple(titles_path(section))
        texts = [node for node in section.texts if not blank(node.content) and is_indexed(node)]
        own: list[TextNode] = []
        alone: list[TextNode] = []
        for node in texts:
            (alone if _stands_alone(node, opts) else own).append(node)
        summary = nearest_summary(part for part in reversed(section.ancestors) if is_indexed(part))
        for group in [own, *([node] for node in alone)]:
            own_documents = _documents([node.block for node in group if node.block is not None], titles, opts)
            documents += [replace(text, context_summary=summary) for text in own_documents]
    return sorted(documents, key=lambda document: document.line)


def _stands_alone(node: TextNode, opts: SplitOpts) -> bool:
    if in_notes(node, opts.rules) is not None:
        return True
    return node.block is not None and div_type(node.block, opts.rules) is not None


def _documents(texts: Sequence[TextBlock], titles: tuple[str, ...], opts: SplitOpts) -> Iterator[ParentDocument]:
    if not texts:
        return
    source = BlocksText(texts)
    pieces = [Piece(0, len(source.text), NO_FRAME, 0)]
    if 0 < opts.documents < len(trim_blank_lines(source.text)):
        pieces = cut_text(source.text, source.starts, ChunkLimits(opts.documents, opts.documents, len))
    for piece in pieces:
        text = trim_blank_lines(add_frame(source.text[piece.start : piece.end], piece.frame))
        yield ParentDocument(text, *source.lines(piece.start, piece.end), titles)


# Texts that one chunk may join


@dataclass(slots=True)
class TextRun:
    """Consecutive texts of one section that may be joined.

    A run with metadata, or which is `alone`, has a single text."""

    texts: list[TextBlock]
    metadata: list[MetadataBlock] = field(default_factory=list)
    alone: bool = False


def find_runs(blocks: Sequence[Block], rules: KnitRules) -> Iterator[Block | TextRun]:
    """Yield the blocks in order, with texts grouped into runs: annotated ones, RAG-only divs and excerpts alone."""
    run: TextRun | None = None
    metadata: list[MetadataBlock] = []
    for block in blocks:
        text = _text(block)
        if text and run and _continues(run, text, rules):
            run.texts.append(text)
            continue
        if run:
            yield run
        run = TextRun([text], metadata, bool(metadata) or _is_alone(text, rules)) if text else None
        if not text:
            yield block
        is_header = isinstance(block, HeaderBlock)
        metadata = [*metadata, block] if isinstance(block, MetadataBlock) and not is_header else []
    if run:
        yield run


def _text(block: Block) -> TextBlock | None:
    if not isinstance(block, TextBlock) or isinstance(block, ErrorBlock) or blank(block.content):
        return None
    return block


def _continues(run: TextRun, block: TextBlock, rules: KnitRules) -> bool:
    return _follows(run.texts[-1], block) and not run.alone and not _is_alone(block, rules)


def _is_alone(block: TextBlock, rules: KnitRules) -> bool:
    return isinstance(block, Excerpt) or div_type(block, rules) is not None


def div_type(block: TextBlock, rules: KnitRules) -> str | None:
    """Return the type of a RAG-only div that fills a text block, or None."""
    if isinstance(block, Excerpt):
        return block.type
    if not block.source.lstrip(BOM + " \t\r\n").startswith((":", "<")):
        return None  # saves parsing most texts
    attributes = _first_attributes(block.content)
    type = type_of_div(attributes, rules)
    return type if type and _is_one_div(block.content) else None


def _first_attributes(text: str) -> Attributes:
    if opened := DIV_OPEN.match(text):
        return parse_attributes(opened["attributes"])
    parts = find_parts(text) if text.startswith(("<div", "<section")) else []
    return parts[0].attributes if parts and parts[0].start == 0 else Attributes()


def _is_one_div(text: str) -> bool:
    regions = Regions(text)
    return (regions.div_end(0) if text.startswith(":::") else regions.end(0)) == len(text)
