"""Knitting: lecture notes without metadata and RAG-only material."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ..errors import MarkdownError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import (
    BOM,
    Attributes,
    Block,
    ErrorBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    blank,
    ends_blank,
    is_text,
    serialize_blocks,
    source_line,
)
from ..markdown.divs import Cut, Part, cut, has_marks, without
from ..markdown.edits import restore_originals
from ..markdown.metadata.body import DELETED
from ..markdown.metadata.keys import DOCUMENT_KEYS, MESSAGE_KEYS
from ..markdown.regions import split_fences
from ..markdown.spelling import convert, edit_block, settle
from ..markdown.tree import HeadingNode, blocks_to_tree, node_block
from ..markdown.visibility import (
    NOT_CLOSED,
    KnitRules,
    close_parts,
    leaves_out,
    parts_and_cuts,
    verdicts,
)
from .header import report_errors


def knit(blocks: Sequence[Block], rules: KnitRules | None = None, logger: LoggerBase | None = None) -> list[Block]:
    """Return the blocks of the notes; the header keeps the writer's keys.

    Broken blocks, which are left out, and dangling references are reported. Pending edits show their old text.
    """
    rules, logger = rules or KnitRules(), logger or ConsoleLogger()
    report_errors(blocks, logger)
    blocks = close_parts(restore_originals(blocks).blocks, rules)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    notes: list[Block] = [_own_header(tree)] if tree.metadata else []
    left_out_texts: list[str] = []
    for node, is_out in verdicts(tree, rules):
        block = node_block(node)
        notes += [] if is_out else [_only_document_keys(m) for m in node.metadata if _is_documents(m)]
        if isinstance(block, ErrorBlock):
            continue
        if isinstance(block, TextBlock) and not is_out:
            notes.append(_knit_text(block, rules, left_out_texts, logger))
        elif block is not None and is_out:
            left_out_texts.append(block.source)
        elif block is not None:
            notes.append(block)
    dangling, labels = _find_dangling(tree, rules)
    for line, message in dangling:
        logger.warning(message, line)
    if dangling:
        notes = [_with_readable_references(block, labels) for block in notes]
    left_out_text = "".join(left_out_texts)
    if "[^" in left_out_text:
        notes = without_orphaned_notes(notes, left_out_text, serialize_blocks(notes))
    return _join(blocks, [block for block in notes if block.source], left_out_text)


def _with_readable_references(block: Block, labels: Set[str]) -> Block:
    if not isinstance(block, TextBlock | HeadingBlock):
        return block
    return replace(block, source=replace_references_to(block.source, labels))


def _join(blocks: Sequence[Block], notes: list[Block], left_out_text: str) -> list[Block]:
    if notes and (needed := _needed_definitions(notes, left_out_text)):
        if not ends_blank(notes[-1].source):
            notes.append(TextBlock("\n"))
        notes += needed
    if notes and blocks and notes[-1] is not blocks[-1]:
        notes[-1] = _end_here(notes[-1])
    return settle(blocks, notes)


def _end_here(block: Block) -> Block:
    text = block.source.rstrip(" \t\r\n")
    end = block.source.find("\n", len(text)) + 1
    return replace(block, source=block.source[:end] if end else block.source)


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
    try:
        return edit_block(header, dict.fromkeys(drop, DELETED)) or TextBlock("") if drop else header
    except MarkdownError:
        return header  # flow mappings cannot be edited, but metadata is never shown


def _knit_text(block: TextBlock, rules: KnitRules, left_out_texts: list[str], logger: LoggerBase) -> TextBlock:
    _, cuts = parts_and_cuts(block.source, rules)
    if not cuts:
        return block
    first = source_line(block)
    ranges = list(cut_with_boxes(block.source, rules))
    left_out_texts += [block.source[start:end] for start, end in ranges]
    for left_out in cuts:
        _report_more(left_out, first, logger)
    source = without(block.source, ranges)
    return replace(block, source="" if blank(source) else source)


def _report_more(cut: Cut, first: int, logger: LoggerBase) -> None:
    if cut.is_unclosed:
        logger.error(NOT_CLOSED, first + cut.line)
    elif cut.is_table:
        logger.warning("a table with a RAG-only part in a cell is left out of the notes as a whole", first + cut.line)


def strip_divs(text: str, rules: KnitRules) -> str:
    """Return a text without metadata and RAG-only parts, at any depth."""
    return without(text, cut_with_boxes(text, rules)) if has_marks(text) else text


def strip_metadata(text: str) -> str:
    """Return a text without nested metadata blocks."""
    return without(text, cut(text, lambda part: None)) if has_marks(text) else text


def find_unclosed_div(blocks: Sequence[Block], rules: KnitRules) -> int | None:
    """Return the line of the first unclosed RAG-only div, at any depth, or None."""
    for block in blocks:
        if isinstance(block, TextBlock) and not isinstance(block, ErrorBlock):
            opened = [cut.line for cut in parts_and_cuts(block.source, rules)[1] if cut.is_unclosed]
            if opened:
                return source_line(block) + min(opened)
    return None


_BRACES = re.compile(r"\{([^{}\n]*)\}")
_LABEL = re.compile(r"(?:^|[ \t])#(\S+)")


def find_dangling(blocks: Sequence[Block], rules: KnitRules) -> list[tuple[int, str]]:
    """Return line and message of each reference to a hidden part."""
    tree = blocks_to_tree(close_parts(restore_originals(blocks).blocks, rules))
    return _find_dangling(tree, rules)[0] if tree is not None else []


_Dangling = tuple[list[tuple[int, str]], frozenset[str]]


def _find_dangling(tree: HeadingNode, rules: KnitRules) -> _Dangling:
    pieces = ((node_block(node), is_out) for node, is_out in verdicts(tree, rules))
    parts = [
        (block, "" if is_out else _remaining_text(block, rules))
        for block, is_out in pieces
        if block is not None and not isinstance(block, ErrorBlock)
    ]
    cut_blocks = [block for block, rest in parts if rest != block.source]
    labels = frozenset(label for block in cut_blocks for label in _labels(block, block.source))
    if labels:
        labels -= {label for block, rest in parts for label in _labels(block, rest)}
    dangling = (
        (line for block, rest in parts for line in _dangling_in(rest, source_line(block), labels)) if labels else ()
    )
    return list(dangling), labels


def _remaining_text(block: Block, rules: KnitRules) -> str:
    if not isinstance(block, TextBlock):
        return block.source
    return without(block.source, cut_with_boxes(block.source, rules), lines=True)


def _labels(block: Block, text: str) -> set[str]:
    labels = {label for braces in _BRACES.findall(text) for label in _LABEL.findall(braces)}
    if isinstance(block, HeadingBlock) and text:
        labels.add(block.attributes.identifier or slug(block.title))
    return labels


def slug(title: str) -> str:
    """Return Pandoc's identifier for a heading's title (extension `auto_identifiers`)."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", title)
    text = re.sub(r"[^\w\s.-]", "", text).strip().lower()
    name = re.sub(r"\s+", "-", text)
    return name[next((at for at, sign in enumerate(name) if sign.isalpha()), len(name)) :] or "section"


