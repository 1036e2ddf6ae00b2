"""The documents that a search returns: what their sections' annotations say of them, and a markdown to look at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..markdown.blocks import Block, TextBlock
from ..markdown.metadata.body import dump_entry
from ..markdown.originals import restore_originals
from ..markdown.spelling import make_block
from ..markdown.tree import Node, TextNode, blocks_to_tree, sections, titles_path
from ..markdown.visibility import is_indexed
from .split import ParentDocument

_TITLES = "titles"  # a document has its own path of titles


def document_annotations(
    blocks: Sequence[Block], documents: Sequence[ParentDocument], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return, for each document, the annotations of the texts and sections that it is made of.

    Those of a section are about each of the documents that it is cut into. A document of several sections has those of
    all of them. blocks: of the file; names: of the annotations. Nothing of what `skip: true` leaves out is returned."""
    tree = blocks_to_tree(restore_originals(blocks).blocks)
    texts = [(*_lines(node), node) for section in sections(tree) for node in section.texts if node.block is not None]
    texts = [one for one in texts if is_indexed(one[2])]
    firsts, lasts = [first for first, _, _ in texts], [last for _, last, _ in texts]  # both ascend
    made = []
    for document in documents:
        around = texts[bisect_left(lasts, document.line) : bisect_right(firsts, document.line_end)]
        made.append(_annotations(list(_sources(document, around)), names))
    return made


def _lines(node: TextNode) -> tuple[int, int]:
    """Return the first and the last line of a text in its file, from 1."""
    line = node.block.line if node.block is not None else 1
    return line, line + node.content.count("\n")


def _sources(document: ParentDocument, texts: Sequence[tuple[int, int, TextNode]]) -> Iterator[Node]:
    """Yield the texts that a document is made of, each after its section, and each section once.

    texts: those on its lines, with their own."""
    seen: set[int] = set()
    for first, last, node in texts:
        if _stands_between(document, first, last, node):
            continue
        for one in (node.parent, node):
            if one is not None and id(one) not in seen:
                seen.add(id(one))
                yield one


def _stands_between(document: ParentDocument, first: int, last: int, node: TextNode) -> bool:
    """Return True if a text with a type or metadata of its own is not the document, but lies between its lines."""
    whole = document.line <= first and last <= document.line_end
    return whole and node.content not in document.text and tuple(titles_path(node)) == document.titles


def _annotations(nodes: Sequence[Node], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for name in names if name != _TITLES):
        values = [value for node in nodes if (value := node.get(name)) not in (None, "", [])]
        if len(values) == 1:
            found[name] = values[0]
        elif values:
            found[name] = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return found


def documents_to_blocks(
    documents: Sequence[ParentDocument], annotations: Sequence[Mapping[str, Any]] = ()
) -> list[Block]:
    """Return documents as markdown to look at: each text after a block with its titles, lines and annotations."""
    made: list[Block] = []
    for at, document in enumerate(documents):
        said: dict[str, Any] = {_TITLES: " - ".join(document.titles), "lines": f"{document.line}-{document.line_end}"}
        said |= annotations[at] if at < len(annotations) else {}
        made.append(make_block("".join(dump_entry(key, value) for key, value in said.items() if value), "div"))
        made.append(TextBlock(document.text.rstrip("\n") + "\n\n", 0))
    return made
