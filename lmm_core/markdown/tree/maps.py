"""Trees made of trees: copied, changed node by node, without some of their nodes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar, overload

from .nodes import HeadingNode, MarkdownTree, Node
from .traversal import traverse, traverse_post

N = TypeVar("N", bound=Node)


@overload
def copy_tree(tree: N) -> N: ...
@overload
def copy_tree(tree: None) -> None: ...
def copy_tree(tree: N | None) -> N | None:
    """Return a copy of a tree, or of a part of one, which then stands for itself.

    The copy has nodes of its own. Changes to these do not show in the tree, nor the other way round."""
    if tree is None:
        return None
    made = copy(tree)
    made.parent, made.metadata = None, [*tree.metadata]
    if isinstance(made, HeadingNode):
        made.children = [copy_tree(child) for child in made.children]
        for child in made.children:
            child.parent = made
    return made


def map_tree(tree: MarkdownTree, change: Callable[[Node], object], post: bool = False) -> MarkdownTree:
    """Return a copy of a tree that `change` has been called with each node of, to change it in place.

    A section comes before what is in it, or after it with `post`. The tree that is given stays as it is."""
    made = copy_tree(tree)
    for node in list(traverse_post(made) if post else traverse(made)):
        change(node)
    return made


def prune_tree(tree: MarkdownTree, filter_func: Callable[[Node], bool]) -> MarkdownTree:
    """Return a copy of a tree without the nodes for which `filter_func` is false, and all that is below these.

    It is None if that is the root. The tree that is given stays as it is. Raise MarkdownError if something that is
    not closed would take in the text that is left."""
    if tree is None or not filter_func(tree):
        return None
    made = copy_tree(tree)
    pairs = zip(list(traverse(tree)), list(traverse(made)), strict=True)
    for node, twin in pairs:
        if twin.parent is not None and _stands_in(twin, made) and not filter_func(node):
            twin.parent.remove_child(twin)
    return made


def _stands_in(node: Node, tree: Node) -> bool:
    return node.ancestors[:1] == [tree]
