"""Find a project's documents: chosen by settings, rendered or included by Quarto."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ..errors import MarkdownError
from ..files.gitignore import Rules, matches, read_patterns, takes
from ..files.walk import INDEXED, NOTEBOOK, RENDERED, SUFFIXES, is_document, is_inside, shorten
from ..logging import LoggerBase, counted, in_file
from ..markdown.files import find_markdown, project_root, read_markdown
from .project import load_project
from .quarto_project import as_list, mapping_in, project_file, quarto_folder, read_project

INCLUDE = re.compile(r"\{\{<\s*include\s+(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+))\s*>\}\}")
# Rendered by Quarto only if named (projectHiddenIgnoreGlob in its source)
_IGNORED_NAMES = re.compile(r"_.*|README\.[Rrq]?md|(?:CLAUDE|AGENTS)(?:\.local)?\.md|.*\.llms\.md", re.S)
SHOWN = 3  # names in a sentence


@dataclass(frozen=True, slots=True)
class _FolderPlace:
    """A folder of documents.

    named, typed: prefixes of names in patterns, from the root and from the working folder"""

    root: Path
    quarto: Path | None
    named: str
    typed: str


@dataclass
class DocumentFinder:
    """Finds the documents of folders, for all commands.

    Explicitly named files are always taken. From a folder, `include` and `exclude` under `[files]` choose; without
    `include` all documents, or a Quarto project's pages.
    exclude: more patterns, from the working folder
    included: also take files that pages include"""

    exclude: Sequence[str] = ()
    included: bool = True

    def __post_init__(self) -> None:
        self._typed = read_patterns(self.exclude)
        self._place, self._rules, self._pages = cache(_find_place), cache(_read_rules), cache(self._find_pages)

    def find(
        self, paths: Sequence[Path], logger: LoggerBase | None = None, endings: Sequence[str] = SUFFIXES
    ) -> list[Path]:
        """Return named files, and the documents of named folders. logger: for unexpected omissions.

        Raise the errors of `find_markdown`, ConfigError and QuartoError."""
        files: list[Path] = []
        for path in paths:
            documents = find_markdown([path], logger, endings)
            files += self._chosen(path, documents, endings, logger) if path.is_dir() else documents
        return list(dict.fromkeys(files))

    def why_not(self, path: Path, folder: Path | None = None) -> Literal["", "pattern", "no page"]:
        """Return why a document is not taken, "" if it is. Raise ConfigError and QuartoError.

        folder: where it was found; Quarto projects nested in another are foreign (examples, templates)"""
        place = self._place(path.parent)
        include, exclude = self._rules(place.root)
        if matches(exclude, place.named + path.name) or matches(self._typed, place.typed + path.name):
            return "pattern"
        if include is not None:
            return "" if takes(include, place.named + path.name) else "pattern"
        around = self._place(folder).quarto if folder is not None else None
        if around not in (None, place.quarto):
            return "no page"
        if place.quarto is None or os.path.realpath(path) in self._pages(place.quarto):
            return ""
        return "no page"

    def left_out_finder(self, paths: Sequence[Path]) -> Callable[[Path], bool]:
        """Return a predicate for documents in the paths that are not taken; it raises ConfigError and QuartoError."""
        real_paths = {os.path.realpath(path) for path in paths}
        folders = [path for path in paths if path.is_dir()]

        def is_left_out(path: Path) -> bool:
            if not is_document(path.name, INDEXED) or os.path.realpath(path) in real_paths:
                return False
            return any(is_inside(path, folder) and self.why_not(path, folder) != "" for folder in folders)

        return is_left_out

    def _find_pages(self, quarto: Path) -> frozenset[str]:
        pages = find_inputs(quarto)
        pages = with_included(pages, quarto) if self.included else pages
        return frozenset(os.path.realpath(page) for page in only_inside(pages, quarto))

    def _chosen(
        self, folder: Path, documents: Sequence[Path], endings: Sequence[str], logger: LoggerBase | None
    ) -> list[Path]:
        reasons = {path: self.why_not(path, folder) for path in documents}
        hidden = [path for path in self._hidden_pages(folder, documents, endings) if not self.why_not(path, folder)]
        chosen = [*(path for path in documents if not reasons[path]), *hidden]
        no_pages = [path for path in documents if reasons[path] == "no page"]
        if logger and no_pages:
            self._report_no_pages(folder, no_pages, logger)
        if logger and documents and not chosen and "pattern" in reasons.values():
            in_file(logger, folder).warning(
                f"{counted(len(documents), 'document')} left out by [files] of config.toml or by --exclude; "
                "name one by itself to use it"
            )
        return chosen

    def _hidden_pages(self, folder: Path, documents: Sequence[Path], endings: Sequence[str]) -> list[Path]:
        """Return the pages in a folder that a walk skips, such as `_chapters/one.md`."""
        place, quarto = folder.resolve(), self._place(folder).quarto
        if quarto is None:
            return []
        walked = {os.path.realpath(path) for path in documents}
        pages = map(Path, sorted(self._pages(quarto) - walked))
        hidden = [page for page in pages if page.is_relative_to(place) and is_document(page.name, endings)]
        return [folder / page.relative_to(place) for page in hidden]

    def _report_no_pages(self, folder: Path, left_out: Sequence[Path], logger: LoggerBase) -> None:
        quarto = self._place(folder).quarto or self._place(left_out[0].parent).quarto or folder
        names = [path.relative_to(folder).as_posix() for path in left_out[:SHOWN]]
        name_list = ", ".join([*names, *(["…"] if len(left_out) > SHOWN else [])])
        are, pronoun = ("is no page", "it") if len(left_out) == 1 else ("are no pages", "them")
        in_file(logger, shorten(project_file(quarto) or quarto)).info(
            f"{counted(len(left_out), 'document')} left out that {are} ({name_list}); "
            f'to use {pronoun}, name {pronoun}, or set include = ["*"] in [files] of config.toml'
        )


def _find_place(folder: Path) -> _FolderPlace:
    document, working_folder = folder.resolve() / "-", Path.cwd().resolve()
    root = project_root(document)
    typed = (
        document.relative_to(working_folder).as_posix()
        if document.is_relative_to(working_folder)
        else document.as_posix().lstrip("/")
    )
    path_in_project = document.relative_to(root).as_posix()
    return _FolderPlace(root, quarto_folder(document), path_in_project.removesuffix("-"), typed.removesuffix("-"))


def _read_rules(root: Path) -> tuple[Rules | None, Rules]:
    files = load_project(root / "-").files
    return read_patterns(files.include) if files.include else None, read_patterns(files.exclude)


def find_inputs(folder: Path, logger: LoggerBase | None = None) -> list[Path]:
    """Return the documents that Quarto renders, notebooks included: a book's chapters, else matches of `project:
    render:`, else all except README files, names that begin with `_`, and the output.

    Files outside the project are skipped with a warning. Raise QuartoError."""
    settings = read_project(folder)
    book = settings.get("book")
    chapters = [*_chapters(book)] if isinstance(book, dict) else []
    if chapters:
        paths = [folder / name for name in dict.fromkeys(chapters) if (folder / name).is_file()]
        return only_inside(paths, folder, logger)
    output = folder / str(mapping_in(settings, "project").get("output-dir") or "_site")
    below = f"{os.path.normcase(output)}{os.sep}" if output.parts else ""
    documents = [
        path
        for path in find_markdown([folder], logger, RENDERED)
        if not f"{os.path.normcase(path)}{os.sep}".startswith(below) and not _IGNORED_NAMES.fullmatch(path.name)
    ]
    render = mapping_in(settings, "project").get("render")
    patterns = render if isinstance(render, list) else [render]
    return _select_rendered(documents, [pattern for pattern in patterns if isinstance(pattern, str)], folder)


def only_inside(paths: Sequence[Path], folder: Path, logger: LoggerBase | None = None) -> list[Path]:
    """Return the files inside a project, links resolved; warn of the others."""
    inside = []
    for path in paths:
        if is_inside(path, folder):
            inside.append(path)
        elif logger:
            name = os.path.relpath(path, folder)
            logger.warning(
                f"{name}: This file leads out of the project, to {path.resolve()}. It is left alone, and not indexed."
            )
    return inside


def _select_rendered(paths: list[Path], patterns: Sequence[str], folder: Path) -> list[Path]:
    """Return the matches of `render:` in pattern order, without exclusions by `!`
    (https://quarto.org/docs/reference/globs.html)."""
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    included = [read_patterns([_pattern(pattern)]) for pattern in patterns if not pattern.startswith("!")]
    excluded = read_patterns([pattern[1:] for pattern in patterns if pattern.startswith("!")])
    chosen = [name for rules in included for name in names if matches(rules, name)] if included else list(names)
    return [names[name] for name in dict.fromkeys(chosen) if not matches(excluded, name)]


def _pattern(glob: str) -> str:
    """Convert a pattern of `render:` to .gitignore's rules."""
    name = glob.removeprefix("./")
    return name if re.search(r"[*?]", name) else f"/{name.lstrip('/')}"


def with_included(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Return files with all their direct and indirect includes."""
    return [*follow_includes(paths, lambda path: included_in(path, folder))]


def follow_includes(paths: Sequence[Path], included: Callable[[Path], Sequence[Path]]) -> Iterator[Path]:
    """Yield files with all their direct and indirect includes. included: returns a yielded file's includes"""
    queue = list(paths)
    visited = {path.resolve() for path in queue}
    for path in queue:
        yield path
        for inner in included(path):
            if inner.is_file() and inner.resolve() not in visited:
                visited.add(inner.resolve())
                queue.append(inner)


def included_in(path: Path, folder: Path) -> list[Path]:
    """Return a file's includes, [] if unreadable. A leading `/` means the project's folder."""
    try:
        if path.is_file() and path.suffix.lower() != NOTEBOOK and b"{{<" not in path.read_bytes():
            return []
        text = read_markdown(path).text
    except (OSError, MarkdownError):
        return []  # reported on reading
    return named_in(text, path, folder)


def included_finder() -> Callable[[Path], bool]:
    """Return a predicate for documents that another one includes, so that their header would be printed there.

    Each project is read once.
    """

    @cache
    def included_below(root: Path) -> frozenset[str]:
        documents = with_included(find_markdown([root]), root)
        return frozenset(os.path.realpath(inner) for path in documents for inner in included_in(path, root))

    return lambda path: os.path.realpath(path) in included_below(quarto_folder(path) or project_root(path))


def named_in(text: str, path: Path, folder: Path) -> list[Path]:
    """Return the files that a text includes. path: of the text."""
    if "{{<" not in text:  # mostly
        return []
    names = [include[1] or include[2] or include[3] for include in INCLUDE.finditer(text)]
    return [folder / name.lstrip("/") if name.startswith("/") else path.parent / name for name in names]


def _chapters(book: Mapping[str, Any]) -> Iterator[str]:
    waiting = [item for key in ("chapters", "appendices") for item in as_list(book.get(key))]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            waiting = [item.get("part"), item.get("file"), item.get("href"), *as_list(item.get("chapters")), *waiting]
        elif isinstance(item, str) and is_document(PurePosixPath(item).name, RENDERED):
            yield item
