"""Snippets: what of a file is embedded, found and shown.

A snippet has 64 to 320 tokens of one file. Sections stay whole where they fit; what is
longer is cut by the splitter of the passes, what is shorter joined with its neighbours.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from ..errors import CrawlError
from ..index.chunks import AnnotationModel, annotations_of, is_skipped, titles_paths
from ..index.cut_points import Seams
from ..index.pieces import Piece, cut_text, shown
from ..index.split import BlocksText
from ..index.units import NO_FRAME, ChunkLimits, Surroundings
from ..markdown.blocks import BOM, Block, ErrorBlock, TextBlock, blank, trim_blank_lines
from ..markdown.divs import cut
from ..markdown.originals import unfold_edits
from ..markdown.parse import parse_markdown_text
from ..markdown.tree import HeadingNode, Node, TextNode, blocks_to_tree, traverse
from ..models.tokens import count_tokens

Count = Callable[[str], int]

LEAST, MOST = 64, 320  # tokens of a snippet
SIZE = 240  # what is aimed at where a section is cut
OVERLAP = SIZE // 5
SMALL = LEAST // 2  # the units of what is cut again
_ANNOTATIONS = AnnotationModel(("questions",), ("questions", "summary"))


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a file. `body` is its text as it stands on the lines from `line_start` to
    `line_end` (from 1, inclusive), within a table's header or a fence where only a part
    of that is there. `header` is put before it for embedding only: the titles around it
    and what annotations say of it. `id`: 32 hexadecimal digits, the hash of all the rest."""

    id: str
    index: str
    doc_path: str
    title: str
    line_start: int
    line_end: int
    body: str
    header: str = ""

    @property
    def embedded(self) -> str:
        """What vectors are made of."""
        return f"{self.header}\n\n{self.body}" if self.header else self.body

    @property
    def source(self) -> str:
        """Where it stands: `path#L3-L20`."""
        return f"{self.doc_path}#L{self.line_start}-L{self.line_end}"


def slice_text(text: str, doc_path: str, index: str, count: Count = count_tokens) -> list[Snippet]:
    """The snippets of a text, in their order. Only where a text as a whole has less than
    64 tokens has a snippet less. Metadata and parts with `skip: true` are in none. Of an
    edit that is not decided, the old text counts.

    doc_path: the text's file, relative to the index's root; count: the tokens of a text,
    which has about as many as its parts together."""
    blocks = parse_markdown_text(text)
    tree = blocks_to_tree(unfold_edits(blocks).blocks if "{#lmm-" in text else blocks)
    if tree is None:
        return []
    title = _title(tree)
    made: list[Snippet] = []
    seen: dict[str, int] = {}
    for group in _groups(_sections(tree, count)):
        for first, last, body, header in _Group(group, count).snippets():
            ident = _ident([index, doc_path, title, f"{first}-{last}", header, body], seen)
            made.append(Snippet(ident, index, doc_path, title, first, last, body, header))
    return made


def _title(tree: HeadingNode) -> str:
    """The header's title, else that of the first heading of level 1 or 2."""
    own = tree.get("title")
    if own is not None:
        return str(own)
    return next((node.title for node in traverse(tree) if isinstance(node, HeadingNode) and 1 <= node.level <= 2), "")


def _ident(values: list[str], seen: dict[str, int]) -> str:
    """The hash of what a snippet is. Pieces of one long line may be the same, and are
    numbered: `seen` says how often each has been."""
    found = _hash("\0".join(values))
    times = seen[found] = seen.get(found, 0) + 1
    return found if times == 1 else _hash(f"{found}\0{times}")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# Sections


@dataclass(slots=True)
class _SnippetSection:
    """A section without its subsections: its heading and its texts, each with its node,
    and how many tokens they have. titles: the path to it; is_annotated: whether metadata
    speaks of any of that."""

    node: HeadingNode
    titles: list[str]
    parts: list[tuple[Node, Block]]
    size: int
    is_annotated: bool


def _sections(tree: HeadingNode, count: Count) -> Iterator[_SnippetSection]:
    titles = titles_paths(tree)
    for node in traverse(tree):
        if isinstance(node, HeadingNode):
            is_out = is_skipped(node)
            parts: list[tuple[Node, Block]] = [] if is_out or node.heading is None else [(node, node.heading)]
            for text in node.children:
                if isinstance(text, TextNode) and not (is_skipped(text) if text.metadata else is_out):
                    parts += _texts(text)
            if parts:
                size = _size([block.source for _, block in parts], count)
                is_annotated = _is_annotated(node) or any(part.metadata for part, _ in parts)
                yield _SnippetSection(node, titles[id(node)], parts, size, is_annotated)


def _size(sources: list[str], count: Count) -> int:
    """The tokens of a text; where its beginning is too long for a snippet, of that."""
    text = trim_blank_lines("".join(sources))
    begun = count(text[: 12 * MOST]) if len(text) > 16 * MOST else 0
    return begun if begun > MOST else count(text)


def _texts(node: TextNode) -> list[tuple[Node, Block]]:
    """The text of a node, without metadata blocks in it."""
    block = node.block
    if block is None or isinstance(block, ErrorBlock) or blank(block.source):
        return []
    if ":::" not in block.source or not ("lmm" in block.source or "---" in block.source):
        return [(node, block)]  # no div with metadata
    ends = [0, *(at for part in cut(block.source, lambda part: None) for at in part), len(block.source)]
    if len(ends) == 2:
        return [(node, block)]
    return [(node, part) for at in range(0, len(ends), 2) if (part := _part(block, ends[at], ends[at + 1])).source]


