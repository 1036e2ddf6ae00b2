"""Mend references to what is left out among Pandoc's elements (see `lmm_core.scan.references`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

import panflute as pf

from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.knit import find_labels_left_out
from lmm_core.scan.references import LEFT_OUT, is_cross_reference

from ..errors import FilterError
from ..pandoc.elements import find_elements


def identifiers(elements: Iterable[pf.Element]) -> set[str]:
    """Return the identifiers of elements and of all that is in them."""
    return {getattr(inside, "identifier", "") for element in elements for inside in find_elements(element)} - {""}


def cited(doc: pf.Doc) -> set[str]:
    """Return the labels that elements cite."""
    cites = (element for element in find_elements(doc) if isinstance(element, pf.Cite))
    return {citation.id for cite in cites for citation in cite.citations}


def gone_on_other_pages(labels: Set[str], rules: KnitRules) -> set[str]:
    """Return the labels that are left out of other pages of the Quarto project.

    Raise FilterError if the project cannot be read, OSError or MarkdownError if a page cannot."""
    labels = {label for label in labels if is_cross_reference(label)}
    folder = os.environ.get("QUARTO_PROJECT_DIR")
    if not labels or not folder:
        return set()
    from lmm_core.errors import QuartoError
    from lmm_core.settings.quarto_inputs import find_inputs

    try:
        pages = find_inputs(Path(folder))
    except QuartoError as error:
        raise FilterError(str(error)) from None
    found: set[str] = set()
    there: set[str] = set()
    for path in pages:
        text = read_markdown(path).text
        named = {label for label in labels if f"#{label}" in text}
        gone = find_labels_left_out(parse_markdown_text(text), rules) if named else set()
        found |= named & gone
        there |= named - gone
    return found - there


def make_readable(doc: pf.Doc, gone: Set[str]) -> None:
    """Replace the references to labels that are gone, by the words of a link or by `[…]`."""

    def replaced(element: pf.Element, doc: pf.Doc) -> list[pf.Element] | None:
        if isinstance(element, pf.Link) and element.url.startswith("#") and element.url[1:] in gone:
            return list(element.content)
        return _readable(element, gone) if isinstance(element, pf.Cite) else None

    doc.walk(replaced)


def _readable(cite: pf.Cite, gone: Set[str]) -> list[pf.Element] | None:
    """Return what replaces citations; None if none of the labels is gone."""
    stay = [one for one in cite.citations if one.id not in gone]
    if len(stay) == len(cite.citations):
        return None
    if stay:
        text = "; ".join(f"@{one.id}" for one in stay)
        return [pf.Cite(pf.Str(f"[{text}]"), citations=stay)]
    return _words(cite.citations)


def _words(citations: Sequence[pf.Citation]) -> list[pf.Element]:
    """Return the words that replace citations of labels that are gone, with those before and after each."""
    made: list[pf.Element] = []
    for one in citations:
        before = list(one.prefix)
        made += [pf.Str(";"), pf.Space()] if made else []
        made += [*before, *([pf.Space()] if before else []), pf.Str(LEFT_OUT), *one.suffix]
    return made
