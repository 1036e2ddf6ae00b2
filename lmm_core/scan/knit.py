"""Knitting: the lecture notes, without metadata and RAG-only material.

The rules stand here once, for texts (`knit`) and for what the Pandoc filter
walks (`RuleState`, `div_is_out`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import (
    Attributes,
    Block,
    ErrorBlock,
    HeaderBlock,
    HeadingBlock,
    MarkdownError,
    MetadataBlock,
    TextBlock,
    blank,
    serialize_blocks,
)
from ..markdown.metadata import DELETED, MESSAGE_KEYS
from ..markdown.parse import parse_markdown_text
from ..markdown.regions import DIV_OPEN, Regions, div_attributes
from ..markdown.spelling import edit_block, settle
from ..markdown.tree import HeaderNode, HeadingNode, Node, TextNode, blocks_to_tree, traverse

RAG_ONLY = "rag-only"
DIV_TYPES = frozenset({"exercise", "topic", RAG_ONLY})


@dataclass(frozen=True, slots=True)
class KnitRules:
    """What is left out of the notes. `div_types`: classes of fenced divs that are
    RAG-only; `keep`: types that stay in."""

    div_types: frozenset[str] = DIV_TYPES
    keep: frozenset[str] = frozenset()


def types_of(value: Any) -> list[str]:
    """The words of a `type` value: one word or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [str(word).strip() for word in values if word not in (None, "", False)]


def properties_verdict(properties: Any, rules: KnitRules) -> bool | None:
    """Whether metadata leaves its part out (True), keeps it in (False), or says
    nothing (None). `properties` has a method `get`."""
    knit = properties.get("knit")
    if isinstance(knit, bool):
        return not knit
    types = types_of(properties.get("type"))
    if not types:
        return None
    return not any(word in rules.keep for word in types)


def div_verdict(attributes: Attributes, rules: KnitRules) -> bool | None:
    """The same for a fenced div, by its classes and attributes."""
    knit = attributes.pairs.get("knit", "").lower()
    if knit in ("true", "false"):
        return knit == "false"
    types = [name for name in attributes.classes if name in rules.div_types]
    if not types:
        return None
    named = types_of(attributes.pairs.get("type")) if RAG_ONLY in types else []
    return not any(word in rules.keep for word in (*types, *named))


def out_by_itself(node: Node) -> bool:
    """Whether a node is RAG-only or left out by its own metadata, whatever is kept."""
    return properties_verdict(node, KnitRules()) is True


def knit(blocks: Sequence[Block], rules: KnitRules | None = None, logger: LoggerBase | None = None) -> list[Block]:
    """The blocks of the notes: no metadata blocks, no RAG-only parts, and in the
    header only the writer's keys. Broken metadata blocks are left out, with a
    warning, and so are references to what is left out warned of.

    Footnotes and link definitions that stand in a part left out stay where the
    rest refers to them."""
    rules, logger = rules or KnitRules(), logger or ConsoleLogger()
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    kept: list[Block] = [_own_header(tree)] if tree.metadata else []
    kept = [block for block in kept if block.source]
    out: list[Block] = []
    for node, is_out in verdicts(tree, rules):
        block = node_block(node)
        if isinstance(block, ErrorBlock):
            logger.warning("a metadata block that cannot be read is left out", block.line)
        elif block is not None and is_out:
            out.append(block)
        elif block is not None:
            kept.append(_knit_text(block, rules) if isinstance(block, TextBlock) else block)
    kept = [block for block in kept if block.source]
    kept += _needed_definitions(kept, out)
    for line, message in find_dangling(blocks, rules):
        logger.warning(message, line)
    if kept and blocks and kept[-1] is not blocks[-1]:
        kept[-1] = _end_here(kept[-1])
    return settle(blocks, kept)


def _end_here(block: Block) -> Block:
    """A block that has become the last one, without the blank lines after it."""
    text = block.source.rstrip(" \t\r\n")
    end = block.source.find("\n", len(text)) + 1
    return replace(block, source=block.source[:end] if end else block.source)


def verdicts(tree: HeadingNode, rules: KnitRules) -> Iterator[tuple[Node, bool]]:
    """All nodes but the document, each with whether it is left out: by itself, else
    by the nearest section around it that says."""
    out: dict[int, bool] = {}
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            out[id(node)] = node.get("knit") is False
            continue
        own = properties_verdict(node, rules)
        out[id(node)] = out[id(node.parent)] if own is None else own
        yield node, out[id(node)]


def node_block(node: Node) -> HeadingBlock | TextBlock | None:
    """The heading or text of a node."""
    if isinstance(node, HeadingNode):
        return node.heading
    return node.block if isinstance(node, TextNode) else None


def _own_header(tree: HeadingNode) -> Block:
    header = tree.metadata[0]
    drop = [key for key in header.content if key.startswith("~")]
    drop += [message.key for message in header.messages if message.key in MESSAGE_KEYS]
    if not drop:
        return header
    try:
        edited = edit_block(header, dict.fromkeys(drop, DELETED))
    except MarkdownError:
        return header  # a mapping in braces: metadata all the same, and never shown
    return edited if edited is not None else TextBlock("")


def _knit_text(block: TextBlock, rules: KnitRules) -> TextBlock:
    if ":::" not in block.source:
        return block
    source = strip_divs(block.source, rules)
    return replace(block, source="" if blank(source) else source)