def _dangling_in(text: str, line: int, labels: frozenset[str]) -> Iterator[tuple[int, str]]:
    for at, label in find_references_to(text, labels):
        yield (
            line + text.count("\n", 0, at),
            f"a reference to `{label}`, which is left out of the notes; "
            "its words are shown without a link, or […] if it has none",
        )


# a footnote or link definition, with its continuation; compiled on first use
_DEFINITION = (
    r"(?m)^[ ]{0,3}\[(?P<label>\^?[^\]\n]+)\]:[^\n]*"
    r"(?:\n(?![ ]{0,3}\[[^\]\n]+\]:|:::)[^\n]*\S[^\n]*|\n(?:[ \t\r]*\n)+(?:[ ]{4}|\t)[^\n]*)*"
)


def without_orphaned_notes(blocks: Sequence[Block], left_out_text: str, text: str) -> list[Block]:
    """Return blocks without the footnotes that only the text left out refers to, and that are defined elsewhere."""
    defined = re.findall(_DEFINED_NOTE, left_out_text.lower())
    orphans = _note_references(left_out_text) - _note_references(text) - {*defined}
    if not orphans:
        return [*blocks]

    def blank_out(match: re.Match[str]) -> str:
        is_orphan = match["label"].lower() in orphans
        if not is_orphan or split_fences(f"{match.string[: match.start()]}.")[-1][0]:  # in code
            return match[0]
        return re.sub(r"[^\r\n]+", "", match[0])

    texts = (re.sub(_DEFINITION, blank_out, block.source) if is_text(block) else block.source for block in blocks)
    return [replace(block, source=text) for block, text in zip(blocks, texts, strict=True)]


_DEFINED_NOTE = r"(?m)^[ \t>]*\[(\^[^\]\s]+)\]:"


def _note_references(text: str) -> set[str]:
    return {*re.findall(r"\[(\^[^\]\s]+)\]", re.sub(_DEFINED_NOTE, "", text.lower()))} if "[^" in text else set()


def _needed_definitions(notes: list[Block], left_out_text: str) -> list[Block]:
    text = serialize_blocks(notes).lower() if "]:" in left_out_text else ""
    needed = [
        match[0].rstrip()
        for match in re.finditer(_DEFINITION, left_out_text)
        if f"[{match['label'].lower()}]" in text and f"[{match['label'].lower()}]:" not in text
    ]
    return [TextBlock(definition + "\n\n") for definition in needed]


# Divs (callouts, tabs, columns) left empty by removed parts, which readers would notice


_HEADING = re.compile(r"^[ ]{0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)", re.M)


def has_titles(attributes: Attributes) -> bool:
    """Return True for a callout or tabset, whose headings are titles."""
    return any(name in ("callout", "panel-tabset") or name.startswith("callout-") for name in attributes.classes)


