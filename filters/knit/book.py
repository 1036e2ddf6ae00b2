"""Knitting of books, whose chapters Quarto joins.

Each chapter has a mark with its file name, and its header in a code block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import panflute as pf

from lmm_core.markdown.blocks import HeaderBlock
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules, header_rules, in_notes

from .elements import Knitting

TITLE_BLOCK = "quarto-title-block"
_MARK = "<!-- quarto-file-metadata:"


def knit_book(
    elements: Sequence[pf.Element], rules: KnitRules, header: HeaderBlock | None = None
) -> tuple[list[pf.Element], list[pf.Element]]:
    """Return the elements of the notes, and those left out.

    Of a chapter with `knit: false` only Quarto's marks stay. header: of the document
    """
    notes, left_out = list[pf.Element](), list[pf.Element]()
    for chapter in _chapters(elements):
        own = _header_of(chapter)
        if own is not None and in_notes(own.content, rules, is_header=True) is False:
            notes += [element for element in chapter if _is_mark(element)]
            left_out += chapter
            continue
        knitting = Knitting(header_rules(own.content, rules) if own is not None else rules)
        notes += knitting.knit(chapter, header)
        left_out += knitting.left_out
    return notes, left_out


def _chapters(elements: Sequence[pf.Element]) -> Iterator[list[pf.Element]]:
    chapter: list[pf.Element] = []
    for element in elements:
        if _is_mark(element) and not (chapter and _is_mark(chapter[-1])):
            yield chapter
            chapter = []
        chapter.append(element)
    yield chapter


def _header_of(chapter: Sequence[pf.Element]) -> HeaderBlock | None:
    for element in chapter:
        if isinstance(element, pf.CodeBlock) and TITLE_BLOCK in element.classes:
            first = parse_markdown_text(element.text + "\n")[0]
            return first if isinstance(first, HeaderBlock) else None
    return None


def _is_mark(element: pf.Element) -> bool:
    """Return True for Quarto's mark of a chapter or page between parts."""
    if isinstance(element, pf.Div):
        return "quarto-book-part" in element.classes
    inside = element.content if isinstance(element, pf.Para) else [element]
    return len(inside) == 1 and isinstance(inside[0], pf.RawBlock | pf.RawInline) and inside[0].text.startswith(_MARK)
