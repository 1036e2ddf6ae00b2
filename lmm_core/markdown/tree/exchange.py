"""Metadata and texts passed between sections and what is in them, in place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .collection import effective_metadata
from .nodes import HeadingNode, Node, TextNode
from .traversal import sections, traverse


def inherit_metadata(
    tree: Node,
    exclude: Collection[str] = (),
    include_header: bool = False,
    filter_func: Callable[[Node], bool] = lambda node: True,
) -> Node:
    """Write into each node what the sections around it say, in place, and return the tree.

    What the node says itself stays, the nearest value wins, private keys (`~~…`) and messages are not passed on.
    exclude: keys that are not, either, as they are written; include_header: the header's keys are passed on, too;
    filter_func: true for the nodes that inherit. Raise MarkdownError if a block cannot be edited."""
    for node in traverse(tree):
        if filter_func(node):
            found = effective_metadata(node, include_header)
            for key in (key for key in found if key not in node.properties and key not in exclude):
                node.set(key, found[key])
    return tree


def extract_content(
    tree: HeadingNode,
    output_key: str,
    extract_func: Callable[[Sequence[Node]], Any],
    filter_func: Callable[[HeadingNode], bool] = lambda node: True,
) -> HeadingNode:
    """Write into each section's metadata what `extract_func` makes of its children, in place, and return the tree.

    Inner sections come first, so that `extract_func` finds `output_key` in the sections among the children. What is
    made of the document goes into its header. filter_func: true for the sections that get a value."""
    for node in sections(tree, post=True):
        if filter_func(node):
            node.set(output_key, extract_func(node.children))
    return tree


def propagate_content(
    tree: HeadingNode,
    collect_func: Callable[[HeadingNode], str | TextNode],
    select: bool = False,
    filter_func: Callable[[HeadingNode], bool] = lambda node: True,
) -> HeadingNode:
    """Put a text that `collect_func` makes of a section before its other texts, in place, and return the tree.

    select: in place of its other texts; filter_func: true for the sections that get one. Raise MarkdownError if the
    text cannot stand there (see `TextNode.set_content`)."""
    for node in sections(tree):
        if filter_func(node):
            made = collect_func(node)
            text = TextNode.from_content(made) if isinstance(made, str) else made
            for old in node.texts if select else ():
                node.remove_child(old)
            node.add_child(text, 0)
    return tree


def propagate_property(
    tree: HeadingNode,
    key: str,
    *,
    inherited_keys: Sequence[str] = (),
    add_key_info: bool = True,
    select: bool = False,
) -> HeadingNode:
    """Move a key of the sections into a text of its own at their beginning, in place, and return the tree.

    inherited_keys: what of the section's metadata the text gets; add_key_info: it also gets `type: KEY`; select: it
    takes the place of the section's other texts. Raise MarkdownError as `propagate_content`."""

    def moved(node: HeadingNode) -> TextNode:
        metadata = {"type": key} if add_key_info else {}
        metadata |= {name: value for name in inherited_keys if (value := node.get(name)) is not None}
        text = TextNode.from_content(str(node.get(key)), metadata)
        node.remove(key)
        return text

    return propagate_content(tree, moved, select, lambda node: node.get(key) not in (None, ""))