def cut_with_boxes(text: str, rules: KnitRules) -> Iterator[tuple[int, int]]:
    """Yield the ranges left out of the notes, and the boxes that this empties."""
    lead = len(BOM) if text.startswith(BOM) else 0
    parts, cuts = parts_and_cuts(text[lead:], rules)
    ranges = [(cut.start, cut.end) for cut in cuts]
    if emptied := _find_emptied(text[lead:], parts, [*ranges]):
        goes = leaves_out(rules)
        ranges = [*cut(text[lead:], lambda part: part.start in emptied or goes(part))]
    for start, end in ranges:
        yield start + lead, end + lead


def _find_emptied(text: str, parts: Sequence[Part], cuts: list[tuple[int, int]]) -> set[int]:
    emptied: set[int] = set()
    for part in reversed(parts):  # inner parts first
        if part.metadata is not None or part.error or not text.startswith(":::", part.start):
            continue
        first = bisect_left(cuts, (part.start + 1, 0))
        last = bisect_left(cuts, (part.end, 0), lo=first)
        is_cut = first > 0 and cuts[first - 1][1] >= part.end
        if first < last and not is_cut and _is_empty(text, part, cuts[first:last]):
            emptied.add(part.start)
            cuts[first:last] = [(part.start, part.end)]
    return emptied


def _is_empty(text: str, part: Part, cuts: list[tuple[int, int]]) -> bool:
    start, end = text.find("\n", part.start) + 1, text.rfind("\n", 0, part.end - 1) + 1
    starts, ends = [start, *(to for _, to in cuts)], [*(at for at, _ in cuts), end]
    rest = "".join(text[gap_start:gap_end] for gap_start, gap_end in zip(starts, ends, strict=True))
    return not (_HEADING.sub("", rest) if has_titles(part.attributes) else rest).strip()


# References to left-out parts: a link becomes its words, a cross-reference `[…]`

LEFT_OUT = "[…]"
# Code, links within the page, citations in brackets, citations in the text (few runs need these patterns: compiled on
# first use)
_REFERENCE = (
    r"(?P<code>`[^`\n]+`)"
    r"|(?:(?<!!)\[(?P<words>[^\[\]]*))?\]\(#(?P<link>[^()\[\]\s]+)\)(?:\{[^{}\n]*\})?"
    r"|(?<!!)\[(?P<group>[^\[\]@]*@[^\[\]]*)\](?![(\[{:])"
    r"|(?<![\w@\\])-?@(?:\{(?P<braced>[^{}\n]+)\}|(?P<key>[A-Za-z](?:[\w:.-]*\w)?))"
)
_CITED = r"(?<![\w@\\])-?@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))"


# https://quarto.org/docs/authoring/cross-references.html
_ACROSS = r"(?:sec|fig|tbl|eq|lst|thm|lem|cor|prp|cnj|def|exm|exr|sol|rem|alg|nte|tip|wrn|imp|cau)-."


def is_cross_reference(label: str) -> bool:
    """Return True for Quarto's labels, which may be on another page."""
    return re.match(_ACROSS, label) is not None


def find_references_to(text: str, left_out: Set[str]) -> Iterator[tuple[int, str]]:
    """Yield position and label of each reference to a label in `left_out`."""
    for at, reference in _references(text) if any(label in text for label in left_out) else ():
        for label in _labels_of(reference):
            if label in left_out:
                yield at, label


def replace_references_to(text: str, left_out: Set[str]) -> str:
    """Return a text with references to `left_out` labels made readable."""
    pieces, at = [], 0
    for start, reference in _references(text):
        if not left_out.isdisjoint(_labels_of(reference)):
            pieces += [text[at:start], _readable(reference, left_out)]
            at = start + len(reference[0])
    return "".join(pieces) + text[at:]


def _references(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    start = 0
    for is_code, piece in split_fences(text):
        for reference in re.finditer(_REFERENCE, piece) if not is_code else ():
            if not reference["code"]:
                yield start + reference.start(), reference
        start += len(piece)


def _labels_of(reference: re.Match[str]) -> list[str]:
    if reference["group"] is not None:
        return _cited_in(reference["group"])
    return [reference["link"] or reference["braced"] or reference["key"]]


def _cited_in(group: str) -> list[str]:
    return [braced or key for braced, key in re.findall(_CITED, group)]


def _readable(reference: re.Match[str], left_out: Set[str]) -> str:
    if reference["link"]:
        # words with brackets precede the match
        return "]" if reference["words"] is None else reference["words"]
    if reference["group"] is None:
        return LEFT_OUT
    items = [(item, _cited_in(item)) for item in reference["group"].split(";")]
    stay = [item for item, labels in items if left_out.isdisjoint(labels)]
    if stay:
        return f"[{';'.join(stay).strip()}]"
    return "; ".join(re.sub(_CITED, LEFT_OUT, item).strip() for item, _ in items)
