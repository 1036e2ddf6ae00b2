"""Parse a rendered page's identifiers and references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..html import element_text, parse_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

BOX_TAG = "data-lmm-ask"  # attribute that identifies the box's script tag


@dataclass(frozen=True)
class PageText:
    """The parts of a page used by the box.

    words: displayed text by label and cited work
    tag: the box's script tag, "" unless there is exactly one"""

    ids: frozenset[str]
    words: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""


def read_page(text: str) -> PageText:
    page = parse_html(text)
    words: dict[str, str] = {}
    for element in page.css("a.quarto-xref, span.citation[data-cites]"):
        label, shown = _label(element), element_text(element)
        if label and shown and not shown.startswith(("(", "[", "?")):
            words.setdefault(label, shown)
    ids = frozenset(element.attributes["id"] or "" for element in page.css("[id]"))
    return PageText(ids - {""}, words, _box_tag(text))


def _label(element: LexborNode) -> str:
    if element.tag == "a":
        return (element.attributes.get("href") or "").rpartition("#")[2]
    cited = (element.attributes["data-cites"] or "").split()
    return cited[0] if len(cited) == 1 else ""


def _box_tag(page: str) -> str:
    if page.count(BOX_TAG) != 1:
        return ""
    at, end = page.index(BOX_TAG), "</script>\n"
    return page[page.rfind("<script", 0, at) : page.find(end, at) + len(end)]
