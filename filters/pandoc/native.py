"""Put native metadata blocks back to their places among Pandoc's elements.

Pandoc merges these blocks into the document's metadata, and their places are lost. The source tells between which
headings they stand. Where that leaves no doubt, pandoc need not read the text a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeGuard, TypeVar

from lmm_core.markdown.blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, MetadataBlock
from lmm_core.markdown.visibility import DOCUMENT_KEYS

from .json_tree import Json, is_metadata, metadata_element
from .meta import text_of
from .runs.run import PandocRun

_BEGIN = 24  # letters of a block
T = TypeVar("T")


def put_back(ast: Json, blocks: Sequence[Block], run: PandocRun | None) -> Json | None:
    """Return Pandoc's JSON of a source with its native blocks as divs, as if they had been written so, or None if
    there is doubt about a place or a key.

    blocks: of the source; run: that has read them."""
    header, blocks = (blocks[0], blocks[1:]) if blocks and isinstance(blocks[0], HeaderBlock) else (None, blocks)
    natives = [block for block in blocks if _is_native(block)]
    meta = _without_keys(ast["meta"], natives, run, set(map(str, header.content)) if header is not None else set())
    if meta is None or any(isinstance(block, ErrorBlock) for block in blocks) or _may_be_text(natives, ast["blocks"]):
        return None
    elements = _with_divs(ast["blocks"], blocks)
    return {**ast, "meta": meta, "blocks": elements} if elements is not None else None


def _without_keys(meta: Json, natives: Sequence[MetadataBlock], run: PandocRun | None, header: set[str]) -> Json | None:
    """Return the document's metadata without the keys of native blocks. Return None if pandoc has not read each of
    these, or if one may have come from elsewhere, too."""
    if run is None or not run.reads_plainly:
        return None
    given = {key for key, _ in run.given_metadata()}
    keys = {str(key) for block in natives for key in block.content}
    # Of ours, those behind `~` go in any case.
    is_from_elsewhere = any(not key.startswith("~") for key in keys & (header | given | DOCUMENT_KEYS))
    if is_from_elsewhere or not header | keys <= meta.keys() or any(block.messages for block in natives):
        return None
    return {key: value for key, value in meta.items() if key not in keys}


def _may_be_text(natives: Sequence[MetadataBlock], elements: Sequence[Json]) -> bool:
    """Return True if the text has the letters with which a native block begins. Then pandoc may have taken the block
    for text: for a part of a table, for instance."""
    text = "".join(map(_letters, elements)) if natives else ""
    return any("".join(filter(str.isalnum, block.body))[:_BEGIN] in text for block in natives)


def _with_divs(elements: Sequence[Json], blocks: Sequence[Block]) -> list[Json] | None:
    """Return a document's elements with its native blocks, or None if it is not certain where they belong."""
    parts = _split(elements, lambda element: element["t"] == "Header")
    sections = _split(blocks, lambda block: isinstance(block, HeadingBlock))
    if len(parts) != len(sections):
        return None
    made: list[Json] = []
    for (header, inside), (heading, texts) in zip(parts, sections, strict=True):
        section = _section(inside, texts)
        if section is None or not all(map(_is_same, header, heading)):
            return None
        made += [*header, *section]
    return made


def _split(items: Sequence[T], is_heading: Callable[[T], bool]) -> list[tuple[Sequence[T], Sequence[T]]]:
    """Return the sections of a document: the heading, which the first has not, and the rest of each."""
    starts = [*(at for at, item in enumerate(items) if is_heading(item)), len(items)]
    return [((), items[: starts[0]]), *((items[at : at + 1], items[at + 1 : end]) for at, end in pairwise(starts))]


def _section(elements: Sequence[Json], blocks: Sequence[Block]) -> list[Json] | None:
    """Return the elements of a section with its native blocks. Return None if it is not certain between which elements
    these stand, or if the section holds what the source does not."""
    seen = [at for at, block in enumerate(blocks) if not _is_native(block)]  # by pandoc
    if seen and seen[-1] - seen[0] < len(seen):
        metadata = sum(isinstance(blocks[at], MetadataBlock) for at in seen)
        if metadata != sum(map(is_metadata, elements)):
            return None
        return [*_divs(blocks[: seen[0]]), *elements, *_divs(blocks[seen[-1] + 1 :])]
    if len(seen) != len(elements) or not all(_is_same(one, blocks[at]) for one, at in zip(elements, seen, strict=True)):
        return None
    left = iter(elements)
    return [metadata_element(block) if _is_native(block) else next(left) for block in blocks]


def _is_same(element: Json, block: Block) -> bool:
    """Return True if an element is what pandoc reads from a block: it has the letters of the block, and no others.

    What is no text of its own (addresses, attributes) may make up half of a text's letters, and most of a heading's."""
    if isinstance(block, MetadataBlock):
        return is_metadata(element)
    if isinstance(block, HeadingBlock) and (element["t"] != "Header" or element["c"][0] != block.level):
        return False
    letters, source = _letters(element), [*filter(str.isalnum, block.source)]
    left = iter(source)
    is_most = isinstance(block, HeadingBlock) or 0 < len(source) <= 2 * len(letters)
    return is_most and all(sign in left for sign in letters)


def _letters(element: Json) -> str:
    return "".join(filter(str.isalnum, text_of(element)))


def _divs(natives: Sequence[Block]) -> list[Json]:
    return [metadata_element(block) for block in natives if _is_native(block)]


def _is_native(block: Block) -> TypeGuard[MetadataBlock]:
    return isinstance(block, MetadataBlock) and block.spelling == "native"
