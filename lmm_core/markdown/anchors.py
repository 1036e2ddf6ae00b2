"""Anchors of MyST and GitHub on the line above a heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .blocks import Attributes, Block, HeadingBlock, TextBlock
from .parse import parse_markdown_text
from .tree import TextNode, blocks_to_tree, traverse
from .visibility import is_hidden

_ANCHOR = r"(?:\([^()\n]+\)=|<a\s[^<>\n]*>\s*</a>|<a\s[^<>\n]*/>)[ \t]*\r?\n"
_ANCHORS = re.compile(rf"\ufeff?(?:[ \t]*\r?\n)*[ ]{{0,3}}((?:{_ANCHOR})+)(?=#{{1,6}}[ \t])")
_LABEL = re.compile(r"^\(([^()\n]+)\)=|\s(?:id|name)[ \t]*=[ \t]*[\"']?([^\s\"'<>{}]+)", re.M)
_NO_ID = re.compile(r"^[^a-z]+|[^a-z0-9]+$")


def without_anchors(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks with anchors above headings moved into the headings, as `{#label}`.

    Pandoc reads a paragraph, but the index needs the title. Hidden sections stay, since a heading there would end
    them.
    """
    blocks = [*blocks]
    if not any(map(_anchors_of, blocks)):
        return blocks
    hidden = _left_out(blocks)
    return [part for block in blocks for part in ([block] if id(block) in hidden else _without(block))]


def _anchors_of(block: Block) -> re.Match[str] | None:
    return _ANCHORS.match(block.source) if type(block) is TextBlock else None


def _left_out(blocks: Sequence[Block]) -> set[int]:
    tree = blocks_to_tree(blocks)
    texts = (node for node in traverse(tree) if isinstance(node, TextNode)) if tree is not None else ()
    return {id(text.block) for text in texts if any(map(is_hidden, text.ancestors))}


def _without(block: Block) -> Iterator[Block]:
    anchors = _anchors_of(block)
    if anchors is None:
        yield block
        return
    lines_above = block.line - 1 + anchors[1].count("\n")
    for at, part in enumerate(parse_markdown_text(block.source[anchors.end() :])):
        part.line += lines_above
        if at == 0 and isinstance(part, HeadingBlock):
            _name(part, anchors[1])
        yield from _without(part)


def _name(heading: HeadingBlock, anchors: str) -> None:
    labels = [_myst_id(match[1]) if match[1] else match[2] for match in _LABEL.finditer(anchors)]
    if heading.attributes.identifier or not labels or not labels[-1]:
        return
    line = heading.source.partition("\n")[0].rstrip()
    has_more = heading.attributes != Attributes()
    named_line = f"{line[:-1]} #{labels[-1]}}}" if has_more else f"{line} {{#{labels[-1]}}}"
    heading.source = named_line + heading.source[len(line) :]


def _myst_id(label: str) -> str:
    return _NO_ID.sub("", re.sub(r"[^a-z0-9]+", "-", label.lower()))
