"""Find the documents of a Quarto project: those that Quarto renders, and those that they include."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import MarkdownError
from ..files.walk import RENDERED, is_document, is_inside
from ..logging import LoggerBase
from ..markdown.files import find_markdown, load_markdown
from .quarto_project import as_list, mapping_in, read_project

INCLUDE = re.compile(r"\{\{<\s*include\s+(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+))\s*>\}\}")
# Files that Quarto renders only if they are named (see projectHiddenIgnoreGlob in its source).
_IGNORED_NAMES = re.compile(r"_.*|README\.[Rrq]?md|(?:CLAUDE|AGENTS)(?:\.local)?\.md|.*\.llms\.md", re.S)
_GLOB = re.compile(r"\*\*/|\*\*|\{([^{}/]*)\}|.", re.S)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def find_inputs(folder: Path, logger: LoggerBase | None = None) -> list[Path]:
    """Return the documents that Quarto renders, notebooks included: a book's chapters, else those that
    `project: render:` names, else all except README files, files whose names begin with `_`, and the
    output. Files that lead out of the project are left out, and the logger is warned. Raise
    QuartoError if the project's settings cannot be read."""
    settings = read_project(folder)
    book = settings.get("book")
    named = [*_chapters(book)] if isinstance(book, dict) else []
    if named:
        paths = [folder / name for name in dict.fromkeys(named) if (folder / name).is_file()]
        return only_inside(paths, folder, logger)
    output = folder / str(mapping_in(settings, "project").get("output-dir") or "_site")
    found = [
        path
        for path in find_markdown([folder], logger, RENDERED)
        if not path.is_relative_to(output) and not _IGNORED_NAMES.fullmatch(path.name)
    ]
    render = mapping_in(settings, "project").get("render")
    patterns = render if isinstance(render, list) else [render]
    return _rendered(found, [one for one in patterns if isinstance(one, str)], folder)


def only_inside(paths: Sequence[Path], folder: Path, logger: LoggerBase | None = None) -> list[Path]:
    """Return those of some files that lie in a project's folder, links followed, and warn the logger
    of the others."""
    for path in paths if logger else ():
        if logger and not is_inside(path, folder):
            name = os.path.relpath(path, folder)
            logger.warning(
                f"{name}: This file leads out of the project, to {path.resolve()}. It is left alone, and not indexed."
            )
    return [path for path in paths if is_inside(path, folder)]


def _rendered(paths: list[Path], patterns: Sequence[str], folder: Path) -> list[Path]:
    """Return those of some files that the patterns of `render:` name, in their order, without those
    that a pattern after `!` names."""
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    wanted = [_pattern(one) for one in patterns if not one.startswith("!")] or [re.compile("")]
    gone = [_pattern(one[1:], everywhere=True) for one in patterns if one.startswith("!")]
    found = [name for one in wanted for name in names if one.match(name)]
    return [names[name] for name in dict.fromkeys(found) if not any(one.match(name) for one in gone)]


def _pattern(glob: str, everywhere: bool = False) -> re.Pattern[str]:
    """Return the expression for a pattern of `render:`, which names a file, or a folder with all that is
    in it. A pattern with wildcards (or with `everywhere`) counts in every folder, unless it begins with
    `/` (https://quarto.org/docs/reference/globs.html)."""

    def piece(found: re.Match[str]) -> str:
        if found[1]:
            return f"(?:{'|'.join(map(re.escape, found[1].split(',')))})"
        return _WILD.get(found[0]) or re.escape(found[0])

    before = "(?:.*/)?" if (everywhere or re.search(r"[*?{]", glob)) and not glob.startswith("/") else ""
    name = glob.removeprefix("./").strip("/")
    return re.compile(rf"{before}{_GLOB.sub(piece, name)}(?:/|\Z)", re.S)


def with_included(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Return some files, and after them those that they include, directly or through others."""
    found = list(paths)
    seen = {path.resolve() for path in found}
    for path in found:
        for inner in included_in(path, folder):
            if inner.is_file() and inner.resolve() not in seen:
                seen.add(inner.resolve())
                found.append(inner)
    return found


def included_in(path: Path, folder: Path) -> list[Path]:
    """Return the files that a file includes, or [] if it cannot be read. A name that begins with `/`
    starts from the project's folder."""
    try:
        text = load_markdown(path).text
    except (OSError, MarkdownError):
        return []  # reported by those who read the file itself
    return named_in(text, path, folder)


def named_in(text: str, path: Path, folder: Path) -> list[Path]:
    """Return the files that a text includes. path: the file that holds the text."""
    names = [found[1] or found[2] or found[3] for found in INCLUDE.finditer(text)]
    return [folder / name.lstrip("/") if name.startswith("/") else path.parent / name for name in names]


def _chapters(book: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of a book in their order, those in its parts included."""
    waiting = [item for key in ("chapters", "appendices") for item in as_list(book.get(key))]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            waiting = [item.get("part"), item.get("file"), item.get("href"), *as_list(item.get("chapters")), *waiting]
        elif isinstance(item, str) and is_document(PurePosixPath(item).name, RENDERED):
            yield item
