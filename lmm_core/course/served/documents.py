"""The documents whose text is served: pages of the course that are indexed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...markdown.blocks import header_content
from ...markdown.files import read_markdown
from ...quarto.after_render import shown_pages
from ...quarto.ask_box.material import SitePage
from ...quarto.pages import Page, read_pages
from ...settings.names import CONFIG_NAME
from ...settings.project import Project
from ...settings.quarto_inputs import only_inside, with_included
from ...settings.quarto_project import folder_settings, mapping_in, merged, page_settings, read_project
from ..contents import Entry, read_contents, site_title
from ..run import course_documents
from ..text import is_left_out

COARSE = 1_000_000_000  # nanoseconds by which a file system's clock may be behind


@dataclass(frozen=True)
class ServedCourse:
    """The documents that are served, in their order, and what is common to them.

    indexed: the sources in the index; stamps: the files that the documents depend on, with what shows a change, see
    `stamps_of`; began: when reading them began, in nanoseconds."""

    project: Project
    indexed: Sequence[str]
    settings: Mapping[str, Any]
    title: str = ""
    contents: Sequence[Entry] = ()
    included: Mapping[Path, Sequence[Path]] = field(default_factory=dict)  # by the page that includes them
    stamps: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    began: int = 0

    @property
    def folder(self) -> Path:
        return self.project.root

    @property
    def language(self) -> str:
        return str(self.settings.get("lang") or "en")

    def has_changed(self) -> bool:
        """Return True if a file has changed since, or about when it was read: what was read may be older then."""
        newest = max((changed for changed, _ in self.stamps.values()), default=0)
        return newest > self.began - COARSE or stamps_of(self.stamps) != self.stamps

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """The pages by their names, such as `part/01-data.html`."""
        return {entry.page: entry for entry in self.contents if entry.page}

    def source(self, page: str) -> str:
        """Return the path of a page's document from the course's folder."""
        source = self.entries[page].source
        return source.relative_to(self.folder).as_posix() if source else ""

    @cached_property
    def pages(self) -> list[SitePage]:
        """Each document with the page that shows it; those that are included have that of the other."""
        found: dict[Path, SitePage] = {}
        for name, entry in self.entries.items():
            assert entry.source is not None
            for path in (entry.source, *self.included.get(entry.source, ())):
                found.setdefault(path, SitePage(path, name, path != entry.source))
        return list(found.values())

    @cached_property
    def page_of(self) -> dict[Path, str]:
        """The page that shows each document, by its path with links followed."""
        return {page.source.resolve(): page.page for page in self.pages}


def read_course(project: Project, indexed: Sequence[str]) -> ServedCourse:
    """Return the documents of a project that are served: of its pages those that are indexed, or include
    what is, without drafts and those that are left out of the notes as a whole. project: with the rules
    of `_quarto.yml`; indexed: sources in the index. Raise LmmError and OSError."""
    began = time.time_ns()
    folder, settings = project.root, read_project(project.root)
    pages = read_pages(course_documents(folder), folder)
    wanted = {os.path.realpath(folder / source) for source in indexed}
    served, included = [], {}
    for page in shown_pages(pages, folder):
        path = page.file.path
        inner = [one for one in only_inside(with_included([path], folder), folder) if one != path]
        known = any(os.path.realpath(one) in wanted for one in (path, *inner))
        if not known or page.outside or _keeps_away(page, folder, settings):
            continue
        if not _holds_left_out([path, *inner], project):
            served.append(path)
            included[path] = inner
    contents = read_contents(served, project, folder, settings)
    inside = [one for inner in included.values() for one in inner]
    all_pages = [page.file.path for page in pages]
    read = [*_settings_files(all_pages, folder), *all_pages, *inside]
    title = site_title(folder, settings, contents)
    return ServedCourse(project, indexed, settings, title, contents, included, stamps_of(read), began)


def _keeps_away(page: Page, folder: Path, settings: Mapping[str, Any]) -> bool:
    """Return True if a document, or its folder for it, says that it is not for the ask box, or if they or
    the project say that it is not in the notes."""
    path, header = page.file.path, header_content(page.blocks)
    own = merged(folder_settings(path, folder), header)
    return mapping_in(own, "lmm").get("ask") is False or page_settings(path, header, settings).get("knit") is False


def _holds_left_out(paths: Sequence[Path], project: Project) -> bool:
    """Return True if one of some documents, a page and what it includes, is left out of the notes as a
    whole: inside a page, nothing tells where it ends."""
    return any(is_left_out(read_markdown(path).text, path, project) for path in paths)


def _settings_files(paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    """Yield the files of settings that may hold for some documents, and the folders in which there may be
    more of them one day."""
    yield folder / CONFIG_NAME
    yield from (folder / name for name in ("_environment", "_environment.local"))
    for place in {folder, *(one for path in paths for one in path.parents if one.is_relative_to(folder))}:
        yield place
        yield from (path for ending in ("yml", "yaml", "local") for path in place.glob(f"_*.{ending}"))


def stamps_of(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return the time and the size of each file, (0, 0) for one that is not there."""
    stamps = {}
    for path in paths:
        try:
            status = path.stat()
            stamps[path] = status.st_mtime_ns, status.st_size
        except OSError:
            stamps[path] = 0, 0
    return stamps
