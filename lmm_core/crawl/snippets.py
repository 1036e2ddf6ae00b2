"""Snippets, the parts of files that are embedded, found and shown.

A snippet has 64 to 320 tokens of one file. Sections stay whole if they fit. Longer ones are
cut by the splitter of the passes, and shorter ones joined with their neighbours.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from json.encoder import encode_basestring as quoted
from operator import attrgetter
from pathlib import Path

from ..files.marked import write_own
from ..index.chunks import AnnotationModel, annotations_of, titles_paths
from ..index.cutting.cut_points import UnitCutter
from ..index.cutting.pieces import Piece, add_frame, cut_text
from ..index.cutting.split import BlocksText
from ..index.cutting.units import NO_FRAME, ChunkLimits, Frame
from ..markdown.anchors import without_anchors
from ..markdown.blocks import BOM, Block, ErrorBlock, TextBlock, blank, trim_blank_lines
from ..markdown.divs import cut
from ..markdown.originals import restore_originals
from ..markdown.parse import parse_markdown_text
from ..markdown.tree import HeadingNode, Node, TextNode, blocks_to_tree, traverse
from ..markdown.visibility import is_indexed
from ..models.languages.recognize import recognize_language
from ..models.languages.stemming import language_code
from ..models.tokens import count_tokens

Count = Callable[[str], int]

LEAST, MOST = 64, 320  # tokens of a snippet
SIZE = 240  # tokens aimed at when a section is cut
OVERLAP = SIZE // 5
SAMPLE = 2000  # characters of a text by which its language is recognized, if they tell plainly
SMALL = LEAST // 2  # tokens of the units when pieces are cut again
_ANNOTATIONS = AnnotationModel(("questions",), ("questions", "summary"))


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a file.

    id: the hash of all the rest, 32 hexadecimal digits; body: the text on the lines from
    `line_start` to `line_end` (from 1, inclusive), with a table's header or a fence around it
    if it is a part of one; header: put before the body for embedding only: the titles around it
    and its annotations; language: the code of that of its file, "" if it is not known."""

    id: str
    index: str
    doc_path: str
    title: str
    line_start: int
    line_end: int
    body: str
    header: str = ""
    language: str = ""

    def __reduce__(self) -> tuple[type[Snippet], tuple[str | int, ...]]:
        """Return what `pickle` writes: of a dataclass with slots it would look for the fields each time."""
        return Snippet, _fields(self)

    @property
    def embedded(self) -> str:
        """The text that vectors are made of."""
        return f"{self.header}\n\n{self.body}" if self.header else self.body

    @property
    def source(self) -> str:
        """The place: `path#L3-L20`."""
        return f"{self.doc_path}#L{self.line_start}-L{self.line_end}"


_fields = attrgetter(*Snippet.__slots__)


def slice_text(
    text: str,
    doc_path: str,
    index: str,
    count: Count = count_tokens,
    language: str = "",
) -> list[Snippet]:
    """Return the snippets of a text, in their order.

    doc_path: the text's file, relative to the index's root; count: counts the tokens of a text,
    which has about as many as its parts together; language: of a text whose header names none; ""
    if it is to be recognized.

    A snippet has less than 64 tokens only if the whole text does. Metadata and parts with
    `skip: true` are left out. Of an edit that is not decided, the old text counts."""
    blocks, tree = _read(text)
    if tree is None:
        return []
    title, language = _title(tree), _language(tree, blocks, language)
    made: list[Snippet] = []
    seen: dict[str, int] = {}
    for group in _groups(_sections(tree, count)):
        for first, last, body, header in _SectionGroup(group, count).snippets():
            ident = _ident([index, doc_path, title, f"{first}-{last}", header, body, language], seen)
            made.append(Snippet(ident, index, doc_path, title, first, last, body, header, language))
    return made


def _read(text: str) -> tuple[list[Block], HeadingNode | None]:
    """Return the blocks of a text, and their tree with the old texts in place of edits."""
    blocks = without_anchors(parse_markdown_text(text))
    return blocks, blocks_to_tree(restore_originals(blocks).blocks if "{#lmm-" in text else blocks)


def _title(tree: HeadingNode) -> str:
    """Return the header's title, or else that of the first heading of level 1 or 2."""
    own = tree.get("title")
    if own is not None:
        return str(own)
    return next((node.title for node in traverse(tree) if isinstance(node, HeadingNode) and 1 <= node.level <= 2), "")


def _language(tree: HeadingNode, blocks: Sequence[Block], usual: str) -> str:
    """Return the code of the language that the header names, or else of the usual one, or else of the text's."""
    known = language_code(str(tree.get("lang") or "")) or language_code(usual)
    if known:
        return known
    text = "\n\n".join(block.source for block in blocks if isinstance(block, TextBlock))
    return recognize_language(text[:SAMPLE]) or (recognize_language(text) if len(text) > SAMPLE else "")


