"""Knitting: the lecture notes, without metadata and RAG-only material.

The rules stand here once, for texts (`knit`) and for what the Pandoc filter
walks (`verdicts`, `div_verdict`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import (
    Attributes,
    Block,
    ErrorBlock,
    HeadingBlock,
    MarkdownError,
    MetadataBlock,
    TextBlock,
    blank,
    count_lead,
    ends_blank,
    serialize_blocks,
)
from ..markdown.divs import Cut, Goes, Part, cut, find_cuts, find_parts, without
from ..markdown.metadata import DELETED, MESSAGE_KEYS
from ..markdown.spelling import convert, edit_block, settle
from ..markdown.tree import HeaderNode, HeadingNode, Node, TextNode, blocks_to_tree, traverse
from ..markdown.unfold import unfold_edits
from .boxes import cut_with_boxes
from .lmm_options import options_in
from .references import lost_in, without_lost

RAG_ONLY = "rag-only"
ALL = "all"  # in place of all types, in `keep`
# Keys that Pandoc takes from any native block of a document: a block that holds one
# is the document's (references at the end, a second header), and stays.
DOCUMENT_KEYS = frozenset(
    """references bibliography csl nocite link-citations citation-abbreviations reference-section-title author date
    subtitle abstract keywords institute thanks header-includes include-before include-after lof lot toc""".split()
)
DIV_TYPES = frozenset({"exercise", "topic", RAG_ONLY})
NOT_CLOSED = "a RAG-only div starts here and is not closed (add a line `:::`, or `</div>`)"
OUT = "-"  # before a class in the configuration's `div_types`: it is no type


@dataclass(frozen=True, slots=True)
class KnitRules:
    """What is left out of the notes. `div_types`: classes of fenced divs that are
    RAG-only; `keep`: types that stay in, or `all`. `types`: that parts of the project's
    documents have; `allowed`: words that are no slip of one of these, nor of a key."""

    div_types: frozenset[str] = DIV_TYPES
    keep: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def keeps(self, types: Iterable[str]) -> bool:
        """Whether a part of these types stays in."""
        return not self.keep.isdisjoint((*types, ALL))


def configured_types(words: Iterable[str]) -> frozenset[str]:
    """The classes that are RAG-only by a configuration: the built-in ones and those that it
    names, without those that it names with a `-`. `rag-only` itself always is."""
    named = set(words)
    return ((DIV_TYPES | named_types(named)) - taken_out_types(named)) | {RAG_ONLY}


def taken_out_types(words: Iterable[str]) -> frozenset[str]:
    """The classes that a configuration takes out of those that are RAG-only."""
    return frozenset(word.removeprefix(OUT) for word in words if word.startswith(OUT))


def named_types(words: Iterable[str]) -> frozenset[str]:
    """The classes among words; one with a `-`, by which a document would keep more than the
    configuration does, is none."""
    return frozenset(word for word in words if not word.startswith(OUT))


def header_rules(header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the RAG-only divs that a document's header adds under `lmm:`.
    A document takes no class out, and keeps nothing in that others leave out."""
    return replace(rules, div_types=rules.div_types | named_types(words_of(options_in(header).get("div-types"))))


