"""A document to be checked: blocks, tree and texts with a classification of lines, computed lazily."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

from ...markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock, is_text, source_line
from ...markdown.divs import Part, parts_by_line
from ...markdown.edits import restore_originals
from ...markdown.metadata.keys import find_key
from ...markdown.parse import NOT_ONE_BLOCK
from ...markdown.tree import MarkdownTree, blocks_to_tree
from ...markdown.visibility import RAG_ONLY, types_of
from .finding import Finding


@dataclass
class CheckedDocument:
    """A document to be checked."""

    blocks: Sequence[Block]

    @cached_property
    def texts(self) -> list[CheckedText]:
        """Return the texts between metadata blocks and headings."""
        return [CheckedText([*group]) for is_prose, group in groupby(self.blocks, is_text) if is_prose]

    @cached_property
    def tree(self) -> MarkdownTree:
        """Return the tree, with the old texts of edits."""
        return blocks_to_tree(restore_originals(self.blocks).blocks)

    @cached_property
    def types(self) -> frozenset[str]:
        """Return the types of blocks and `.rag-only` divs."""
        blocks = (block for block in self.blocks if isinstance(block, MetadataBlock))
        types = [word for block in blocks if not isinstance(block, HeaderBlock) for word in _types(block.content)]
        for part in (part for text in self.texts for _, part, _ in text.parts):
            types += _types(part.metadata or {})
            types += types_of(part.attributes.pairs.get("type")) if RAG_ONLY in part.attributes.classes else []
        return frozenset(types)

    def find_errors(self) -> Iterator[Finding]:
        """Yield unreadable metadata blocks, nested ones included."""
        for block in self.blocks:
            if isinstance(block, ErrorBlock):
                yield _unreadable(block.error_line, block.message)
        for text in self.texts:
            for line, part, _ in text.parts if "lmm" in text.source or "---" in text.source else ():
                if part.error:
                    yield _unreadable(text.first + line, part.error)


def all_types(documents: Iterable[CheckedDocument]) -> frozenset[str]:
    """Return the types used in documents."""
    return frozenset[str]().union(*(document.types for document in documents))


def _unreadable(line: int, message: str) -> Finding:
    return Finding(line, "no-fence" if message == NOT_ONE_BLOCK else "unreadable-block", message)


def _types(metadata: Mapping[str, Any]) -> list[str]:
    key = find_key(metadata, "type") if metadata else None
    return types_of(metadata[key]) if key else []


# Texts


FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\(?\w{1,3}[.)])[ \t]+)*(`{3,}|~{3,})")
_VERBATIM = re.compile(r"[ \t>]*<(pre|script|style|textarea)\b", re.I)
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\(?[#@]?\w{1,9}[.)])[ \t]+")
_NOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:|[ ]{0,2}[:~][ ]")  # a footnote or definition
_REACH = 1000  # lines searched upward for the start of a list item
_QUOTED = re.compile(r"[ \t>]*")


class CheckedText:
    """The text blocks between two headings or metadata blocks.

    first: line in the document, from 1; other lines count from 0
    padded: source after a line end
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.first = source_line(blocks[0])
        self.source = "".join([block.source for block in blocks])
        self.padded = "\n" + self.source
        self._blocks = blocks

    @cached_property
    def lines(self) -> list[str]:
        return self.source.split("\n")

    @cached_property
    def bare(self) -> list[str]:
        """Return the lines without quote marks; a fence in place of code."""
        prose = self.prose
        return [_QUOTED.sub("", line, count=1).rstrip() if at in prose else "```" for at, line in enumerate(self.lines)]

    @cached_property
    def parts(self) -> list[tuple[int, Part, str]]:
        return list(parts_by_line(self.source))

    @cached_property
    def in_blocks(self) -> set[int]:
        """Return the lines of metadata blocks."""
        blocks = ((at, text) for at, part, text in self.parts if part.metadata is not None or part.error)
        return {line for at, text in blocks for line in range(at, at + len(text.splitlines()))}

    @cached_property
    def prose(self) -> set[int]:
        """Return the lines outside code, comments, math and metadata."""
        return {at for at, end in self._regions.items() if end == at} - self.in_blocks

    @cached_property
    def comments(self) -> dict[int, int]:
        """Return the spans of multi-line comments."""
        return {at: end for at, end in self._regions.items() if end > at and at not in self.in_blocks}

    @cached_property
    def fences(self) -> set[int]:
        """Return the lines that open fenced code."""
        return {at for at, end in self._regions.items() if end < at} - self.in_blocks

    @cached_property
    def _regions(self) -> dict[int, int]:
        """Map lines outside code to themselves, starts of code to -1, comments to their end."""
        regions: dict[int, int] = {}
        end, comment = "", -1
        starts = {*accumulate((block.source.count("\n") for block in self._blocks), initial=0)}
        for at, line in enumerate(self.lines):
            if at in starts:  # regions end with their block
                regions |= {comment: len(self.lines)} if comment >= 0 else {}
                end, comment = "", -1
            if end:
                end = "" if end in line.lower() else end
                regions |= {comment: at} if comment >= 0 and not end else {}
                comment = comment if end else -1
            elif opened := FENCE.match(line):
                end, regions[at] = opened[1], -1
            elif opened := _VERBATIM.match(line):
                end = f"</{opened[1].lower()}" if f"</{opened[1].lower()}" not in line.lower() else ""
            elif "<!--" in line and "-->" not in line.rpartition("<!--")[2]:
                end, comment = "-->", at
            elif line.count("$$") % 2:
                end = "$$"
            else:
                regions[at] = at
        return regions | ({comment: len(self.lines)} if comment >= 0 else {})

    def number(self, pos: int) -> int:
        """Return a position's line in `padded`."""
        return self.padded.count("\n", 0, pos + 1) - 1

    def above(self, at: int) -> str:
        """Return the line above, without quote marks, or ""."""
        return self.lines[at - 1].strip("> \t\r\ufeff") if at else ""

    def body(self, start: int, end: int) -> str:
        """Return a range of lines without quote marks, as YAML."""
        return "".join([_QUOTED.sub("", line, count=1) + "\n" for line in self.lines[start:end]])

    def is_indented_code(self, at: int) -> bool:
        """Return True for a line of indented code."""
        start = at
        while start >= 0 and self.lines[start].expandtabs(4).startswith("    "):
            start -= 1
        return start < at and (start < 0 or not self.lines[start].strip())

    def is_code_in_item(self, at: int) -> bool:
        """Return True for indented code, which in a list item needs four more columns."""
        return self.is_indented_code(at) and column(self.lines[at]) - self._item_column(at) >= 4

    def _item_column(self, at: int) -> int:
        indent = column(self.lines[at])
        for place in range(at - 1, max(at - _REACH, 0) - 1, -1):
            line = self.lines[place].expandtabs(4)
            starts = [4] if _NOTE.match(line) else item_starts(line)
            if starts and column(line) < indent:
                return max((start for start in starts if start <= indent), default=starts[0])
            if line.strip() and not column(line) and not (place and self.lines[place - 1].strip()):
                break
        return 0

    def is_beside_item(self, at: int) -> bool:
        """Return True for a line not aligned with its list item's text."""
        return self._item_column(at) not in (0, column(self.lines[at]))


def column(line: str) -> int:
    """Return a line's indentation, in columns."""
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip(" "))


def item_starts(line: str) -> list[int]:
    """Return the text columns of list items in a line."""
    starts: list[int] = []
    while item := _ITEM.match(line, starts[-1] if starts else 0):
        starts.append(item.end())
    return starts