# Divs inside texts

_ANY_DIV = re.compile(r"^(?P<indent>(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+|[ \t]+|))(?P<div>:{3,}[^\n]*)\n?", re.M)


def strip_divs(text: str, rules: KnitRules) -> str:
    """A text without metadata divs and RAG-only divs, at any depth."""
    if ":::" not in text:
        return text
    lead = len(text) - len(text.lstrip("\n\r \t\ufeff"))
    if DIV_OPEN.match(text, lead):
        end = Regions(text).div_end(lead)
        if end is not None:
            return text[:lead] + _strip_div(text[lead:end], rules) + strip_divs(text[end:], rules)
    return _strip_indented(text, rules)


def _strip_div(div: str, rules: KnitRules) -> str:
    """One fenced div: nothing where it is left out, else with its inside knitted."""
    attributes = div_attributes(div)
    if "lmm" in attributes.classes or div_verdict(attributes, rules):
        return ""
    opened = div.find("\n") + 1
    closed = div.rstrip("\r\n \t").rfind("\n") + 1
    inside = parse_markdown_text(div[opened:closed])
    silent = _Silent()
    return div[:opened] + serialize_blocks(_knit_inside(inside, rules, silent)) + div[closed:]


class _Silent(LoggerBase):
    def report(self, report: Any) -> None:
        """The caller has reported already."""


def _knit_inside(blocks: list[Block], rules: KnitRules, logger: LoggerBase) -> list[Block]:
    """The inside of a div: its first block is no header."""
    if not any(isinstance(b, MetadataBlock) or ":::" in b.source for b in blocks):
        return blocks
    return knit([_no_header(block) for block in blocks], rules, logger)


def _no_header(block: Block) -> Block:
    if not isinstance(block, HeaderBlock):
        return block
    return MetadataBlock(
        block.source, block.line, block.content, block.messages, block.spelling, block.start, block.end
    )


def _strip_indented(text: str, rules: KnitRules) -> str:
    """Divs inside lists and the like: cut line by line, code fences left alone."""
    kept: list[str] = []
    depth = 0
    fence = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        bare = line.strip()
        if not depth and (mark := re.match(r"(?:[-*+>]\s+|\d+[.)]\s+)*(`{3,}|~{3,})", bare)):
            fence = "" if fence and bare.startswith(fence) else fence or mark[1]
        found = None if fence else _ANY_DIV.match(line)
        if found and re.fullmatch(r":{3,}\s*", found["div"]):
            if depth:
                depth -= 1
                continue
        elif found and DIV_OPEN.match(found["div"].rstrip()):
            attributes = div_attributes(found["div"].rstrip())
            if depth or "lmm" in attributes.classes or div_verdict(attributes, rules):
                kept.extend([found["indent"] + "\n"] if not depth and found["indent"].strip() else [])
                depth += 1
                continue
        if not depth:
            kept.append(line)
    return "".join(kept)


# References to what is left out

_LABEL = re.compile(r"\{[^}\n]*?#(?P<id>[^\s}]+)[^}\n]*\}")
_REFERENCE = re.compile(r"\]\(#(?P<link>[^)\s]+)\)|(?<![\w@\\])-?@(?P<cite>[A-Za-z][\w:.-]*\w)")
_NOTE = re.compile(r"\[(?P<label>\^?[^\]\n]+)\]:")


def find_dangling(blocks: Sequence[Block], rules: KnitRules) -> list[tuple[int, str]]:
    """References from what stays to what is left out: line and message of each."""
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    stays: list[tuple[int, str]] = []
    gone: set[str] = set()
    for node, is_out in verdicts(tree, rules):
        block = node_block(node)
        if block is None or isinstance(block, ErrorBlock):
            continue
        rest = "" if is_out else strip_divs(block.source, rules) if isinstance(block, TextBlock) else block.source
        gone |= _labels(block, block.source) - _labels(block, rest)
        stays.append((block.line, rest))
    if not gone:
        return []
    return [found for line, text in stays for found in _dangling_in(text, line, gone)]


def _labels(block: Block, text: str) -> set[str]:
    found = {match["id"] for match in _LABEL.finditer(text)}
    if isinstance(block, HeadingBlock) and text:
        found.add(block.attributes.identifier or slug(block.title))
    return found


def slug(title: str) -> str:
    """The identifier that Pandoc gives a heading (its extension `auto_identifiers`)."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", title)
    text = re.sub(r"[^\w\s.-]", "", text).strip().lower()
    return re.sub(r"^[^a-zA-ZÀ-ɏ]+", "", re.sub(r"\s+", "-", text)) or "section"


def _dangling_in(text: str, line: int, gone: set[str]) -> Iterator[tuple[int, str]]:
    for match in _REFERENCE.finditer(text):
        label = match["link"] or match["cite"]
        if label in gone:
            at = line + text.count("\n", 0, match.start())
            yield at, f"a reference to `{label}`, which is left out of the notes"


def _needed_definitions(kept: list[Block], out: list[Block]) -> list[Block]:
    """Footnotes and link definitions of parts left out that the rest refers to."""
    candidates = [(m["label"], b) for b in out if isinstance(b, TextBlock) and (m := _NOTE.match(b.content))]
    if not candidates:
        return []
    text = serialize_blocks(kept).lower()
    return [block for label, block in candidates if f"[{label.lower()}]" in text]
