"""Set up a Quarto project: extension and `_quarto.yml`."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import QuartoError
from ..files.walk import is_inside
from ..settings.quarto_project import PROJECT_FILES, project_file
from ..study.outline import course_title
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


def lacking_files(folder: Path) -> dict[str, bytes]:
    """Return missing files by path: `_quarto.yml` and the extension.

    Raise QuartoError if `_extensions` is a link out of the project."""
    if not is_inside(folder / "_extensions", folder):
        raise QuartoError(
            f"{folder / '_extensions'}: This link leads out of the project. Nothing was written. Remove the link."
        )
    title = course_title(folder) or folder.resolve().name
    settings = _NEW_PROJECT.replace("{title}", json.dumps(title, ensure_ascii=False))
    own = {} if project_file(folder) else {PROJECT_FILES[0]: settings.encode("utf-8")}
    return own | ({} if extension_place(folder).exists() else extension_files())


def extension_place(folder: Path) -> Path:
    """Return the extension's folder in a project, existing or not."""
    return installed_extension(folder) or folder / "_extensions" / EXTENSION


def extension_files() -> dict[str, bytes]:
    """Return the extension's files by path in a project. Raise QuartoError if missing."""
    source = packaged_extension()
    paths = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    files = [path for path in paths if path.suffix != ".pyc" and not any(name.startswith(".") for name in path.parts)]
    return {f"_extensions/{EXTENSION}/{path.as_posix()}": (source / path).read_bytes() for path in files}