def project_rules(settings: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with what a project's settings (`_quarto.yml`) say under `lmm:`."""
    keep = frozenset(words_of(options_in(settings).get("keep")))
    return replace(header_rules(settings, rules), keep=rules.keep | keep)


def taken_out(header: Mapping[str, Any]) -> list[str]:
    """The classes that a header names with a `-`, without effect."""
    return [word for word in words_of(options_in(header).get("div-types")) if word.startswith(OUT)]


def words_of(value: Any) -> list[str]:
    """A list, or words separated by commas or blanks."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace(",", " ").split() if value else []


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
    return not rules.keeps(types)


def div_verdict(attributes: Attributes, rules: KnitRules) -> bool | None:
    """The same for a fenced div, by its classes and attributes."""
    knit = attributes.pairs.get("knit", "").lower()
    if knit in ("true", "false"):
        return knit == "false"
    types = [name for name in attributes.classes if name in rules.div_types]
    if not types:
        return None
    named = types_of(attributes.pairs.get("type")) if RAG_ONLY in types else []
    return not rules.keeps((*types, *named))


def out_by_itself(node: Node) -> bool:
    """Whether a node is RAG-only or left out by its own metadata, whatever is kept."""
    return properties_verdict(node, KnitRules()) is True


def knit(blocks: Sequence[Block], rules: KnitRules | None = None, logger: LoggerBase | None = None) -> list[Block]:
    """The blocks of the notes: no metadata blocks, no RAG-only parts, and in the
    header only the writer's keys. Broken metadata blocks are left out, with a
    warning, and references to what is left out are warned of.

    Footnotes and link definitions that stand in a part left out stay where the
    rest refers to them. Of an edit that is not decided, the old text counts."""
    rules, logger = rules or KnitRules(), logger or ConsoleLogger()
    blocks = close_parts(unfold_edits(blocks).blocks, rules)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    kept: list[Block] = [_own_header(tree)] if tree.metadata else []
    gone: list[str] = []
    for node, is_out in verdicts(tree, rules):
        block = node_block(node)
        kept += [] if is_out else [_only_document_keys(m) for m in node.metadata if _is_documents(m)]
        if isinstance(block, ErrorBlock):
            logger.warning("a metadata block that cannot be read is left out", block.line)
        elif isinstance(block, TextBlock) and not is_out:
            kept.append(_knit_text(block, rules, gone, logger))
        elif block is not None and is_out:
            gone.append(block.source)
        elif block is not None:
            kept.append(block)
    lost, labels = _find_lost(blocks, rules)
    for line, message in lost:
        logger.warning(message, line)
    if lost:
        kept = [_readable(block, labels) for block in kept]
    return _join(blocks, [block for block in kept if block.source], "".join(gone))


def _readable(block: Block, labels: Set[str]) -> Block:
    if not isinstance(block, TextBlock | HeadingBlock):
        return block
    return replace(block, source=without_lost(block.source, labels))


def _join(blocks: Sequence[Block], kept: list[Block], gone: str) -> list[Block]:
    """What stays, with the definitions that it needs of what is gone."""
    if kept and (needed := _needed_definitions(kept, gone)):
        if not ends_blank(kept[-1].source):
            kept.append(TextBlock("\n"))
        kept += needed
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


def _is_documents(block: MetadataBlock) -> bool:
    return block.spelling == "native" and not DOCUMENT_KEYS.isdisjoint(block.content)


def _only_document_keys(block: MetadataBlock) -> Block:
    drop = {key for key in block.content if key not in DOCUMENT_KEYS} | {message.key for message in block.messages}
    return edit_block(block, dict.fromkeys(drop, DELETED)) or TextBlock("") if drop else block


def _own_header(tree: HeadingNode) -> Block:
    header = convert([tree.metadata[0]], "div")[0]
    if not isinstance(header, MetadataBlock):
        return header
    drop = [key for key in header.content if key.startswith("~")]
    drop += [message.key for message in header.messages if message.key in MESSAGE_KEYS]
    if not drop:
        return header
    try:
        edited = edit_block(header, dict.fromkeys(drop, DELETED))
    except MarkdownError:
        return header  # a mapping in braces: metadata all the same, and never shown
    return edited if edited is not None else TextBlock("")


def _knit_text(block: TextBlock, rules: KnitRules, gone: list[str], logger: LoggerBase) -> TextBlock:
    """The block without what has to go of it, which is added to `gone`."""
    cuts = find_cuts(block.source, leaves_out(rules))
    if not cuts:
        return block
    first = block.line - count_lead(block.source)
    ranges = list(cut_with_boxes(block.source, leaves_out(rules)))
    gone += [block.source[start:end] for start, end in ranges]
    for part in find_parts(block.source):
        if part.error:
            line = first + block.source.count("\n", 0, part.start)
            logger.warning("a metadata block that cannot be read is left out", line)
    for one in cuts:
        _report_more(one, first, logger)
    source = without(block.source, ranges)
    return replace(block, source="" if blank(source) else source)


def _report_more(one: Cut, first: int, logger: LoggerBase) -> None:
    """Report where more is left out than a RAG-only part."""
    if one.rest:
        logger.error(f"{NOT_CLOSED}: what follows is left out of the notes with it", first + one.line)
    elif one.table:
        logger.warning("a table with a RAG-only part in a cell is left out of the notes whole", first + one.line)


# Divs inside texts


def strip_divs(text: str, rules: KnitRules) -> str:
    """A text without metadata and RAG-only divs, at any depth. What a metadata block
    inside a div says of the part after it counts, too."""
    return without(text, cut_with_boxes(text, leaves_out(rules)))


def strip_metadata(text: str) -> str:
    """A text without the metadata blocks in it, at any depth."""
    return without(text, cut(text, lambda part: None))


def leaves_out(rules: KnitRules) -> Goes:
    """What tells whether a div, or what a metadata block is about, is left out."""

    def goes(part: Part) -> bool | None:
        if part.metadata is not None:
            return properties_verdict(part.metadata, rules)
        return div_verdict(part.attributes, rules)

    return goes


def close_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """The blocks, all from a RAG-only div on that is not closed as one text: it is left out to the
    end, as Pandoc closes it there."""
    for at, block in enumerate(blocks):
        if type(block) is not TextBlock or (":::" not in block.source and "<" not in block.source):
            continue
        cuts = find_cuts(block.source, leaves_out(rules))
        opened = next((one for one in cuts if one.rest and not one.depth), None)
        if opened is None:
            continue
        rest = block.source[opened.start :] + serialize_blocks(blocks[at + 1 :])
        line = block.line - count_lead(block.source) + block.source.count("\n", 0, opened.start)
        before = [replace(block, source=block.source[: opened.start])] if opened.start else []
        return [*blocks[:at], *before, TextBlock(rest, line)]
    return list(blocks)


def find_open(blocks: Sequence[Block], rules: KnitRules) -> int | None:
    """The line of the first RAG-only div that is not closed, at any depth."""
    for block in blocks:
        if isinstance(block, TextBlock) and not isinstance(block, ErrorBlock):
            opened = [one.line for one in find_cuts(block.source, leaves_out(rules)) if one.rest]
            if opened:
                return block.line - count_lead(block.source) + min(opened)
    return None


# References to what is left out

_BRACES = re.compile(r"\{([^{}\n]*)\}")
_LABEL = re.compile(r"(?:^|[ \t])#(\S+)")


def find_dangling(blocks: Sequence[Block], rules: KnitRules) -> list[tuple[int, str]]:
    """References from what stays to what is left out: line and message of each."""
    return _find_lost(blocks, rules)[0]


def find_gone(blocks: Sequence[Block], rules: KnitRules) -> frozenset[str]:
    """The labels of what is left out."""
    return _find_lost(blocks, rules)[1]


def _find_lost(blocks: Sequence[Block], rules: KnitRules) -> tuple[list[tuple[int, str]], frozenset[str]]:
    tree = blocks_to_tree(close_parts(unfold_edits(blocks).blocks, rules))
    if tree is None:
        return [], frozenset()
    stays: list[tuple[int, str]] = []
    gone: set[str] = set()
    there: set[str] = set()
    for node, is_out in verdicts(tree, rules):
        block = node_block(node)
        if block is None or isinstance(block, ErrorBlock):
            continue
        rest = (
            ""
            if is_out
            else without(block.source, cut_with_boxes(block.source, leaves_out(rules)), lines=True)
            if isinstance(block, TextBlock)
            else block.source
        )
        there |= _labels(block, rest)
        gone |= _labels(block, block.source)
        lead = len(block.source) - len(block.source.lstrip(" \t\r\n\ufeff"))
        stays.append((block.line - block.source.count("\n", 0, lead), rest))
    labels = frozenset(gone - there)
    found = [lost for line, text in stays for lost in _dangling_in(text, line, labels)] if labels else []
    return found, labels


def _labels(block: Block, text: str) -> set[str]:
    found = {label for braces in _BRACES.findall(text) for label in _LABEL.findall(braces)}
    if isinstance(block, HeadingBlock) and text:
        found.add(block.attributes.identifier or slug(block.title))
    return found


def slug(title: str) -> str:
    """The identifier that Pandoc gives a heading (its extension `auto_identifiers`)."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", title)
    text = re.sub(r"[^\w\s.-]", "", text).strip().lower()
    return re.sub(r"^[^a-zA-ZÀ-ɏ]+", "", re.sub(r"\s+", "-", text)) or "section"


