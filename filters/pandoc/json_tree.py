"""Pandoc's JSON as a tree of values, and the metadata blocks among its elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lmm_core.markdown.blocks import Attributes, ErrorBlock, MetadataBlock, class_name
from lmm_core.markdown.metadata.body import parse_metadata
from lmm_core.markdown.metadata.lists import not_a_mapping
from lmm_core.markdown.parse import COMMENT_OPEN, NOT_ONE_BLOCK, parse_markdown_text
from lmm_core.markdown.spelling import make_block

Json = dict[str, Any]
RAW = "lmm"  # the format of the raw blocks in which a filter of ours hands metadata to the next one
# https://hackage.haskell.org/package/pandoc-types, `Block`
_BLOCKS = frozenset(
    """Plain Para LineBlock CodeBlock RawBlock BlockQuote OrderedList BulletList DefinitionList Header HorizontalRule
    Table Figure Div Null""".split()
)
_WORDS = ("Str", "Space", "SoftBreak")  # no set: in metadata, the value of a key `t` is an object
_YAML = {"yaml", "yml"}


def walk(node: Any) -> Iterator[Any]:
    """Yield the lists and objects of JSON, parents before their children, without words and the spaces between them,
    which are most of a document.

    The caller may change a list or an object that it is given: the walk goes on with the
    new content. The siblings come in no particular order."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            yield one
            stack.extend(one)
        elif isinstance(one, dict) and one.get("t") not in _WORDS:
            yield one
            stack.extend(one.values())


def find_elements(node: Any, *kinds: str) -> Iterator[dict[str, Any]]:
    """Yield the Pandoc elements of some kinds (`Cite`, `RawBlock`), at any depth."""
    return (one for one in walk(node) if isinstance(one, dict) and one.get("t") in kinds)


def find_block_lists(node: Any) -> Iterator[list[Json]]:
    """Yield the lists of blocks in an element, at any depth but not those inside of another: the content of a div, of
    each item of a list, of the cells of a table, of the notes in a paragraph. They may be changed."""
    stack = [node["c"]] if "c" in node else []
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, list) and one:
            if isinstance(one[0], dict) and one[0].get("t") in _BLOCKS:
                yield one
            else:
                stack.extend(one)


def attributes_of(block: Json) -> Attributes:
    """Return the attributes of a div or of a block of code; other blocks have none."""
    if block["t"] not in ("Div", "CodeBlock"):
        return Attributes()
    identifier, classes, pairs = block["c"][0]
    return Attributes(identifier, [class_name(name) for name in classes], dict(pairs))


# Metadata blocks


def metadata_of(block: Json) -> MetadataBlock | ErrorBlock | None:
    """Return the metadata block held in an element, or None.

    An error block is a div of class `lmm`, or a comment, that holds no YAML mapping."""
    if block["t"] == "RawBlock":
        return make_block(block["c"][1], "div") if block["c"][0] == RAW else _in_comment(block)
    if not is_metadata(block):
        return None
    inside = block["c"][1]
    if len(inside) == 1 and inside[0]["t"] == "CodeBlock" and not _YAML.isdisjoint(attributes_of(inside[0]).classes):
        body = inside[0]["c"][1] + "\n"
        parsed = parse_metadata(body)
        if parsed.content is not None:
            return make_block(body, "div")
        return ErrorBlock("", 0, parsed.error or not_a_mapping(body), 0)
    return ErrorBlock("", 0, NOT_ONE_BLOCK, 0)


def is_metadata(block: Json) -> bool:
    """Return True if there is a metadata block in an element (see `metadata_of`), without reading it."""
    if block["t"] == "RawBlock":
        return block["c"][0] == RAW or _in_comment(block) is not None
    return block["t"] == "Div" and "lmm" in attributes_of(block).classes


def _in_comment(block: Json) -> MetadataBlock | ErrorBlock | None:
    if not _is_comment(block):
        return None
    read = parse_markdown_text(block["c"][1].rstrip() + "\n\n")[0]
    return replace(read, line=0) if isinstance(read, MetadataBlock | ErrorBlock) else None


def find_comments(node: Any) -> Iterator[Json]:
    """Yield the raw blocks that are comments with metadata, at any depth."""
    return (one for one in find_elements(node, "RawBlock") if _is_comment(one))


def _is_comment(raw: Json) -> bool:
    return raw["c"][0] == "html" and COMMENT_OPEN.match(raw["c"][1]) is not None


def strip_metadata(blocks: list[Json]) -> list[Json]:
    """Return elements without metadata, at any depth. What is inside of them is changed."""
    kept = [block for block in blocks if not is_metadata(block)]
    for block in kept:
        for inside in find_block_lists(block):
            inside[:] = strip_metadata(inside)
    return kept


def mark_metadata(blocks: list[Json]) -> list[Json]:
    """Return elements with the metadata among them as raw blocks, for a later filter of ours."""
    found = ((block, metadata_of(block)) for block in blocks)
    return [
        {"t": "RawBlock", "c": [RAW, read.body]} if isinstance(read, MetadataBlock) else block for block, read in found
    ]


def metadata_element(block: MetadataBlock) -> Json:
    """Return a metadata block as pandoc reads it from a comment, or from a fenced div."""
    if block.spelling == "comment":
        return {"t": "RawBlock", "c": ["html", block.source.strip()]}
    code = {"t": "CodeBlock", "c": [["", ["yaml"], []], block.body.removesuffix("\n")]}
    return {"t": "Div", "c": [["", ["lmm", "content-hidden"], []], [code]]}
