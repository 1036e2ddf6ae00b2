"""Set up a Quarto project (extension and `_quarto.yml`), and check it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import MarkdownError, QuartoError, RenderError
from ..files.walk import is_inside
from ..markdown.files import MarkdownDocument, read_markdown
from ..scan.check.document import CheckedDocument
from ..settings.quarto_inputs import find_inputs, with_included
from ..settings.quarto_project import PROJECT_FILES, as_list, project_file, read_project, read_yaml
from ..study.outline import course_title
from .extension import EXTENSION, filter_problem, installed_extension, packaged_extension
from .native_blocks import find_native
from .options import RenderOptions, read_options

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
    """Return the files that a Quarto project lacks, by path. Raise QuartoError if `_extensions` is a link out of it."""
    if not is_inside(folder / "_extensions", folder):
        raise QuartoError(
            f"{folder / '_extensions'}: This link leads out of the project. Nothing was written. Remove the link."
        )
    title = course_title(folder) or folder.resolve().name
    settings = _NEW_PROJECT.replace("{title}", json.dumps(title, ensure_ascii=False))
    own = {} if project_file(folder) else {PROJECT_FILES[0]: settings.encode("utf-8")}
    return own | ({} if extension_place(folder).exists() else extension_files())


def extension_place(folder: Path) -> Path:
    """Return the folder of a project's extension, even if missing."""
    return installed_extension(folder) or folder / "_extensions" / EXTENSION


def extension_files() -> dict[str, bytes]:
    """Return the extension's files by their paths in a project. Raise QuartoError if lmm lacks them."""
    source = packaged_extension()
    paths = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    files = [path for path in paths if path.suffix != ".pyc" and not any(name.startswith(".") for name in path.parts)]
    return {f"_extensions/{EXTENSION}/{path.as_posix()}": (source / path).read_bytes() for path in files}


# Check


@dataclass(frozen=True, slots=True)
class ProjectFinding:
    """The result of a check. paste: lines for `_quarto.yml`, in which a program would lose the comments"""

    name: str
    result: str
    paste: str = ""
    ok: bool = field(default=False, kw_only=True)


def check_project(folder: Path) -> list[ProjectFinding]:
    """Return the results of all checks."""
    if project_file(folder) is None:
        return [ProjectFinding("_quarto.yml", f"There is none in {folder}. To write one, run: lmm init --quarto")]
    try:
        settings = read_project(folder)
    except QuartoError as error:
        return [ProjectFinding("_quarto.yml", str(error))]
    return [
        _check_extension(folder),
        _check_filters(settings),
        *_check_options(settings),
        *_check_spelling(folder),
    ]


def _check_extension(folder: Path) -> ProjectFinding:
    extension = installed_extension(folder)
    if extension is None:
        return ProjectFinding("extension", "It is not in _extensions/. To copy it there, run: lmm init")
    try:
        version = str(read_yaml(extension / "_extension.yml").get("version"))
    except QuartoError as error:
        return ProjectFinding("extension", str(error))
    if version == __version__:
        return ProjectFinding("extension", version, ok=True)
    mend = f"Remove {extension.relative_to(folder)}, then run: lmm init"
    return ProjectFinding("extension", f"It has version {version}, but lmm has {__version__}.", mend)


def _check_filters(settings: Mapping[str, Any]) -> ProjectFinding:
    problem = filter_problem(settings)
    if not problem:
        return ProjectFinding("filters", EXTENSION, ok=True)
    lines = ["filters:", *map(_as_line, [EXTENSION, *as_list(settings.get("filters"))])]
    return ProjectFinding("filters", problem, "\n".join(lines))


def _as_line(entry: Any) -> str:
    """Return a filter as a line of `_quarto.yml`; a mapping as JSON, which is valid YAML."""
    return f"  - {entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False)}"


def _check_options(settings: Mapping[str, Any]) -> Iterator[ProjectFinding]:
    options = settings.get("lmm")
    try:
        read_options(options, RenderOptions(), "")
    except RenderError as error:
        yield from (ProjectFinding("options", line.removeprefix(": ")) for line in str(error).split("\n"))
    else:
        yield ProjectFinding("options", ", ".join(map(str, options or ())) or "none", ok=True)


def _check_spelling(folder: Path) -> Iterator[ProjectFinding]:
    documents: list[tuple[str, MarkdownDocument]] = []
    problems: list[str] = []
    for path in with_included(find_inputs(folder), folder):
        name = os.path.relpath(path)  # relative to where the command is pasted
        try:
            document = MarkdownDocument(read_markdown(path))
        except (OSError, MarkdownError) as error:
            problems.append(str(error))
            continue
        documents.append((name, document))
        problems += [
            f"{name}:{finding.line}: {finding.message}"
            for finding in [*CheckedDocument(document.blocks).find_errors()][:1]
        ]
    problems += find_native(documents)
    for problem in problems:
        sentence, is_command, command = problem.partition(" run: ")
        yield ProjectFinding("spelling", f"{sentence} run:" if is_command else sentence, command)
    if not problems:
        yield ProjectFinding("spelling", "no native blocks", ok=True)
