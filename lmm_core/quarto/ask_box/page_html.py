"""Read identifiers and the words of references from the HTML of a rendered page."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser


class _Ids(HTMLParser):
    """A parser that gathers identifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.update(value for name, value in attrs if name == "id" and value)


def element_ids(page: str) -> frozenset[str]:
    """Return the identifiers of all elements of an HTML page."""
    parser = _Ids()
    parser.feed(page)
    parser.close()
    return frozenset(parser.found)


class _Words(HTMLParser):
    """A parser that gathers the texts of references and citations, those in brackets left out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.open: list[tuple[str, str, list[str]]] = []  # tag, label, text
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.open and tag == self.open[-1][0]:
            self.depth += 1
        elif not self.open and (label := _label(tag, {name: value or "" for name, value in attrs})):
            self.open.append((tag, label, []))
            self.depth = 0

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][2].append(data)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or tag != self.open[-1][0]:
            return
        if self.depth:
            self.depth -= 1
            return
        _, label, pieces = self.open.pop()
        text = " ".join("".join(pieces).split())
        if text and not text.startswith(("(", "[", "?")):
            self.found.setdefault(label, text)


def _label(tag: str, attributes: Mapping[str, str]) -> str:
    classes = attributes.get("class", "").split()
    if tag == "a" and "quarto-xref" in classes:
        return attributes.get("href", "").rpartition("#")[2]
    cited = attributes.get("data-cites", "").split()
    return cited[0] if tag == "span" and "citation" in classes and len(cited) == 1 else ""


def page_words(page: str) -> dict[str, str]:
    """Return what an HTML page of Quarto's shows for each label that it refers to, and for each work
    that it cites in its text."""
    parser = _Words()
    parser.feed(page)
    parser.close()
    return parser.found
