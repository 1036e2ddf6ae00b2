"""Read identifiers and the words of references from the HTML of a rendered page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import ChangedError
from ...workflows.known.cache import Known
from ...workflows.known.digests import FileDigests, digest_of
from ...workflows.known.remember import remembered

# A comment; or a tag, to the end of a script, a style sheet or a block of code if it begins one. Python's own parser
# takes ten times as long, most of it for the colours of code, each line of which has an identifier that no text names.
_NAME = r"/?[a-z][^\s<>/]*"


def _tags(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"<!--.*?(?:-->|\Z)|<(?:(?P<hides>script|style|pre)(?=[\s/>])|(?P<name>{name}))"
        r"(?P<attributes>[^<>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^<>\"']*)*)>(?(hides)[^<]*(?:<(?!/(?P=hides)[\s>])[^<]*)*)",
        re.I | re.S,
    )


_TAG = _tags(_NAME)
_TELLING = _tags(rf"{_NAME}(?=[\s/\"'])")  # without the tags that have no attributes, which most are
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?""")
BOX_TAG = "data-lmm-ask"  # the attribute by which a page's tag of the box is known
_TELLS = re.compile(r"\b[iI][dD]\b|quarto-xref|data-cites")


@dataclass(frozen=True)
class PageText:
    """What a page has. said: its `ids` and `words` as JSON, which are read where a document of the page has changed;
    tag: the script of the ask box, if there is just one."""

    said: str
    tag: str = ""

    @cached_property
    def ids(self) -> frozenset[str]:
        """The identifiers of its elements."""
        return frozenset(self._values[0])

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What it shows for labels: for each that it refers to, and for each work that it cites in its text."""
        return self._values[1]

    @cached_property
    def _values(self) -> tuple[list[str], dict[str, str]]:
        ids, words = json.loads(self.said)
        return ids, words


def read_pages(pages: Mapping[str, Path], place: bytes, known: Known | None = None) -> dict[str, PageText]:
    """Return what each of some HTML pages, given by name, has. Unchanged pages are not read again. place: tells the
    site from others; known: see `remembered`. Raise OSError, and ChangedError for a page that changes meanwhile."""
    with FileDigests(place, known) as digests:
        things = [(digest, (path, digest)) for path in pages.values() for digest in [digests.of(path)]]
    found = remembered("page", b"", things, _read_file, size_of=lambda thing: thing[0].stat().st_size, known=known)
    return {name: PageText(*one) for name, one in zip(pages, found, strict=True)}


def read_page(page: str) -> PageText:
    """Return what an HTML page has."""
    return PageText(*_read(page.encode("utf-8", "surrogateescape")))


def _read_file(page: tuple[Path, bytes]) -> tuple[str, str]:
    path, digest = page
    data = path.read_bytes()
    if digest_of(data) != digest:
        raise ChangedError(f"{path}: changed on disk while it was worked on; run this again")
    return _read(data)


def _read(page: bytes) -> tuple[str, str]:
    text = page.decode("utf-8", "surrogateescape")
    ids: set[str] = set()
    words: dict[str, str] = {}
    for label, shown in _elements(text, ids):
        if shown and not shown.startswith(("(", "[", "?")):
            words.setdefault(label, shown)
    return json.dumps([sorted(ids), words]), _box_tag(text)


def _box_tag(page: str) -> str:
    if page.count(BOX_TAG) != 1:
        return ""
    at, end = page.index(BOX_TAG), "</script>\n"
    return page[page.rfind("<script", 0, at) : page.find(end, at) + len(end)]


def _elements(page: str, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the label of each reference and citation with its text; add the identifiers of all elements to `ids`."""
    end = 0  # of the last element with a label: those in it are not looked for
    for tag in _TELLING.finditer(page):
        written = tag["attributes"]
        if not written or not _TELLS.search(written):
            continue
        attributes, name = _attributes(written), (tag["name"] or "").lower()
        if found := attributes.get("id"):
            ids.add(found)
        if tag.start() >= end and (label := _label(name, attributes)):
            end = _end_of(page, name, tag.end())
            if end < len(page):
                yield label, _shown(page[tag.end() : end])


def _end_of(page: str, name: str, start: int) -> int:
    """Return where the tag begins that closes an element, given where that element's content begins; the end of the
    page if none does."""
    depth = 1
    for tag in _TAG.finditer(page, start):
        found = (tag["name"] or "").lower()
        if found in (name, f"/{name}"):
            depth += -1 if found.startswith("/") else 1
            if depth == 0:
                return tag.start()
    return len(page)


def _attributes(written: str) -> dict[str, str]:
    """Return the attributes in a tag; of two with the same name, the last."""
    found = (one.groups("") for one in _ATTRIBUTE.finditer(written))
    return {name.lower(): html.unescape(double or single or bare) for name, double, single, bare in found}


def _shown(inner: str) -> str:
    """Return the text of an element, without its tags."""
    return " ".join(html.unescape(_TAG.sub("", inner)).split())


def _label(tag: str, attributes: Mapping[str, str]) -> str:
    classes = attributes.get("class", "").split()
    if tag == "a" and "quarto-xref" in classes:
        return attributes.get("href", "").rpartition("#")[2]
    cited = attributes.get("data-cites", "").split()
    return cited[0] if tag == "span" and "citation" in classes and len(cited) == 1 else ""
