"""Quarto projects: what is set up, what is missing, and setting one up.

No file of the writer's is ever written to, so that the remarks in `_quarto.yml` stay:
what is missing is told as lines to paste.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FolderError, MarkdownError, QuartoError
from ..files.create import copy_files, create_file
from ..files.marked import check_inside
from ..files.walk import is_inside
from ..markdown.blocks import Block, HeadingBlock, header_content
from ..markdown.files import is_notebook, load_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.rag_only import words_of
from ..markdown.spelling import convert
from ..scan.header import find_errors
from ..settings.quarto_inputs import find_inputs, with_included
from ..settings.quarto_project import PROJECT_FILES, as_list, mapping_in, project_file, read_project, read_yaml
from ..study.outline import plain_title
from .native_blocks import BY_HAND, native_lines

EXTENSION = "lmm"
# Options under `lmm:`, and what each has to be.
WORDS, SWITCH, WORD = "a word or a list of words", "true or false", "a word"
ASK = "true, false, or a mapping of server, include"
OPTIONS = {
    "keep": WORDS,
    "div-types": WORDS,
    "annotate": SWITCH,
    "index": SWITCH,
    "collection": WORD,
    "on-native": "error or convert",
    "ask": ASK,
}
ASK_FOLDER = "lmm-ask"  # of a site: the ask box and its data
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


@dataclass(frozen=True, slots=True)
class ProjectFinding:
    """One thing that was looked at; `paste` are lines that would mend it."""

    what: str
    ok: bool
    found: str
    paste: str = ""


@dataclass(frozen=True, slots=True)
class AskBoxSettings:
    """What `ask:` says: the address of `lmm serve`, "" for none, and the types that students
    may read in the box although they are left out of the notes."""

    server: str = ""
    include: frozenset[str] = frozenset()


# The extension


def packaged_extension() -> Path:
    """The extension that came with this package: beside it where it is installed, in
    the source tree where that is used as it is. Raises QuartoError."""
    base = Path(__file__).parents[2]
    for folder in (base / "lmm_quarto", base / "quarto-ext" / "_extensions" / EXTENSION):
        if (folder / "_extension.yml").is_file():
            return folder
    raise QuartoError("the Quarto extension is not in this installation: install lmm-markdown again")


def installed_extension(folder: Path) -> Path | None:
    """The extension's folder in a project: `quarto add` puts one from GitHub below the
    name of its owner."""
    places = [folder / "_extensions" / EXTENSION, *sorted(folder.glob(f"_extensions/*/{EXTENSION}"))]
    return next((place for place in places if (place / "_extension.yml").is_file()), None)


# Looking


def check_project(folder: Path) -> list[ProjectFinding]:
    """What is set up in a project, and what is missing. Nothing is written."""
    if project_file(folder) is None:
        return [ProjectFinding("_quarto.yml", False, f"none in {folder}: lmm quarto init writes one")]
    try:
        settings = read_project(folder)
    except QuartoError as error:
        return [ProjectFinding("_quarto.yml", False, str(error))]
    return [
        _check_extension(folder),
        _check_filters(settings),
        *_check_scripts(settings),
        *_check_options(settings),
        *_check_spelling(folder),
        _check_ignored(folder),
    ]


def _check_extension(folder: Path) -> ProjectFinding:
    found = installed_extension(folder)
    if found is None:
        return ProjectFinding("extension", False, "not in _extensions/: lmm quarto init copies it there")
    try:
        version = str(read_yaml(found / "_extension.yml").get("version"))
    except QuartoError as error:
        return ProjectFinding("extension", False, str(error))
    if version == __version__:
        return ProjectFinding("extension", True, version)
    mend = f"remove {found.relative_to(folder)}, then: lmm quarto init"
    return ProjectFinding("extension", False, f"version {version}, but lmm is {__version__}", mend)


def _check_filters(settings: Mapping[str, Any]) -> ProjectFinding:
    problem = filter_problem(settings)
    if not problem:
        return ProjectFinding("filters", True, EXTENSION)
    lines = ["filters:", *map(_as_line, [EXTENSION, *as_list(settings.get("filters"))])]
    return ProjectFinding("filters", False, problem, "\n".join(lines))


def filter_problem(settings: Mapping[str, Any]) -> str:
    """Return why not every page that these settings make goes through our filter, or "". Where it
    stands in the list makes no difference: it always runs first."""
    if has_filter(settings):
        return ""
    in_formats = any(has_filter(one) for one in _formats(settings))
    return "filters has lmm for some formats only" if in_formats else "filters has no lmm"


def has_filter(settings: Mapping[str, Any]) -> bool:
    """Return whether settings (of a project, a format, a header) name our filter."""
    return EXTENSION in map(_name, as_list(settings.get("filters")))


def _check_scripts(settings: Mapping[str, Any]) -> Iterator[ProjectFinding]:
    """The scripts run by themselves: lines from older docs name files that are gone."""
    project = mapping_in(settings, "project")
    for key in ("pre-render", "post-render"):
        named = project.get(key)
        for line in named if isinstance(named, list) else [named]:
            if str(line).endswith((f"{EXTENSION}/pre_render.py", f"{EXTENSION}/post_render.py")):
                found = f"{key} names {line}, which the extension no longer has; remove that line"
                yield ProjectFinding("scripts", False, found)


def _as_line(entry: Any) -> str:
    """A filter as a line of `_quarto.yml`. (What JSON writes in braces is YAML.)"""
    return f"  - {entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False)}"


def _name(entry: Any) -> str:
    """A filter's name; an extension's may have its owner before it, or be its file."""
    name = str(entry.get("path") or "") if isinstance(entry, dict) else str(entry)
    return EXTENSION if name.endswith((f"/{EXTENSION}", f"{EXTENSION}/{EXTENSION}.lua")) else name


def _formats(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in mapping_in(settings, "format").values() if isinstance(one, dict)]


def _check_options(settings: Mapping[str, Any]) -> Iterator[ProjectFinding]:
    found = settings.get("lmm")
    if not isinstance(found, dict | None):
        yield ProjectFinding("options", False, f"`lmm`: should be a mapping of {', '.join(OPTIONS)}")
        return
    wrong = [problem for key, value in (found or {}).items() if (problem := option_problem(str(key), value))]
    yield from (ProjectFinding("options", False, problem) for problem in wrong)
    if not wrong:
        yield ProjectFinding("options", True, ", ".join(map(str, found or ())) or "none")


def option_problem(key: str, value: Any) -> str:
    kind = OPTIONS.get(key.replace("_", "-"))
    if kind is None:
        return f"unknown option `lmm.{key}` (known: {', '.join(OPTIONS)})"
    if kind == ASK:
        return _ask_problem(value)
    fits = {
        SWITCH: isinstance(value, bool),
        WORD: isinstance(value, str),
        WORDS: isinstance(value, str | list | None),
    }.get(kind, value in ("error", "convert"))
    return "" if fits else f"`lmm.{key}`: should be {kind}, not {value!r:.60}"


def _ask_problem(value: Any) -> str:
    if not isinstance(value, dict):
        return "" if isinstance(value, bool) else f"`lmm.ask`: should be {ASK}, not {value!r:.60}"
    known = ("server", "include")
    if unknown := [key for key in value if key not in known]:
        return f"unknown option `lmm.ask.{unknown[0]}` (known: {', '.join(known)})"
    server, include = value.get("server"), value.get("include")
    if server is not None and not (isinstance(server, str) and server.startswith(("http://", "https://", "/"))):
        return f"`lmm.ask.server`: should be an address (https://…), not {server!r:.60}"
    if not isinstance(include, str | list | None):
        return f"`lmm.ask.include`: should be {WORDS}, not {include!r:.60}"
    return ""


def ask_options(value: Any) -> AskBoxSettings | None:
    """What `ask:` says; None where there is to be no box."""
    if not isinstance(value, dict):
        return AskBoxSettings() if value is True else None
    return AskBoxSettings(str(value.get("server") or ""), frozenset(words_of(value.get("include"))))


def read_ask(folder: Path) -> AskBoxSettings | None:
    """What a project's `_quarto.yml` says of the ask box. Raises QuartoError."""
    return ask_options(mapping_in(read_project(folder), "lmm").get("ask"))


