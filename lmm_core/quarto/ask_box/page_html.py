"""Read identifiers and the words of references from the HTML of a rendered page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..html import HtmlElement, HtmlPage

BOX_TAG = "data-lmm-ask"  # the attribute by which a page's tag of the box is known


@dataclass(frozen=True)
class PageText:
    """The parts of a page that matter to the box.

    ids: of its elements
    words: the text that the page shows for each label it refers to and each work it cites
    tag: the script of the ask box, if there is just one
    """

    ids: frozenset[str]
    words: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""


def read_page(text: str) -> PageText:
    """Return what an HTML page has."""
    page = HtmlPage(text)
    words: dict[str, str] = {}
    for element in page.elements("a.quarto-xref, span.citation[data-cites]"):
        label, shown = _label(element), element.text
        if label and shown and not shown.startswith(("(", "[", "?")):
            words.setdefault(label, shown)
    ids = frozenset(element.attributes["id"] for element in page.elements("[id]"))
    return PageText(ids - {""}, words, _box_tag(text))


def _label(element: HtmlElement) -> str:
    if element.name == "a":
        return element.attributes.get("href", "").rpartition("#")[2]
    cited = element.attributes["data-cites"].split()
    return cited[0] if len(cited) == 1 else ""


def _box_tag(page: str) -> str:
    if page.count(BOX_TAG) != 1:
        return ""
    at, end = page.index(BOX_TAG), "</script>\n"
    return page[page.rfind("<script", 0, at) : page.find(end, at) + len(end)]
