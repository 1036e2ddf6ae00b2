"""Make the links of a static site lead where they should: to pages instead of their sources, to the
names of figures and sections on all pages, and to files, which are copied beside the pages."""

from __future__ import annotations

import html
import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from ..files.walk import RENDERED, SUFFIXES, is_document, is_inside
from ..logging import LoggerBase, in_file
from ..quarto.html import HtmlPage
from ..scan.references import LEFT_OUT
from ..settings.quarto_project import as_list, mapping_in
from .text import frozen_folder

_REFERENCE = re.compile(r'<a\b[^<>]*?href="#([^"<>]+)"[^<>]*?class="quarto-xref"[^<>]*>[^<>]*</a>')
_LINK = re.compile(r'(<a\b[^<>]*?\shref=")([^"<>]*)(")', re.I)
_FROM_FOLDER = re.compile(r'(<(?:a|img|source|video|audio|embed|iframe)\b[^<>]*?\s(?:href|src|poster)=")/(?!/)', re.I)
_NAMING_FILES = "a[href], link[href], [src], [srcset], [poster], object[data]"
_LABELLED = "h1[id], h2[id], h3[id], h4[id], h5[id], h6[id], [id][data-ref]"


@dataclass(frozen=True, slots=True)
class Label:
    """The text that a reference to a label shows, and the page of the label."""

    page: str
    words: str


Labels = Mapping[str, Sequence[Label]]  # by name; one name may be on several pages


def find_labels(pages: Mapping[str, str]) -> Labels:
    """Return the labels of some pages, given as HTML by name."""
    labels: dict[str, list[Label]] = {}
    for page, text in pages.items():
        for element in HtmlPage(text).elements(_LABELLED):
            words = element.attributes.get("data-ref") or element.text
            labels.setdefault(element.attributes["id"], []).append(Label(page, words))
    return labels


def mended_pages(
    pages: Mapping[str, str], sources: Mapping[str, Path], folder: Path, logger: LoggerBase
) -> dict[str, str]:
    """Return pages, given as HTML by name, whose references and links lead to pages. sources: their documents."""
    labels = find_labels(pages)
    page_of = {source: page for page, source in sources.items()}
    return {
        page: _with_page_links(
            with_references(text, page, labels, in_file(logger, sources[page].relative_to(folder))),
            page,
            sources[page],
            page_of,
            folder,
        )
        for page, text in pages.items()
    }


# References


def with_references(text: str, page: str, labels: Labels, logger: LoggerBase) -> str:
    """Return a page with words in its references to figures, sections and the like. labels: those of all pages."""

    def reference(found: re.Match[str]) -> str:
        name = html.unescape(unquote(found[1]))
        named = labels.get(name, ())
        label = next((one for one in named if one.page == page), next(iter(named), None))
        if label is None:
            logger.warning(f"@{name}: no page has this label, or it is left out of the notes")
            return LEFT_OUT
        place = "" if label.page == page else quote(os.path.relpath(label.page, PurePosixPath(page).parent))
        return f'<a href="{place}#{found[1]}" class="quarto-xref">{html.escape(label.words or name)}</a>'

    return _REFERENCE.sub(reference, text)


def _with_page_links(text: str, page: str, source: Path, page_of: Mapping[Path, str], folder: Path) -> str:
    """Return a page whose links to documents lead to the pages of these, and whose links from the
    course's folder (`/figures/a.png`) start from the page, since a site may lie in a folder of its host."""
    text = _LINK.sub(lambda found: f"{found[1]}{_page_link(found[2], page, source, page_of, folder)}{found[3]}", text)
    return _FROM_FOLDER.sub(rf"\1{'../' * page.count('/')}", text)


def _page_link(link: str, page: str, source: Path, page_of: Mapping[Path, str], folder: Path) -> str:
    """Return a link to a document as a link to its page; others as they are."""
    parts = urlsplit(html.unescape(link))
    if parts.scheme or parts.netloc or not is_document(parts.path, RENDERED):
        return link
    name = page_of.get(in_course(unquote(parts.path), source, folder))
    if name is None:
        return link
    place = quote(os.path.relpath(name, PurePosixPath(page).parent))
    return html.escape(f"{place}#{parts.fragment}" if parts.fragment else place)


