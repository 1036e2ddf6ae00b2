"""Write keys into metadata blocks, without replacing what the writer has changed.

`~~hash` holds hashes of each key's source text and value, which show changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Any

from ..errors import MarkdownError
from ..logging import LoggerBase
from ..markdown.blocks import (
    BOM,
    Block,
    ErrorBlock,
    HeaderBlock,
    MetadataBlock,
    Spelling,
    blank,
    ends_blank,
    newline_of,
    serialize_blocks,
    trim_blank_lines,
)
from ..markdown.metadata.body import DELETED, dump_entry, edit_metadata
from ..markdown.metadata.keys import HASHES, digest, find_key, hash_pair, read_hashes, short_hashes
from ..markdown.spelling import edit_block, make_block, with_body
from ..markdown.tree import HeaderNode, Node, TextNode, traverse

FLOW_KEYS = frozenset({HASHES})
EMPTY = "~~empty"  # marks a writer's block that was empty before we wrote keys into it
TIGHT = "~~tight"  # marks a writer's block without blank line before it


class State(Enum):
    """The state of a key: whether it exists, who wrote it, and whether its source text has changed since."""

    MISSING = auto()
    CURRENT = auto()
    OUTDATED = auto()
    WRITERS = auto()
    CORRECTED = auto()
    STALE = auto()  # corrected, and the source has changed


def key_state(properties: Mapping[str, Any], key: str, input_hash: str) -> State:
    """Return a key's state, by its source text's present hash."""
    spelled, pair = find_key(properties, key), hash_pair(properties, key)
    is_same = pair is not None and pair[0] == input_hash
    if spelled is None:
        return State.CURRENT if is_same and pair is not None and pair[1] == digest(None) else State.MISSING
    if spelled != f"~{key}":
        return State.WRITERS
    if pair is None:
        return State.CORRECTED
    if digest(properties[spelled]) != pair[1]:
        return State.CORRECTED if is_same else State.STALE
    return State.CURRENT if is_same else State.OUTDATED


def set_values(
    properties: Mapping[str, Any], values: Mapping[str, Any], input_hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the changes that set keys with `~`, and their hashes.

    values: by key; `DELETED` removes the key, and None, for an empty reply, removes it but writes its hash
    input_hashes: hashes of the source texts, by key
    """
    changes: dict[str, Any] = {}
    hashes = read_hashes(properties)
    for key, value in values.items():
        if value is DELETED:
            hashes.pop(key, None)
        else:
            hashes[key] = [input_hashes[key], digest(value)]
        value = DELETED if value is None else value
        if (value is not DELETED or f"~{key}" in properties) and properties.get(f"~{key}", DELETED) != value:
            changes[f"~{key}"] = value
    if hashes != read_hashes(properties) or not isinstance(properties.get(HASHES) or {}, dict):
        changes[HASHES] = short_hashes(hashes) or DELETED
    return changes


def write_keys(node: Node, changes: Mapping[str, Any], spelling: Spelling, newline: str, logger: LoggerBase) -> None:
    """Write changes into the block nearest before a node, or into a new one with this spelling and newline."""
    existing = node.properties
    entries = {key: value for key, value in changes.items() if value is not DELETED or key in existing}
    if not entries:
        return
    if not node.metadata:
        closed = spelling == "comment"
        body = "".join(
            dump_entry(key, value, flow=key in FLOW_KEYS, newline=newline, closed=closed)
            for key, value in entries.items()
        )
        node.metadata = [make_block(body, spelling, newline, header=isinstance(node, HeaderNode))]
        return
    nearest = node.metadata[-1]
    if blank(nearest.body) and nearest.line:
        entries[EMPTY] = True
    try:
        edited = edit_block(nearest, entries, FLOW_KEYS, stays=True) or replace(with_body(nearest, ""), line=0)
    except MarkdownError as error:
        logger.error(f"metadata not updated: {error}", nearest.line)
        return
    if edited.content.keys() == {EMPTY}:
        edited = with_body(edited, edit_metadata(edited.body, {EMPTY: DELETED}, newline))
    node.metadata = [*node.metadata[:-1], edited]


def mark_tight(before: Sequence[Block], after: Sequence[Block]) -> list[Block]:
    """Return the blocks, with `TIGHT` in edited native blocks that will get a blank line before them."""
    old_ids = {id(block) for block in before}
    marked: list[Block] = []
    for block in after:
        edited = (
            isinstance(block, MetadataBlock) and block.line and block.spelling == "native" and id(block) not in old_ids
        )
        if edited and marked and not ends_blank(marked[-1].source):
            assert isinstance(block, MetadataBlock)
            block = edit_block(block, {TIGHT: True}) or block
        marked.append(block)
    return marked


def emptied_blocks(before: Sequence[Block], after: Sequence[Block]) -> dict[int, None]:
    """Return the `id`s of blocks that `write_keys` has emptied, as `take_out` expects them."""
    old_ids = {id(block) for block in before}
    metadata = (block for block in after if isinstance(block, MetadataBlock) and id(block) not in old_ids)
    return {id(block): None for block in metadata if not block.line and blank(block.body)}


def spellings_of(tree: Node | None, default: Spelling) -> dict[int, Spelling]:
    """Return the spelling of a new block at each node, by the node's `id`, as in the nearest block."""
    nodes = list(traverse(tree))
    places = [(at, spelling) for at, node in enumerate(nodes) if (spelling := _spelling(node))] or [(0, default)]
    spellings: dict[int, Spelling] = {}
    behind = 0
    for at, node in enumerate(nodes):
        while behind + 1 < len(places) and places[behind + 1][0] - at < at - places[behind][0]:
            behind += 1
        spellings[id(node)] = places[behind][1]
    if len(nodes) > 1 and not nodes[0].metadata and spellings[id(nodes[1])] == "native":
        spellings[id(nodes[1])] = "div"  # a native block at the very start would be the header
    return spellings


def _spelling(node: Node) -> Spelling | None:
    if isinstance(node, TextNode) and isinstance(node.block, ErrorBlock):
        first = trim_blank_lines(node.block.source.lstrip(BOM))[:1]
        return "native" if first == "-" else "comment" if first == "<" else "div"
    if node.metadata and not isinstance(node.metadata[-1], HeaderBlock):
        return node.metadata[-1].spelling
    return None


def first_newline(blocks: Sequence[Block]) -> str:
    """Return the line end that the document uses first."""
    return newline_of(serialize_blocks(blocks))
