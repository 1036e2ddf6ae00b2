"""Parts of texts that are RAG-only or say so of themselves, set apart so that each is indexed by
its own type.

The rules are those of knitting.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..markdown.blocks import BOM, Attributes, Block, MetadataBlock, TextBlock, blank, ends_blank, source_line
from ..markdown.divs import Cut, Part, find_cuts, has_marks, without
from ..markdown.metadata.body import MESSAGE_KEYS
from ..markdown.rag_only import RAG_ONLY, KnitRules, close_parts, div_types, types_of
from ..markdown.spelling import make_block

NESTED = 24  # how many levels of parts in parts are set apart


@dataclass(slots=True)
class Excerpt(TextBlock):
    """A text that stood in another one, or the rest of such a text.

    `kind` is the type of the div that it is. `gaps` are pairs of a position in the source and the
    number of lines of the file that are missing before it.
    """

    kind: str | None = None
    gaps: tuple[tuple[int, int], ...] = ()


def div_kind(attributes: Attributes, rules: KnitRules) -> str | None:
    """Return the type of a RAG-only div: its class, or the attribute `type` of `.rag-only`; None if
    it is no such div."""
    types = div_types(attributes, rules)
    return next((word for word in types if word != RAG_ONLY), RAG_ONLY) if types else None


def extract_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks, with parts of texts as texts of their own.

    A part is set apart if it has a type, or says whether it is in the notes or in the index. It
    follows the rest of its text and keeps its metadata.
    """
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
    def is_separate(part: Part) -> bool | None:
        return _is_separate(part, rules)

    cuts = find_cuts(block.source, is_separate)
    first = source_line(block)
    found = [made for one in cuts for made in _texts(one, first, rules, NESTED)]
    if not found:
        yield block
        return
    if _is_one_div(block, cuts, found):
        yield block
        return
    rest = _excerpt(block.source, cuts, first)
    inherited = _inherited(around)
    if not blank(rest.source) or (around and found[0][0]):
        yield rest  # even if empty: the metadata before the text is not that of the part
    elif around:
        yield found.pop(0)[1]
    for metadata, text in found:
        yield from [*inherited, *metadata, text]


def _excerpt(source: str, cuts: Sequence[Cut], line: int, kind: str | None = None) -> Excerpt:
    """Return the rest of a source after the cuts; `line` is the number of its first line."""
    gaps, gone = [], 0
    for one in cuts:
        gaps.append((one.start - gone, source.count("\n", one.start, one.end)))
        gone += one.end - one.start
    left = without(source, [(one.start, one.end) for one in cuts])
    blanks = len(left) - len(left.lstrip(BOM + " \t\r\n"))
    trimmed = left.rfind("\n", 0, blanks) + 1
    line += left.count("\n", 0, trimmed) + sum(count for at, count in gaps if at <= trimmed)
    left = left[trimmed:].removeprefix(BOM)
    left += "" if ends_blank(left) else "\n" if left.endswith("\n") else "\n\n"
    return Excerpt(left, line, kind, tuple((at - trimmed, count) for at, count in gaps if at > trimmed))


def _is_one_div(block: TextBlock, cuts: Sequence[Cut], found: Sequence[Any]) -> bool:
    """Return True if a text consists of one fenced div with a type."""
    if len(found) != 1 or cuts[0].rest or not block.content.startswith(":::"):
        return False
    return found[0][1].kind is not None and found[0][1].content == block.content


def _is_separate(part: Part, rules: KnitRules) -> bool | None:
    """Return True if a part is a text of its own: it has a type, says that it is not in the notes,
    or says whether it is in the index. (A part with `knit: true` alone is like the notes.)"""
    if part.metadata is not None:
        knit, skip = part.metadata.get("knit"), part.metadata.get("skip")
        if types_of(part.metadata.get("type")) or knit is False or isinstance(skip, bool):
            return True
        return False if knit is True else None
    if div_kind(part.attributes, rules) is not None:
        return True
    return True if part.attributes.pairs.get("knit", "").lower() == "false" else None


def _texts(one: Cut, first: int, rules: KnitRules, depth: int) -> Iterator[tuple[list[MetadataBlock], Excerpt]]:
    """Yield a part as a text, and the parts inside it, each with its metadata; nothing for a metadata block."""
    if one.part is None:
        return
    line = first + one.line
    low, high = one.inside
    inner = find_cuts(one.own[low:high], lambda part: _is_separate(part, rules), True) if depth else []
    for inside in inner:
        inside.start, inside.end = inside.start + low, inside.end + low
    metadata = []
    if one.part.metadata is not None:
        public = {key: value for key, value in one.part.metadata.items() if not key.startswith("~~")}
        metadata.append(_metadata_block({key: value for key, value in public.items() if key not in MESSAGE_KEYS}))
    kind = None if one.part.metadata is not None else div_kind(one.part.attributes, rules)
    yield metadata, _excerpt(one.own, inner, line, kind)
    inherited = _inherited(metadata)
    for inside in inner:
        inside_first = line + one.own.count("\n", 0, low)
        for own, text in _texts(inside, inside_first, rules, depth - 1):
            yield [*inherited, *own], text


def _inherited(around: Sequence[MetadataBlock]) -> list[MetadataBlock]:
    """Return the metadata of a text that holds as well for a part of it that is set apart."""
    said: dict[str, Any] = {}
    for block in around:
        said |= {key: value for key in ("type", "skip") if (value := block.content.get(key)) is not None}
    return [_metadata_block(said)] if said else []


def _metadata_block(content: dict[str, Any]) -> MetadataBlock:
    body = "".join(f"{json.dumps(key)}: {json.dumps(value, default=str)}\n" for key, value in content.items())
    block = make_block(body, "div")
    return replace(block, content=content, messages=[])
