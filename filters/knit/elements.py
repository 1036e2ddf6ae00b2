"""Knitting of Pandoc's elements, at any depth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

import panflute as pf

from lmm_core.errors import FilterError
from lmm_core.markdown.blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, MetadataBlock, TextBlock
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.regions import CONTAINERS
from lmm_core.markdown.tree import blocks_to_tree, node_block
from lmm_core.markdown.visibility import KnitRules, div_properties, header_rules, in_notes, verdicts
from lmm_core.scan.knit import LEFT_OUT, has_titles

from ..pandoc.elements import attributes_of, find_containers, find_elements, is_metadata, metadata_of

_TAG = re.compile(r"<(/?)([A-Za-z]+)(?=[\s/>])")


class Knitting:
    """A run of knitting; `left_out` collects the removed elements."""

    def __init__(self, rules: KnitRules) -> None:
        self.rules = rules
        self.left_out: list[pf.Element] = []

    def knit(self, elements: Sequence[pf.Element], header: HeaderBlock | None = None) -> list[pf.Element]:
        """Return the elements of the notes, changing them in place. header: of the document."""
        return self._knit_each(self._staying(elements, header))

    def _knit_each(self, elements: Sequence[pf.Element]) -> list[pf.Element]:
        return [element for element in elements if not self._knit_inside(element)]

    def _knit_inside(self, element: pf.Element) -> bool:
        """Knit an element's content; return True if it is a box that becomes empty."""
        is_left_empty = False
        for holder in find_containers(element):
            before = list(holder.content)
            loses = any(is_metadata(inside) or _is_left_out(inside, self.rules) for inside in before)
            staying = self._knit_each(self._staying(before) if loses else before)
            if len(staying) < len(before):
                holder.content = staying
                is_left_empty = _is_emptied(element)
        self.left_out += [element] if is_left_empty else []
        return is_left_empty

    def _staying(self, elements: Sequence[pf.Element], header: HeaderBlock | None = None) -> list[pf.Element]:
        blocks: list[Block] = [header] if header is not None else []
        group_of: dict[int, Sequence[pf.Element]] = {}
        staying: set[int] = set()
        for group in self._grouped(elements):
            if _is_quartos(group[0]):  # outside of the document's last section
                staying.add(id(group[0]))
                continue
            blocks.append(_block_of(group[0]))
            group_of[id(blocks[-1])] = group
        tree = blocks_to_tree(blocks)
        for node, is_out in verdicts(tree, self.rules) if tree is not None else ():
            block = node_block(node)
            if block is None or is_out:
                continue
            group = group_of[id(block)]
            if len(group) > 1:
                staying.update(map(id, self._staying(group)))
            elif not _is_left_out(group[0], self.rules):
                staying.add(id(group[0]))
        self.left_out += [element for element in elements if id(element) not in staying]
        return [element for element in elements if id(element) in staying]

    def _grouped(self, elements: Sequence[pf.Element]) -> Iterator[Sequence[pf.Element]]:
        """Yield each element alone, but an HTML element that metadata hides with its content (`<details>`)."""
        at, is_hidden = 0, False
        while at < len(elements):
            metadata = metadata_of(elements[at])
            end = _html_end(elements, at) if is_hidden and metadata is None else at + 1
            yield elements[at:end]
            if metadata is None:
                is_hidden = False
            elif isinstance(metadata, MetadataBlock):
                is_hidden |= in_notes(metadata.content, self.rules) is False
            at = end


def _html_end(elements: Sequence[pf.Element], start: int) -> int:
    first = _tags(elements[start])[:1]
    depth = 0
    for at in range(start, len(elements)) if first and first[0][1] in CONTAINERS else ():
        names = [closing for closing, name in _tags(elements[at]) if name == first[0][1]]
        depth += sum(-1 if closing else 1 for closing in names)
        if depth <= 0:
            return at + 1
    return start + 1


def _tags(element: pf.Element) -> list[tuple[str, str]]:
    is_html = isinstance(element, pf.RawBlock) and element.format == "html"
    return [(closing, name.lower()) for closing, name in _TAG.findall(element.text)] if is_html else []


def _block_of(element: pf.Element) -> Block:
    metadata = metadata_of(element)
    if isinstance(metadata, ErrorBlock):  # it may say that a part is left out
        raise FilterError(f"A metadata block cannot be read: {metadata.message}")
    if metadata is not None:
        return metadata
    return HeadingBlock("", 0, element.level) if isinstance(element, pf.Header) else TextBlock("\n")


def _is_quartos(element: pf.Element) -> bool:
    """Return True for a div with Quarto's navigation and titles."""
    return isinstance(element, pf.Div) and element.identifier.startswith("quarto-") and "hidden" in element.classes


def _is_emptied(element: pf.Element) -> bool:
    if not isinstance(element, pf.Div | pf.BlockQuote):
        return False
    is_titled = has_titles(attributes_of(element))
    return all(is_titled and isinstance(inside, pf.Header) for inside in element.content)


def _is_left_out(element: pf.Element, rules: KnitRules) -> bool:
    return isinstance(element, pf.Div) and in_notes(div_properties(attributes_of(element), rules), rules) is False


# Books, in which Quarto joins chapters, each with a mark (its file name) and its header in a code block

TITLE_BLOCK = "quarto-title-block"
_MARK = "<!-- quarto-file-metadata:"


def knit_book(
    elements: Sequence[pf.Element], rules: KnitRules, header: HeaderBlock | None = None
) -> tuple[list[pf.Element], list[pf.Element]]:
    """Return the elements of the notes, and those left out. A chapter with `knit: false` keeps only Quarto's marks."""
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


# References to left-out elements (see `lmm_core.scan.knit`)


def identifiers(elements: Iterable[pf.Element]) -> set[str]:
    """Return the identifiers of elements and their descendants."""
    return {getattr(inside, "identifier", "") for element in elements for inside in find_elements(element)} - {""}


def make_readable(doc: pf.Doc, labels: Set[str]) -> None:
    """Replace references to `labels` by a link's words or `[…]`."""

    def replaced(element: pf.Element, doc: pf.Doc) -> list[pf.Element] | None:
        if isinstance(element, pf.Link) and element.url.startswith("#") and element.url[1:] in labels:
            return list(element.content)
        return _readable(element, labels) if isinstance(element, pf.Cite) else None

    doc.walk(replaced)


def _readable(cite: pf.Cite, labels: Set[str]) -> list[pf.Element] | None:
    stay = [citation for citation in cite.citations if citation.id not in labels]
    if len(stay) == len(cite.citations):
        return None
    if stay:
        text = "; ".join(f"@{citation.id}" for citation in stay)
        return [pf.Cite(pf.Str(f"[{text}]"), citations=stay)]
    return _words(cite.citations)


def _words(citations: Sequence[pf.Citation]) -> list[pf.Element]:
    words: list[pf.Element] = []
    for citation in citations:
        before = list(citation.prefix)
        words += [pf.Str(";"), pf.Space()] if words else []
        words += [*before, *([pf.Space()] if before else []), pf.Str(LEFT_OUT), *citation.suffix]
    return words