def _dangling_in(text: str, line: int, gone: frozenset[str]) -> Iterator[tuple[int, str]]:
    for at, label in lost_in(text, gone):
        yield line + text.count("\n", 0, at), lost_message(label)


def lost_message(label: str) -> str:
    """What is said of a reference to what is gone."""
    return f"a reference to `{label}`, which is left out of the notes: they show its words without a link, else […]"


# A footnote or link definition: its line, the lines that go on with it, and (of a
# footnote) indented paragraphs.
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[(?P<label>\^?[^\]\n]+)\]:[^\n]*"
    r"(?:\n(?![ ]{0,3}\[[^\]\n]+\]:|:::)[^\n]*\S[^\n]*|\n(?:[ \t]*\n)+(?:[ ]{4}|\t)[^\n]*)*",
    re.M,
)


def _needed_definitions(kept: list[Block], gone: str) -> list[Block]:
    """Footnotes and link definitions of what is left out that the rest refers to."""
    text = serialize_blocks(kept).lower() if "]:" in gone else ""
    needed = [
        found[0].rstrip()
        for found in _DEFINITION.finditer(gone)
        if f"[{found['label'].lower()}]" in text and f"[{found['label'].lower()}]:" not in text
    ]
    return [TextBlock(definition + "\n\n") for definition in needed]