def in_course(name: str, source: Path, folder: Path) -> Path:
    """Return the file that a link in a document names; `/` at its start is the course's folder."""
    return Path(os.path.normpath(folder / name.lstrip("/") if name.startswith("/") else source.parent / name))


# Files


def copy_files(
    pages: Mapping[str, str],
    sources: Mapping[str, Path],
    output: Path,
    folder: Path,
    settings: Mapping[str, Any],
    logger: LoggerBase,
) -> None:
    """Copy the files that pages, given as HTML by name, and `resources:` name, as far as they lie in the course."""
    documents = frozenset(sources.values())
    for page, text in pages.items():
        located = in_file(logger, sources[page].relative_to(folder))
        for name in dict.fromkeys(_named_files(text)):
            if _place_of(name, page) not in pages:  # which the lists of all pages name on each of them
                _copy_linked(name, sources[page], output, documents, folder, located)
    for path in _resources(settings, folder):
        _copy(path, path.relative_to(folder), output)


def _place_of(link: str, page: str) -> str:
    """Return the place in a site that a plain link in a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link.partition("#")[0]))


def _named_files(text: str) -> Iterator[str]:
    for element in HtmlPage(text).elements(_NAMING_FILES):
        for name in ("href", "src", "poster", "data"):
            if value := element.attributes.get(name):
                yield value
        yield from (one.split()[0] for one in element.attributes.get("srcset", "").split(",") if one.split())


def _copy_linked(
    link: str, source: Path, output: Path, documents: frozenset[Path], folder: Path, logger: LoggerBase
) -> None:
    """Copy a file that a page names. What lies outside of the course, is hidden or is a document is
    not copied, and the logger is warned."""
    parts = urlsplit(link)
    name = unquote(parts.path)
    if parts.scheme or parts.netloc or not name or name.startswith("//"):
        return
    path = in_course(name, source, folder)
    if not path.is_relative_to(folder):
        if path.exists():
            logger.warning(f"{name}: a link out of the course: not copied to the site")
        return
    place = path.relative_to(folder)
    if path in documents or (output / place).is_file():  # the pages are there by now
        return
    found = path if path.is_file() else frozen_file(place, source, folder)
    if found is None:
        if not path.is_dir():
            logger.warning(f"{name}: there is no such file in the course")
    elif not is_inside(found, folder):
        logger.warning(f"{name}: a link out of the course: not copied to the site")
    elif is_document(found.name, (*SUFFIXES, *RENDERED)) or any(one.startswith((".", "_")) for one in place.parts):
        logger.warning(f"{name}: not copied to the site, since it is a document that is no page, or hidden")
    else:
        _copy(found, place, output)


def frozen_file(place: Path, source: Path, folder: Path) -> Path | None:
    """Return the file that Quarto has kept for one that a cell makes (`notes_files/figure-html/a.png`)."""
    made = Path(f"{source.relative_to(folder).with_suffix('')}_files")
    if not place.is_relative_to(made):
        return None
    path = frozen_folder(source, folder) / place.relative_to(made)
    return path if path.is_file() else None


def _resources(settings: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    """Yield the files that `project: resources:` names."""
    named = mapping_in(settings, "project").get("resources")
    for pattern in [named] if isinstance(named, str) else as_list(named):
        name = str(pattern).lstrip("/").removeprefix("./")
        if not name or name.startswith("!") or ".." in PurePosixPath(name).parts:
            continue
        for path in sorted(folder.glob(name)):
            inner = sorted(path.rglob("*")) if path.is_dir() else [path]
            yield from (one for one in inner if one.is_file() and is_inside(one, folder))


def _copy(path: Path, place: Path, output: Path) -> None:
    """Copy a file to a place in the output, where there is none yet."""
    target = output / place
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