def _ident(values: list[str], seen: dict[str, int]) -> str:
    """Return the hash of a snippet.

    seen: how often each hash has occurred. Pieces of one long line may be the same, so the later
    ones are numbered."""
    found = _hash("\0".join(values))
    times = seen[found] = seen.get(found, 0) + 1
    return found if times == 1 else _hash(f"{found}\0{times}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# Sections


@dataclass(slots=True)
class _SnippetSection:
    """A section without its subsections.

    titles: the path to it; parts: its heading and its texts, each with its node; size: in
    tokens; is_annotated: True if metadata annotates any of this."""

    node: HeadingNode
    titles: list[str]
    parts: list[tuple[Node, Block]]
    size: int
    is_annotated: bool


def _sections(tree: HeadingNode, count: Count) -> Iterator[_SnippetSection]:
    titles = titles_paths(tree)
    for node in traverse(tree):
        if isinstance(node, HeadingNode):
            is_in = is_indexed(node)
            parts: list[tuple[Node, Block]] = [] if not is_in or node.heading is None else [(node, node.heading)]
            for text in node.children:
                if isinstance(text, TextNode) and (is_indexed(text) if text.metadata else is_in):
                    parts += _texts(text)
            if parts:
                size = _size([block.source for _, block in parts], count)
                is_annotated = _is_annotated(node) or any(part.metadata for part, _ in parts)
                yield _SnippetSection(node, titles[id(node)], parts, size, is_annotated)


def _size(sources: list[str], count: Count) -> int:
    """Return the tokens of a text; if its beginning is too long for a snippet, those of that."""
    text = trim_blank_lines("".join(sources))
    begun = count(text[: 5 * MOST]) if len(text) > 6 * MOST else 0
    return begun if begun > MOST else count(text)


def _texts(node: TextNode) -> list[tuple[Node, Block]]:
    """Return the text of a node, without metadata blocks in it."""
    block = node.block
    if block is None or isinstance(block, ErrorBlock) or blank(block.content):
        return []
    if ":::" not in block.source or not ("lmm" in block.source or "---" in block.source):
        return [(node, block)]  # no div with metadata
    ends = [0, *(at for part in cut(block.source, lambda part: None) for at in part), len(block.source)]
    if len(ends) == 2:
        return [(node, block)]
    return [(node, part) for at in range(0, len(ends), 2) if (part := _part(block, ends[at], ends[at + 1])).source]


def _part(block: Block, start: int, end: int) -> Block:
    """Return a part of a block, without the blank lines before it; empty if it is blank."""
    source = block.source[start:end]
    kept = source.lstrip(" \t\r\n")
    start = end - len(kept)
    start = block.source.rfind("\n", 0, start) + 1
    before = block.source[:start].lstrip(" \t\r\n" + BOM)
    return TextBlock(block.source[start:end] if kept else "", block.line + before.count("\n"))


def _groups(sections: Iterator[_SnippetSection]) -> list[list[_SnippetSection]]:
    """Return the sections in groups, so that small ones are joined with others.

    A section that is the last below a heading is joined with those before it if they fit, any
    other with those after it."""
    groups: list[list[_SnippetSection]] = []
    sizes: list[int] = []
    for section in sections:
        is_short = bool(groups) and sizes[-1] < LEAST
        ends = is_short and section.node.level < groups[-1][0].node.level
        if ends and len(groups) > 1 and sizes[-2] + sizes[-1] <= MOST:
            _join_last(groups, sizes)
            is_short = False
        groups.append([section])
        sizes.append(section.size)
        if is_short:
            _join_last(groups, sizes)
    if len(groups) > 1 and sizes[-1] < LEAST:
        _join_last(groups, sizes)
    return groups


def _join_last(groups: list[list[_SnippetSection]], sizes: list[int]) -> None:
    group, size = groups.pop(), sizes.pop()
    groups[-1] += group
    sizes[-1] += size


# Snippets of a group of sections


class _SectionGroup:
    """Sections that are cut together."""

    def __init__(self, sections: list[_SnippetSection], count: Count) -> None:
        self.sections = sections
        self.source = BlocksText([block for section in sections for _, block in section.parts])
        self.limits = ChunkLimits(SIZE, MOST, count, additive=True)
        self.whole = sections[0].size if len(sections) == 1 else self.limits.of(self.source.text)
        self.is_annotated = any(section.is_annotated for section in sections)

    def snippets(self) -> Iterator[tuple[int, int, str, str]]:
        """Yield the first and last line, the body and the header of each snippet."""
        for piece in self._pieces():
            body = trim_blank_lines(add_frame(self.source.text[piece.overlap : piece.end], piece.frame))
            yield *self.source.lines(piece.overlap, piece.end), body, self._header(piece)

    def _pieces(self) -> list[Piece]:
        text = self.source.text
        if self.whole <= MOST:
            return [Piece(0, len(text), NO_FRAME, 0, self.whole)]
        pieces: list[Piece] = []
        for piece in cut_text(text, self.source.starts, self.limits, OVERLAP):
            if piece.size < LEAST + LEAST // 4:  # perhaps only a sum
                piece = piece._replace(size=self._piece(piece.start, piece.end, piece.frame).size)
            if pieces and (piece.size < LEAST or pieces[-1].size < LEAST):
                pieces[-1:] = self._join(pieces[-1], piece)
            else:
                pieces.append(piece)
        return pieces

    def _join(self, one: Piece, other: Piece) -> list[Piece]:
        """Return two pieces as one, or cut again into two if that is too long."""
        joined = self._piece(one.start, other.end, Frame(one.frame.before, other.frame.after))
        if joined.size <= MOST:
            return [joined]
        text = self.source.text[one.start : other.end]
        inside = [start - one.start for start in self.source.starts if one.start < start < other.end]
        units = UnitCutter(text, ChunkLimits(SMALL, SMALL, self.limits.count)).units([0, *inside])
        best: tuple[float, list[Piece]] | None = None
        for before, after in pairwise(units):
            at = one.start + after.start
            pair = [
                self._piece(one.start, at, Frame(one.frame.before, before.frame.after)),
                self._piece(at, other.end, Frame(after.frame.before, other.frame.after)),
            ]
            sizes = [piece.size for piece in pair]
            out = sum(max(0, LEAST - size, size - MOST) for size in sizes)
            cost = out + before.cost + abs(sizes[0] - sizes[1]) / sum(sizes)
            if best is None or cost < best[0]:
                best = cost, pair
        return best[1] if best else [one, other]

    def _piece(self, start: int, end: int, frame: Frame) -> Piece:
        return Piece(start, end, frame, start, self.limits.of(add_frame(self.source.text[start:end], frame)))

    def _header(self, piece: Piece) -> str:
        """Return the common titles of a piece's parts, and the annotations of its sections and texts."""
        if len(self.sections) == 1 and not self.is_annotated:
            return " - ".join(self.sections[0].titles)
        starts = self.source.starts
        parts = slice(bisect_right(starts, piece.start) - 1, bisect_left(starts, piece.end))
        of_parts = [section for section in self.sections for _ in section.parts][parts]
        sections = {id(section): section for section in of_parts}.values()
        titles = " - ".join(_common([section.titles for section in sections]))
        if not self.is_annotated:
            return titles
        nodes = [*(section.node for section in sections), *self._nodes()[parts]]
        notes = [annotations_of(node, (), _ANNOTATIONS) for node in dict.fromkeys(nodes) if _is_annotated(node)]
        return "\n".join(dict.fromkeys(filter(None, [titles, *notes])))

    def _nodes(self) -> list[Node]:
        return [node for section in self.sections for node, _ in section.parts]


def _common(paths: list[list[str]]) -> list[str]:
    """Return the titles that all paths begin with."""
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return [level[0] for level in levels]


def _is_annotated(node: Node) -> bool:
    """Return True if metadata annotates a text, or a section or one around it."""
    if isinstance(node, TextNode):
        return bool(node.metadata)
    return bool(node.metadata) or (node.parent is not None and _is_annotated(node.parent))


# Files

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # printable to JSON, and not to YAML


def snippet_file(snippet: Snippet) -> str:
    """Return the text of a snippet's file: its fields as YAML, a blank line, and the body.

    It has to be written without changing line ends."""
    fields = (
        f"id: {quoted(snippet.id)}\nindex: {quoted(snippet.index)}\ndoc_path: {quoted(snippet.doc_path)}\n"
        f"title: {quoted(snippet.title)}\nline_start: {snippet.line_start}\nline_end: {snippet.line_end}\n"
        f"header: {quoted(snippet.header)}\nlanguage: {quoted(snippet.language)}"
    )
    escaped = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", fields)
    return f"---\n{escaped}\n---\n\n{snippet.body}\n"


def write_snippet(folder: Path, snippet: Snippet) -> None:
    """Write the file of a snippet into the folder of an index's snippets. Raise FolderError or OSError."""
    # (a path as an object would take as long as its file)
    write_own(f"{folder}{os.sep}{file_name(snippet.id)}", snippet_file(snippet).encode("utf-8"))


def file_name(ident: str) -> str:
    """Return the name of a snippet's file."""
    return f"{ident}.md"
