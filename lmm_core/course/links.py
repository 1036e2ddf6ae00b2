"""Fix the links of a static site: documents to pages, labels across pages, and files, which are copied."""

from __future__ import annotations

import html
import os
import posixpath
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from ..files.walk import RENDERED, SUFFIXES, is_document, is_inside
from ..logging import LoggerBase
from ..quarto.html import element_text
from ..scan.references import LEFT_OUT

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NAMES_FILE = ("href", "src", "poster", "data")
_NAMING_FILES = "a[href], link[href], [src], [srcset], [poster], object[data]"
_LABELLED = "h1[id], h2[id], h3[id], h4[id], h5[id], h6[id], [id][data-ref]"


class Label(NamedTuple):
    """A label's page, and the text of references to it."""

    page: str
    words: str


Labels = Mapping[str, Sequence[Label]]  # by name, which may occur on several pages


def find_labels(pages: Mapping[str, LexborHTMLParser]) -> Labels:
    labels: dict[str, list[Label]] = {}
    for page, tree in pages.items():
        for element in tree.css(_LABELLED):
            words = element.attributes.get("data-ref") or element_text(element)
            labels.setdefault(element.attributes["id"] or "", []).append(Label(page, words))
    return labels


@dataclass(frozen=True)
class SiteLinks:
    """The links of a site and their files.

    sources: document by page
    own: other files of the site"""

    sources: Mapping[str, Path]
    labels: Labels
    folder: Path
    output: Path
    own: frozenset[str] = frozenset()

    def mend(self, page: str, tree: LexborHTMLParser, logger: LoggerBase) -> None:
        """Fix a page's references and links, and copy linked files."""
        for element in tree.css("a.quarto-xref"):
            self._mend_reference(element, page, logger)
        for element in tree.css(_NAMING_FILES):
            for name in _NAMES_FILE:
                if link := element.attributes.get(name):
                    element.attrs[name] = self._mended(link, page, logger)
            if sizes := element.attributes.get("srcset"):
                parts = [candidate.split() for candidate in sizes.split(",") if candidate.split()]
                mended = [" ".join([self._mended(link, page, logger), *size]) for link, *size in parts]
                element.attrs["srcset"] = ", ".join(mended)

    def _mend_reference(self, element: LexborNode, page: str, logger: LoggerBase) -> None:
        name = unquote((element.attributes.get("href") or "").removeprefix("#"))
        named = self.labels.get(name, ())
        label = next((label for label in named if label.page == page), next(iter(named), None))
        if label is None:
            logger.warning(f"@{name}: no page has this label, or it is left out of the notes")
            element.replace_with(LEFT_OUT)
            return
        place = "" if label.page == page else _relative(label.page, page)
        element.attrs["href"] = f"{place}#{quote(name)}"
        element.inner_html = html.escape(label.words or name, quote=False)

    def _mended(self, link: str, page: str, logger: LoggerBase) -> str:
        """Return a fixed link: to the page of a document, `/figures/a.png` as relative. Copy its file."""
        parts = urlsplit(link)
        name = unquote(parts.path)
        source = self.sources.get(page)
        if parts.scheme or parts.netloc or not name or source is None or self._is_page(name, page):
            return link
        base = self.folder if name.startswith("/") else source.parent
        path = Path(os.path.normpath(base / name.lstrip("/")))
        of_document = next((page_name for page_name, document in self.sources.items() if document == path), "")
        if of_document:
            return _relative(of_document, page) + (f"#{parts.fragment}" if parts.fragment else "")
        self._copy(path, name, logger)
        return "../" * page.count("/") + link.lstrip("/") if name.startswith("/") else link

    def _is_page(self, name: str, page: str) -> bool:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
        return place in self.sources or place in self.own

    def _copy(self, path: Path, name: str, logger: LoggerBase) -> None:
        """Copy a linked file unless it is outside the course, hidden or a document."""
        if not path.is_file():
            if not path.is_dir() and path.is_relative_to(self.folder):
                logger.warning(f"{name}: there is no such file in the course")
        elif not path.is_relative_to(self.folder) or not is_inside(path, self.folder):
            logger.warning(f"{name}: a link out of the course: not copied to the site")
        elif is_document(path.name, (*SUFFIXES, *RENDERED)) or any(
            part.startswith((".", "_")) for part in path.relative_to(self.folder).parts
        ):
            logger.warning(f"{name}: not copied to the site: it is hidden, or a document that is not a page")
        else:
            target = self.output / path.relative_to(self.folder)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def _relative(name: str, page: str) -> str:
    return quote(os.path.relpath(name, PurePosixPath(page).parent))
