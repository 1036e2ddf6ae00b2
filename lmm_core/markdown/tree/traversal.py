"""Walks through a tree, and what is made on the way: lists and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from .nodes import HeadingNode, MarkdownTree, Node

T = TypeVar("T")


def traverse(tree: Node | None) -> Iterator[Node]:
    """Yield all nodes in document order, a section before its content."""
    stack: list[Iterator[Node]] = [iter([tree] if tree is not None else [])]
    while stack:
        for node in stack[-1]:
            yield node
            if isinstance(node, HeadingNode):
                stack.append(iter(node.children))
                break
        else:
            stack.pop()


def traverse_post(tree: Node | None) -> Iterator[Node]:
    """Yield all nodes, a section after its content."""
    stack: list[tuple[Node, bool]] = [(tree, False)] if tree is not None else []
    while stack:
        node, done = stack.pop()
        if done or not isinstance(node, HeadingNode):
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


def sections(tree: MarkdownTree, post: bool = False) -> list[HeadingNode]:
    """Return the document and all its sections, outer ones first (or last with `post`)."""
    nodes = traverse_post(tree) if post else traverse(tree)
    return [node for node in nodes if isinstance(node, HeadingNode)]


def fold(tree: Node | None, step: Callable[[T, Node], T], start: T) -> T:
    """Fold a tree in document order: apply `step` to the result so far and each node."""
    for node in traverse(tree):
        start = step(start, node)
    return start


def fold_post(tree: Node | None, step: Callable[[Node, list[T]], T]) -> T | None:
    """Fold a tree bottom-up: apply `step` to each node and the results of its children."""
    results: dict[int, T] = {}
    last: T | None = None
    for node in traverse_post(tree):
        children = node.children if isinstance(node, HeadingNode) else []
        last = step(node, [results.pop(id(child)) for child in children])
        results[id(node)] = last
    return last


def titles_path(node: Node) -> list[str]:
    """Return the titles from the document down to a node.

    A chapter's heading that repeats the document's title counts once."""
    path: list[str] = []
    for section in [*node.ancestors, *([node] if isinstance(node, HeadingNode) else [])]:
        if section.written_title and section.written_title not in path[-1:]:
            path.append(section.written_title)
    return path
