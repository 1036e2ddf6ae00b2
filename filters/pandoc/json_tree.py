"""Pandoc's JSON as a tree of values."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from lmm_core.markdown.parse import COMMENT_OPEN

# Elements at the top of a document that are no headings, divs or raw text.
_TEXTS = frozenset(
    "BlockQuote BulletList CodeBlock DefinitionList Figure HorizontalRule LineBlock OrderedList Table".split()
)


def walk(node: Any) -> Iterator[Any]:
    """Yield a JSON value and every value inside it, parents before their children.

    The caller may change a list or an object that it is given: the walk goes on with the
    new content. The siblings come in no particular order."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        if isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def find_elements(node: Any, *kinds: str) -> Iterator[dict[str, Any]]:
    """Yield the Pandoc elements of some kinds (`Cite`, `RawBlock`), at any depth."""
    return (one for one in walk(node) if isinstance(one, dict) and one.get("t") in kinds)


def find_comments(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the raw blocks that are comments with metadata, at any depth."""
    found = (one for one in find_elements(node, "RawBlock") if one["c"][0] == "html")
    return (one for one in found if COMMENT_OPEN.match(one["c"][1]))


def is_text(block: dict[str, Any]) -> bool:
    """Return True if a block at the top of a document is one text to a filter, whatever stands in it: it
    is no heading, no div, and no mark in raw text."""
    if block["t"] in ("Para", "Plain"):
        return not any(one["t"] == "RawInline" for one in block["c"])
    return block["t"] in _TEXTS


def mentions(node: Any, words: Set[str]) -> bool:
    """Return True if one of the words is a text of its own anywhere in the tree."""
    return any(isinstance(one, str) and one in words for one in walk(node))
