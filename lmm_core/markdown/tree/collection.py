"""Read-only collections from a tree: its texts, its titles, its nodes with their metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nodes import HeaderNode, HeadingNode, Node, TextNode
from .traversal import traverse


def collect_text(tree: Node | None, filter_func: Callable[[TextNode], bool] = lambda node: True) -> list[str]:
    """Return the texts of a tree in their order, or those of the nodes for which `filter_func` is true."""
    texts = (node for node in traverse(tree) if isinstance(node, TextNode) and node.content)
    return [node.content for node in texts if filter_func(node)]


def collect_headings(tree: Node | None, filter_func: Callable[[HeadingNode], bool] = lambda node: True) -> list[str]:
    """Return the titles of a tree in their order, the document's first.

    filter_func: true for the sections that count."""
    return [node.title for node in traverse(tree) if isinstance(node, HeadingNode) and filter_func(node)]


def collect_table_of_contents(tree: Node | None) -> list[dict[str, Any]]:
    """Return the sections of a tree, each as a mapping: `level` (0 for the document) and `content`, its title."""
    found = (node for node in traverse(tree) if isinstance(node, HeadingNode))
    return [{"level": node.level, "content": node.title} for node in found]


def collect_dictionaries(
    tree: Node | None, filter_func: Callable[[Node], bool] = lambda node: True, inherit: bool = True
) -> list[dict[str, Any]]:
    """Return the nodes of a tree, each as a mapping: `content` (a text, or a title) and `metadata`.

    filter_func: true for the nodes that count; inherit: the metadata holds what the sections around a node say, too,
    except the document's header; the nearest value wins."""
    return [
        {"content": node.content, "metadata": effective_metadata(node) if inherit else dict(node.properties)}
        for node in traverse(tree)
        if filter_func(node)
    ]


def effective_metadata(node: Node, header: bool = False) -> dict[str, Any]:
    """Return a node's keys and those that the sections around it add; the nearest value wins.

    header: those of the document's header are added, too."""
    around = [one for one in node.ancestors if header or not isinstance(one, HeaderNode)]
    found = dict(node.properties)
    for section in reversed(around):
        found |= {key: value for key, value in section.properties.items() if not _has(found, key)}
    return found


def _has(properties: dict[str, Any], key: str) -> bool:
    """Return True if a key is there in any of its spellings; private keys are about one node alone."""
    name = key.removeprefix("~").removesuffix("=")
    return key.startswith("~~") or not {name, f"{name}=", f"~{name}"}.isdisjoint(properties)