def _check_spelling(folder: Path) -> Iterator[ProjectFinding]:
    """Native blocks: Quarto merges them into the header, and stops on some."""
    mended: list[str] = []
    by_hand = unread = False
    for path in with_included(find_inputs(folder), folder):
        lines, left, problem = _native_lines(path)
        name = os.path.relpath(path)  # from where the lines are pasted
        mended += [name] if left < len(lines) else []
        by_hand = by_hand or left > 0
        unread = unread or bool(problem)
        where = "".join(f", {line}" for line in lines[1:])
        if problem:
            yield ProjectFinding("spelling", False, problem)
        elif lines:
            yield ProjectFinding("spelling", False, f"{name}:{lines[0]}{where}: native blocks")
    if by_hand:
        yield ProjectFinding("spelling", False, BY_HAND)
    if mended:
        yield ProjectFinding("spelling", False, "divs are safe in Quarto", f"lmm convert --to div {shlex.join(mended)}")
    elif not by_hand and not unread:
        yield ProjectFinding("spelling", True, "divs")


def _native_lines(path: Path) -> tuple[list[int], int, str]:
    """Lines of the native blocks in a file, the header not counted; how many of them
    converting leaves; and why it cannot be read."""
    try:
        blocks = parse_markdown_text(load_markdown(path).text)
    except (OSError, MarkdownError) as error:
        return [], 0, str(error)
    lines = native_lines(blocks)
    left = lines if is_notebook(path) else native_lines(convert(blocks, "div"))
    return lines, len(left), _first_broken(path, blocks)


