"""Set parts of texts that have a type, or their own place in notes or index, apart for the index.

The rules are those of knitting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..markdown.blocks import BOM, Block, MetadataBlock, TextBlock, blank, ends_blank, source_line
from ..markdown.divs import Cut, Goes, find_cuts, has_marks, without
from ..markdown.metadata.keys import DECIDING, MESSAGE_KEYS
from ..markdown.spelling import make_block
from ..markdown.visibility import (
    KnitRules,
    close_parts,
    div_properties,
    in_index,
    is_apart,
    part_properties,
    type_of_div,
)

NESTED = 24  # how many levels of parts in parts are set apart


@dataclass(slots=True)
class Excerpt(TextBlock):
    """A part of a text block, or the rest of one.

    type: of the div that it is; gaps: pairs of a position and the number of lines of the file missing before it."""

    type: str | None = None
    gaps: tuple[tuple[int, int], ...] = ()


def extract_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks, with parts that have a type, or say whether they are in the notes or index, as texts of their
    own.

    A part follows the rest of its text and keeps its metadata."""
    extracted: list[Block] = []
    around: list[MetadataBlock] = []
    for block in close_parts(blocks, rules):
        if type(block) is TextBlock and has_marks(block.source):
            extracted += _extract(block, rules, around)
        else:
            extracted.append(block)
        around = [*around, block] if type(block) is MetadataBlock else []
    return extracted


def _extract(block: TextBlock, rules: KnitRules, around: Sequence[MetadataBlock]) -> Iterator[Block]:
    cuts = find_cuts(block.source, _is_separate(rules))
    first = source_line(block)
    parts = [pair for cut in cuts for pair in _texts(cut, first, rules, NESTED)]
    if not parts:
        yield block
        return
    if _is_one_div(block, cuts, parts):
        yield block
        return
    rest = _excerpt(block.source, cuts, first)
    inherited = _inherited(around)
    if not blank(rest.source) or (around and parts[0][0]):
        yield rest  # even if empty: the metadata before the text is not that of the part
    elif around:
        yield parts.pop(0)[1]
    for metadata, text in parts:
        yield from [*inherited, *metadata, text]


def _excerpt(source: str, cuts: Sequence[Cut], line: int, type: str | None = None) -> Excerpt:
    """Return the rest of a source after the cuts; `line` is the number of its first line."""
    gaps, gone = [], 0
    for cut in cuts:
        gaps.append((cut.start - gone, source.count("\n", cut.start, cut.end)))
        gone += cut.end - cut.start
    remaining = without(source, [(cut.start, cut.end) for cut in cuts])
    blanks = len(remaining) - len(remaining.lstrip(BOM + " \t\r\n"))
    trimmed = remaining.rfind("\n", 0, blanks) + 1
    line += remaining.count("\n", 0, trimmed) + sum(count for at, count in gaps if at <= trimmed)
    remaining = remaining[trimmed:].removeprefix(BOM)
    remaining += "" if ends_blank(remaining) else "\n" if remaining.endswith("\n") else "\n\n"
    return Excerpt(remaining, line, type, tuple((at - trimmed, count) for at, count in gaps if at > trimmed))


def without_metadata(block: TextBlock) -> TextBlock:
    """Return a text without the metadata blocks in it, at any depth."""
    cuts = find_cuts(block.source, lambda part: None)
    return _excerpt(block.source, cuts, source_line(block)) if cuts else block


def _is_one_div(block: TextBlock, cuts: Sequence[Cut], parts: Sequence[Any]) -> bool:
    """Return True if a text consists of one fenced div with a type."""
    if len(parts) != 1 or cuts[0].rest or not block.content.startswith(":::"):
        return False
    metadata, text = parts[0]
    return text.type is not None and not metadata and text.content == block.content


def _is_separate(rules: KnitRules) -> Goes:
    return lambda part: is_apart(part_properties(part, rules))


def _texts(cut: Cut, first: int, rules: KnitRules, depth: int) -> Iterator[tuple[list[MetadataBlock], Excerpt]]:
    """Yield a part and the parts inside it as texts, each with its metadata; nothing for a metadata block."""
    if cut.part is None:
        return
    line = first + cut.line
    low, high = cut.inside
    inner = find_cuts(cut.own[low:high], _is_separate(rules), True) if depth else []
    for inside in inner:
        inside.start, inside.end = inside.start + low, inside.end + low
    properties, type = cut.part.metadata, None
    if properties is None:  # a div
        type = type_of_div(cut.part.attributes, rules)
        of_div = div_properties(cut.part.attributes, rules)
        properties = (
            {key: value for key, value in of_div.items() if key != "type"} if in_index(of_div) is not None else {}
        )
    public = {key: value for key, value in properties.items() if not key.startswith("~~") and key not in MESSAGE_KEYS}
    metadata = [_metadata_block(public)] if public or cut.part.metadata is not None else []
    yield metadata, _excerpt(cut.own, inner, line, type)
    inherited = _inherited(metadata)
    for inside in inner:
        inside_first = line + cut.own.count("\n", 0, low)
        for own, text in _texts(inside, inside_first, rules, depth - 1):
            yield [*inherited, *own], text


def _inherited(around: Sequence[MetadataBlock]) -> list[MetadataBlock]:
    """Return the metadata of a text that also holds for a part of it."""
    properties: dict[str, Any] = {}
    for block in around:
        properties |= {key: value for key in sorted(DECIDING) if (value := block.content.get(key)) is not None}
    return [_metadata_block(properties)] if properties else []


def _metadata_block(content: dict[str, Any]) -> MetadataBlock:
    body = "".join(f"{json.dumps(key)}: {json.dumps(value, default=str)}\n" for key, value in content.items())
    block = make_block(body, "div")
    return replace(block, content=content, messages=[])
