"""Knit a book in one file: Quarto joins the chapters for Word, PDF and EPUB.

Each chapter's header then stands in a code block of class `quarto-title-block`, behind a
mark that names the chapter's file. The header's settings hold for its chapter.
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
    """Return the elements of the notes, chapter by chapter, and those that are left out.

    A chapter whose header says `knit: false` keeps Quarto's marks alone. header: what the document
    says of itself as a whole."""
    kept, left_out = list[pf.Element](), list[pf.Element]()
    for chapter in _chapters(elements):
        own = _header_of(chapter)
        if own is not None and in_notes(own.content, rules, is_header=True) is False:
            kept += [element for element in chapter if _is_mark(element)]
            left_out += chapter
            continue
        knitting = Knitting(header_rules(own.content, rules) if own is not None else rules)
        kept += knitting.knit(chapter, header)
        left_out += knitting.left_out
    return kept, left_out


def _chapters(elements: Sequence[pf.Element]) -> Iterator[list[pf.Element]]:
    """Yield the elements from one mark to the next, or all elements if there is no mark."""
    chapter: list[pf.Element] = []
    for element in elements:
        if _is_mark(element) and not (chapter and _is_mark(chapter[-1])):
            yield chapter
            chapter = []
        chapter.append(element)
    yield chapter


def _header_of(chapter: Sequence[pf.Element]) -> HeaderBlock | None:
    """Return the header of a chapter, or None if it has none."""
    for element in chapter:
        if isinstance(element, pf.CodeBlock) and TITLE_BLOCK in element.classes:
            first = parse_markdown_text(element.text + "\n")[0]
            return first if isinstance(first, HeaderBlock) else None
    return None


def _is_mark(element: pf.Element) -> bool:
    """Return True for Quarto's mark of a chapter, and for the page between two parts."""
    if isinstance(element, pf.Div):
        return "quarto-book-part" in element.classes
    inside = element.content if isinstance(element, pf.Para) else [element]
    return len(inside) == 1 and isinstance(inside[0], pf.RawBlock | pf.RawInline) and inside[0].text.startswith(_MARK)