def _first_broken(path: Path, blocks: Sequence[Block]) -> str:
    return next((f"{os.path.relpath(path)}:{problem.line}: {problem.message}" for problem in find_errors(blocks)), "")


def _check_ignored(folder: Path) -> ProjectFinding:
    """The index lies in `.lmm`: it is large, and made anew from the sources."""
    for place in (folder, *folder.resolve().parents):
        file = place / ".gitignore"
        lines = file.read_text("utf-8", "replace").split("\n") if file.is_file() else []
        if any(line.strip().strip("/") in (".lmm", "**/.lmm", ".lmm/index") for line in lines):
            return ProjectFinding(".gitignore", True, ".lmm")
        if (place / ".git").exists():
            break
    return ProjectFinding(".gitignore", False, "has no .lmm, where the index is", "/.lmm/")


# Setting up


def init_project(folder: Path) -> list[ProjectFinding]:
    """Set a project up: the extension, and `_quarto.yml` and `.gitignore` where there are
    none. What is there is left alone; what it lacks comes as lines to paste. Raises
    QuartoError and OSError."""
    source = packaged_extension()
    folder.mkdir(parents=True, exist_ok=True)
    if not is_inside(folder / "_extensions", folder):
        raise QuartoError(f"{folder / '_extensions'}: a link out of the project; nothing was written: remove it")
    done = [_copy_extension(source, folder)]
    text = _NEW_PROJECT.replace("{title}", json.dumps(_site_title(folder), ensure_ascii=False))
    done.append(_create(folder, PROJECT_FILES[0], text, project_file(folder)))
    done.append(_create(folder, ".gitignore", "\n".join(_IGNORED) + "\n"))
    return done + [finding for finding in check_project(folder) if not finding.ok]


def _site_title(folder: Path) -> str:
    """The title of a new site: that of its first page, else the folder's name."""
    first = next((folder / name for name in _FIRST_PAGES if (folder / name).is_file()), None)
    try:
        blocks = parse_markdown_text(load_markdown(first).text) if first else []
    except (OSError, MarkdownError):  # told where the file itself is looked at
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
    """The files of the extension, by their paths in it."""
    paths = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    kept = [path for path in paths if path.suffix != ".pyc" and not any(name.startswith(".") for name in path.parts)]
    return [path.as_posix() for path in kept]


def _create(folder: Path, name: str, text: str, there: Path | None = None) -> ProjectFinding:
    path = there or folder / name
    if path.exists():
        return ProjectFinding("left alone", True, str(path))
    create_file(path, text.encode("utf-8"))  # never over a file that came meanwhile
    return ProjectFinding("written", True, str(path))