def _part(block: Block, start: int, end: int) -> Block:
    """A part of a block, without the blank lines before it; empty where it is blank."""
    source = block.source[start:end]
    kept = source.lstrip(" \t\r\n")
    start = end - len(kept)
    start = block.source.rfind("\n", 0, start) + 1
    before = block.source[:start].lstrip(" \t\r\n" + BOM)
    return TextBlock(block.source[start:end] if kept else "", block.line + before.count("\n"))


def _groups(sections: Iterator[_SnippetSection]) -> list[list[_SnippetSection]]:
    """The sections, small ones joined: with those before where they are the last below a
    heading and fit, else with those after them."""
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


class _Group:
    """Some sections that are cut together."""

    def __init__(self, sections: list[_SnippetSection], count: Count) -> None:
        self.sections = sections
        self.source = BlocksText([block for section in sections for _, block in section.parts])
        self.limits = ChunkLimits(SIZE, MOST, count, additive=True)
        self.whole = sections[0].size if len(sections) == 1 else self.limits.of(self.source.text)
        self.is_annotated = any(section.is_annotated for section in sections)

    def snippets(self) -> Iterator[tuple[int, int, str, str]]:
        """Of each snippet its first and last line, its body and its header."""
        for piece in self._pieces():
            body = trim_blank_lines(shown(self.source.text[piece.overlap : piece.end], piece.frame))
            yield *self.source.lines(piece.overlap, piece.end), body, self._header(piece)

    def _pieces(self) -> list[Piece]:
        text = self.source.text
        if self.whole <= MOST:
            return [Piece(0, len(text), NO_FRAME, 0, self.whole)]
        pieces: list[Piece] = []
        for piece in cut_text(text, self.source.starts, self.limits, OVERLAP):
            if piece.size < LEAST + LEAST // 4:  # a sum, perhaps
                piece = piece._replace(size=self._piece(piece.start, piece.end, piece.frame).size)
            if pieces and (piece.size < LEAST or pieces[-1].size < LEAST):
                pieces[-1:] = self._join(pieces[-1], piece)
            else:
                pieces.append(piece)
        return pieces

    def _join(self, one: Piece, other: Piece) -> list[Piece]:
        """Two pieces as one; where that is too long, cut again into two."""
        joined = self._piece(one.start, other.end, Surroundings(one.frame.before, other.frame.after))
        if joined.size <= MOST:
            return [joined]
        text = self.source.text[one.start : other.end]
        inside = [start - one.start for start in self.source.starts if one.start < start < other.end]
        units = Seams(text, ChunkLimits(SMALL, SMALL, self.limits.count)).units([0, *inside])
        best: tuple[float, list[Piece]] | None = None
        for before, after in pairwise(units):
            at = one.start + after.start
            pair = [
                self._piece(one.start, at, Surroundings(one.frame.before, before.frame.after)),
                self._piece(at, other.end, Surroundings(after.frame.before, other.frame.after)),
            ]
            sizes = [piece.size for piece in pair]
            out = sum(max(0, LEAST - size, size - MOST) for size in sizes)
            cost = out + before.cost + abs(sizes[0] - sizes[1]) / sum(sizes)
            if best is None or cost < best[0]:
                best = cost, pair
        return best[1] if best else [one, other]

    def _piece(self, start: int, end: int, frame: Surroundings) -> Piece:
        return Piece(start, end, frame, start, self.limits.of(shown(self.source.text[start:end], frame)))

    def _header(self, piece: Piece) -> str:
        """The titles that all of a piece stands under, and what annotations say of its
        sections and texts."""
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
    """What all paths begin with."""
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return [level[0] for level in levels]


def _is_annotated(node: Node) -> bool:
    """Whether metadata speaks of a section or the sections around it, or of a text."""
    if isinstance(node, TextNode):
        return bool(node.metadata)
    return bool(node.metadata) or (node.parent is not None and _is_annotated(node.parent))


# Files

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # printable to JSON, and not to YAML
_KEYS = ("id", "index", "doc_path", "title", "line_start", "line_end", "header")


def snippet_file(snippet: Snippet) -> str:
    """The text of a snippet's file: what is known of it as YAML, a blank line, the body as
    it is. (To be written without changing line ends.)"""
    lines = [f"{key}: {_quoted(getattr(snippet, key))}" for key in _KEYS]
    return "\n".join(["---", *lines, "---", "", snippet.body, ""])


def _quoted(value: str | int) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def read_snippet_file(text: str) -> Snippet:
    """The snippet of a file's text: the opposite of `snippet_file`. Raises CrawlError where
    the text is not what that writes."""
    head, _, body = text.partition("\n---\n\n")
    try:
        values = [json.loads(line.split(": ", 1)[1]) for line in head.split("\n")[1:]]
        ident, index, doc_path, title, first, last, header = values
    except (ValueError, IndexError):
        raise CrawlError("not the file of a snippet: index the folder anew") from None
    return Snippet(ident, index, doc_path, title, first, last, body.removesuffix("\n"), header)
