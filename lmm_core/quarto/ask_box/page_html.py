"""Read identifiers and the words of references from the HTML of a rendered page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser

from ...workflows.known.remember import remembered


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page has: the identifiers of its elements, and what it shows for labels: for each that it refers to, and
    for each work that it cites in its text."""

    ids: frozenset[str]
    words: Mapping[str, str]


def read_pages(pages: Mapping[str, bytes]) -> dict[str, PageText]:
    """Return what each of some HTML pages, given by name, has. Unchanged pages are not read again."""
    found = remembered("page", b"", [(data, data) for data in pages.values()], _read)
    return {name: PageText(frozenset(ids), words) for name, (ids, words) in zip(pages, found, strict=True)}


def read_page(page: str) -> PageText:
    """Return what an HTML page has."""
    ids, words = _read(page.encode("utf-8", "surrogateescape"))
    return PageText(frozenset(ids), words)


def _read(page: bytes) -> tuple[list[str], dict[str, str]]:
    parser = _Page()
    parser.feed(page.decode("utf-8", "surrogateescape"))
    parser.close()
    return sorted(parser.ids), parser.words


class _Page(HTMLParser):
    """A parser that gathers identifiers, and the texts of references and citations, those in brackets left out."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.words: dict[str, str] = {}
        self.open: list[tuple[str, str, list[str]]] = []  # tag, label, text
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids.update(value for name, value in attrs if name == "id" and value)
        if self.open and tag == self.open[-1][0]:
            self.depth += 1
        elif not self.open and (label := _label(tag, attrs)):
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
            self.words.setdefault(label, text)


def _label(tag: str, attrs: list[tuple[str, str | None]]) -> str:
    if tag not in ("a", "span"):
        return ""
    attributes = {name: value or "" for name, value in attrs}
    classes = attributes.get("class", "").split()
    if tag == "a" and "quarto-xref" in classes:
        return attributes.get("href", "").rpartition("#")[2]
    cited = attributes.get("data-cites", "").split()
    return cited[0] if tag == "span" and "citation" in classes and len(cited) == 1 else ""
