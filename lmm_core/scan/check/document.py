"""A document to be checked: blocks, tree and texts, computed lazily."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock, is_text
from ...markdown.edits import restore_originals
from ...markdown.metadata.keys import find_key
from ...markdown.parse import NOT_ONE_BLOCK
from ...markdown.tree import MarkdownTree, blocks_to_tree
from ...markdown.visibility import RAG_ONLY, types_of
from .finding import Finding
from .texts import CheckedText


@dataclass
class CheckedDocument:
    """A document to be checked."""

    blocks: Sequence[Block]

    @cached_property
    def texts(self) -> list[CheckedText]:
        """Return the texts between metadata blocks and headings."""
        return [*_read_texts(self.blocks)]

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


def find_errors(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield unreadable metadata blocks."""
    return CheckedDocument(blocks).find_errors()


def all_types(documents: Iterable[CheckedDocument]) -> frozenset[str]:
    """Return the types used in documents."""
    return frozenset[str]().union(*(document.types for document in documents))


def _unreadable(line: int, message: str) -> Finding:
    return Finding(line, "no-fence" if message == NOT_ONE_BLOCK else "unreadable-block", message)


def _types(metadata: Mapping[str, Any]) -> list[str]:
    key = find_key(metadata, "type") if metadata else None
    return types_of(metadata[key]) if key else []


def _read_texts(blocks: Sequence[Block]) -> Iterator[CheckedText]:
    parts: list[Block] = []
    for block in (*blocks, None):
        if block is not None and is_text(block):
            parts.append(block)
        elif parts:
            yield CheckedText(parts)
            parts = []
