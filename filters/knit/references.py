"""References to left-out elements (see `lmm_core.scan.references`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import panflute as pf

from lmm_core.scan.references import LEFT_OUT

from ..pandoc.elements import find_elements


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
