"""Parts of texts that are indexed separately, since they have a type or own visibility."""

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

NESTED = 24  # maximum depth of nested parts


@dataclass(slots=True)
class Excerpt(TextBlock):
    """A part of a text block, or its rest.

    gaps: pairs of position and number of source lines missing
    """

    type: str | None = None
    gaps: tuple[tuple[int, int], ...] = ()


def extract_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks with separate parts as texts, behind the rest."""
    extracted: list[Block] = []
    preceding: list[MetadataBlock] = []
    for block in close_parts(blocks, rules):
        if type(block) is TextBlock and has_marks(block.source):
            extracted += _extract(block, rules, preceding)
        else:
            extracted.append(block)
        preceding = [*preceding, block] if type(block) is MetadataBlock else []
    return extracted


def _extract(block: TextBlock, rules: KnitRules, preceding: Sequence[MetadataBlock]) -> Iterator[Block]:
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
    inherited = _inherited(preceding)
    if not blank(rest.source) or (preceding and parts[0][0]):
        yield rest  # even if empty: preceding metadata is not the part's
    elif preceding:
        yield parts.pop(0)[1]
    for metadata, text in parts:
        yield from [*inherited, *metadata, text]


def _excerpt(source: str, cuts: Sequence[Cut], line: int, type: str | None = None) -> Excerpt:
    gaps, removed_length = [], 0
    for cut in cuts:
        gaps.append((cut.start - removed_length, source.count("\n", cut.start, cut.end)))
        removed_length += cut.end - cut.start
    remaining = without(source, [(cut.start, cut.end) for cut in cuts])
    blanks = len(remaining) - len(remaining.lstrip(BOM + " \t\r\n"))
    trimmed = remaining.rfind("\n", 0, blanks) + 1
    line += remaining.count("\n", 0, trimmed) + sum(count for at, count in gaps if at <= trimmed)
    remaining = remaining[trimmed:].removeprefix(BOM)
    remaining += "" if ends_blank(remaining) else "\n" if remaining.endswith("\n") else "\n\n"
    return Excerpt(remaining, line, type, tuple((at - trimmed, count) for at, count in gaps if at > trimmed))


def without_metadata(block: TextBlock) -> TextBlock:
    """Return a text without nested metadata blocks."""
    cuts = find_cuts(block.source, lambda part: None)
    return _excerpt(block.source, cuts, source_line(block)) if cuts else block


def _is_one_div(block: TextBlock, cuts: Sequence[Cut], parts: Sequence[Any]) -> bool:
    if len(parts) != 1 or cuts[0].is_unclosed or not block.content.startswith(":::"):
        return False
    metadata, text = parts[0]
    return text.type is not None and not metadata and text.content == block.content


def _is_separate(rules: KnitRules) -> Goes:
    return lambda part: is_apart(part_properties(part, rules))


def _texts(cut: Cut, first: int, rules: KnitRules, depth: int) -> Iterator[tuple[list[MetadataBlock], Excerpt]]:
    if cut.part is None:
        return
    line = first + cut.line
    low, high = cut.content
    inner = find_cuts(cut.own[low:high], _is_separate(rules), is_container=True) if depth else []
    for nested in inner:
        nested.start, nested.end = nested.start + low, nested.end + low
    properties, type = cut.part.metadata, None
    if properties is None:
        type = type_of_div(cut.part.attributes, rules)
        of_div = div_properties(cut.part.attributes, rules)
        properties = (
            {key: value for key, value in of_div.items() if key != "type"} if in_index(of_div) is not None else {}
        )
    public = {key: value for key, value in properties.items() if not key.startswith("~~") and key not in MESSAGE_KEYS}
    metadata = [_metadata_block(public)] if public or cut.part.metadata is not None else []
    yield metadata, _excerpt(cut.own, inner, line, type)
    inherited = _inherited(metadata)
    for nested in inner:
        nested_first = line + cut.own.count("\n", 0, low)
        for own, text in _texts(nested, nested_first, rules, depth - 1):
            yield [*inherited, *own], text


def _inherited(preceding: Sequence[MetadataBlock]) -> list[MetadataBlock]:
    """Return the metadata of a text that also applies to its parts."""
    properties: dict[str, Any] = {}
    for block in preceding:
        properties |= {key: value for key in sorted(DECIDING) if (value := block.content.get(key)) is not None}
    return [_metadata_block(properties)] if properties else []


def _metadata_block(content: dict[str, Any]) -> MetadataBlock:
    body = "".join(f"{json.dumps(key)}: {json.dumps(value, default=str)}\n" for key, value in content.items())
    block = make_block(body, "div")
    return replace(block, content=content, messages=[])
