"""Set up a Quarto project. Nothing that is there is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import FolderError, MarkdownError, QuartoError
from ..files.create import copy_files, create_file
from ..files.marked import check_inside
from ..files.walk import is_inside
from ..markdown.blocks import HeadingBlock, header_content
from ..markdown.files import load_markdown
from ..markdown.parse import parse_markdown_text
from ..settings.quarto_project import PROJECT_FILES, project_file
from ..study.outline import plain_title
from .check import ProjectFinding, check_project
from .extension import EXTENSION, installed_extension, packaged_extension

_NEW_PROJECT = """\
project:
  type: website
  output-dir: _site

website:
  title: {title}
  search: true
  sidebar:
    contents: auto  # all pages, by their folders; or a list of them, in your order

format:
  html:
    toc: true

filters:
  - lmm

lmm:
  annotate: false   # true: questions and summaries are made before each render
  index: true       # the search index is refreshed after each render
  # ask: true       # a box on every page in which students search, and practise cards
"""
_FIRST_PAGES = ("index.qmd", "index.md", "index.Rmd")
_IGNORED = ("/.lmm/", "/.quarto/", "/_site/", "/_book/")


def init_project(folder: Path) -> list[ProjectFinding]:
    """Copy the extension into a project and write `_quarto.yml` and `.gitignore`, each unless it is
    there. Return what was written or left alone, then what is still missing. Raise QuartoError if
    the folder `_extensions` leads out of the project, and OSError."""
    source = packaged_extension()
    folder.mkdir(parents=True, exist_ok=True)
    if not is_inside(folder / "_extensions", folder):
        raise QuartoError(
            f"{folder / '_extensions'}: This link leads out of the project. Nothing was written. Remove the link."
        )
    done = [_copy_extension(source, folder)]
    text = _NEW_PROJECT.replace("{title}", json.dumps(_site_title(folder), ensure_ascii=False))
    done.append(_create(folder, PROJECT_FILES[0], text, project_file(folder)))
    done.append(_create(folder, ".gitignore", "\n".join(_IGNORED) + "\n"))
    return done + [finding for finding in check_project(folder) if not finding.ok]


def _site_title(folder: Path) -> str:
    """Return the title of a new site: that of its first page, else the folder's name."""
    first = next((folder / name for name in _FIRST_PAGES if (folder / name).is_file()), None)
    try:
        blocks = parse_markdown_text(load_markdown(first).text) if first else []
    except (OSError, MarkdownError):  # check_project reports the file
        blocks = []
    header = header_content(blocks)
    heading = next((block.title for block in blocks if isinstance(block, HeadingBlock)), "")
    return plain_title(str(header.get("title") or heading)) or folder.resolve().name


def _copy_extension(source: Path, folder: Path) -> ProjectFinding:
    there = installed_extension(folder)
    target = folder / "_extensions" / EXTENSION
    if there is not None or target.exists():
        return ProjectFinding("left alone", True, str(there or target))
    try:
        check_inside(folder, target)
    except FolderError as error:
        raise QuartoError(str(error)) from error
    copy_files(source, _extension_files(source), target)
    return ProjectFinding("written", True, str(target))


def _extension_files(source: Path) -> list[str]:
    """Return the paths of the extension's files, relative to its folder."""
    paths = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    kept = [path for path in paths if path.suffix != ".pyc" and not any(name.startswith(".") for name in path.parts)]
    return [path.as_posix() for path in kept]


def _create(folder: Path, name: str, text: str, there: Path | None = None) -> ProjectFinding:
    path = there or folder / name
    if path.exists():
        return ProjectFinding("left alone", True, str(path))
    create_file(path, text.encode("utf-8"))  # never replaces a file that another process wrote meanwhile
    return ProjectFinding("written", True, str(path))
