"""The documents whose text is served: pages of the course that are indexed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...markdown.blocks import header_content
from ...markdown.files import load_markdown
from ...quarto.after_render import shown_pages
from ...quarto.ask_box import SitePage
from ...quarto.pages import Page, read_pages
from ...settings.names import CONFIG_NAME
from ...settings.project import Project
from ...settings.quarto_inputs import only_inside, with_included
from ...settings.quarto_project import folder_files, mapping_in, project_file, read_project
from ..contents import Entry, read_contents, site_title
from ..run import course_documents
from .knitted import is_left_out


@dataclass(frozen=True)
class Course:
    """The documents that are served, in their order, and what is common to them.

    stamps: the files that they depend on, with what shows a change; see `stamps_of`."""

    project: Project
    settings: Mapping[str, Any]
    title: str = ""
    contents: Sequence[Entry] = ()
    included: Mapping[Path, Sequence[Path]] = field(default_factory=dict)  # by the page that includes them
    stamps: Mapping[Path, tuple[int, int]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.project.root

    @property
    def language(self) -> str:
        return str(self.settings.get("lang") or "en")

    @property
    def entries(self) -> dict[str, Entry]:
        """The pages by their names, such as `part/01-data.html`."""
        return {entry.page: entry for entry in self.contents if entry.page}

    @property
    def pages(self) -> list[SitePage]:
        """Each document with the page that shows it; those that are included have that of the other."""
        found: dict[Path, str] = {}
        for name, entry in self.entries.items():
            assert entry.source is not None
            for path in (entry.source, *self.included.get(entry.source, ())):
                found.setdefault(path, name)
        return [SitePage(path, name) for path, name in found.items()]


def read_course(project: Project, indexed: Sequence[str]) -> Course:
    """Return the documents of a project that are served: of its pages those that are indexed, or include
    what is, without drafts and those that are left out of the notes as a whole. project: with the rules
    of `_quarto.yml`; indexed: sources in the index. Raise LmmError and OSError."""
    folder, settings = project.root, read_project(project.root)
    pages = shown_pages(read_pages(course_documents(folder), folder), folder)
    wanted = {os.path.realpath(folder / source) for source in indexed}
    served, included = [], {}
    for page in pages:
        path = page.file.path
        inner = [one for one in only_inside(with_included([path], folder), folder) if one != path]
        known = any(os.path.realpath(one) in wanted for one in (path, *inner))
        if known and not page.outside and not _keeps_away(page) and not _holds_left_out([path, *inner], project):
            served.append(path)
            included[path] = inner
    contents = read_contents(served, project, folder, settings)
    stamps = stamps_of([*_settings_files(served, folder), *served, *(one for all in included.values() for one in all)])
    return Course(project, settings, site_title(folder, settings, contents), contents, included, stamps)


def _keeps_away(page: Page) -> bool:
    """Return True if a document says itself that it is not for the ask box."""
    return mapping_in(header_content(page.blocks), "lmm").get("ask") is False


def _holds_left_out(paths: Sequence[Path], project: Project) -> bool:
    """Return True if one of some documents, a page and what it includes, is left out of the notes as a
    whole: inside a page, nothing tells where it ends."""
    return any(is_left_out(load_markdown(path).text, path, project) for path in paths)


def _settings_files(paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    yield folder / CONFIG_NAME
    yield project_file(folder) or folder / "_quarto.yml"
    yield from {file for path in paths for file in folder_files(path, folder)}


def stamps_of(paths: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    """Return the time and the size of each file, (0, 0) for one that is not there."""
    found = {}
    for path in paths:
        try:
            stat = path.stat()
            found[path] = stat.st_mtime_ns, stat.st_size
        except OSError:
            found[path] = 0, 0
    return found
