"""Walking of folders for documents, never through an unchecked link."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .gitignore import Ignored
from .marked import all_below
from .writing import is_leftover, remove_leftover

# Suffixes of documents, in any case
SUFFIXES = (".md", ".markdown", ".mdown", ".qmd", ".rmd", ".rmarkdown")
NOTEBOOK = ".ipynb"  # read, but never written
# Suffixes rendered by Quarto, in any case
RENDERED = (*(suffix for suffix in SUFFIXES if suffix != ".mdown"), NOTEBOOK)
INDEXED = (*SUFFIXES, NOTEBOOK)  # may be indexed
# Scripts that Quarto may render
SCRIPTS = (".py", ".r", ".jl", ".q")
# Suffixes allowed for named files
TEXT_SUFFIXES = frozenset(SUFFIXES) | {".txt", ".text", ".mkd", ".mkdn", ".mdwn"}
UNMERGED = ".lmm-unmerged.md"  # suffix of texts that could not be merged
# Quarto's files beside `notes.qmd`: `notes.html.md` and (R) `notes.rmarkdown`
_FORMATS = frozenset(
    """.html .docx .odt .pdf .latex .beamer .typst .epub .revealjs .pptx .gfm .commonmark .markdown .ipynb""".split()
)
_TOOLS = frozenset({"node_modules", "__pycache__", "venv"})


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A file; `name` is its path from the root, with `/`."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link named like a document or to a folder, with resolved `target` and `root`."""

    path: Path
    name: str
    target: Path
    root: Path

    @property
    def leads_nowhere(self) -> bool:
        return not os.access(self.target, os.F_OK)

    @property
    def leads_out(self) -> bool:
        return not self.target.is_relative_to(self.root)

    def where_to(self) -> str:
        """Return a phrase for the target."""
        if self.leads_nowhere:
            return "a link that leads nowhere"
        if self.leads_out:
            return f"a link out of the folder, to {self.target}"
        if Path(os.path.realpath(self.path.parent)).is_relative_to(self.target):
            return "a link to a folder around it"
        return f"a link to {self.target.relative_to(self.root).as_posix()}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder (`doc_path` ends with `/`) left out unexpectedly. torn: its index entry is still valid"""

    doc_path: str
    reason: str
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The files and folders to include, by name, except `without`."""

    is_document: Callable[[str], bool]
    is_entered: Callable[[str], bool]
    ignored: Ignored | None = None
    without: frozenset[str] = frozenset()


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Return True if a path is in a folder, links followed."""
    root, place = (os.path.normcase(os.path.realpath(name)) for name in (folder, path))
    return place == root or place.startswith(os.path.join(root, ""))  # noqa: PTH118 (called for every page)


def shorten(path: Path, folder: Path | None = None) -> Path:
    """Return a path from a folder (by default the working folder) if it is inside, for messages."""
    base = folder or Path.cwd()
    return path.relative_to(base) if path.is_relative_to(base) else path


def name_from(root: Path, path: Path) -> str:
    """Return a file's resolved path from a root, with `/`."""
    return Path(os.path.relpath(os.path.realpath(path), root)).as_posix()


def find_documents(folder: Path, endings: Sequence[str] = SUFFIXES) -> tuple[list[Path], list[Skipped]]:
    """Return the documents in a folder, in reading order, and what was skipped.

    Skipped are links out of the folder or to other files; ignored are hidden, `_` and tool folders, links to folders,
    and files made by Quarto. endings: in lower case
    """
    is_wanted = partial(is_document, endings=endings)
    documents: list[Path] = []
    links: list[Link] = []
    left_out: list[Skipped] = []
    for entry in walk(folder, Choice(is_wanted, is_entered)):
        if isinstance(entry, WalkedFile):
            documents.append(entry.path)
        elif isinstance(entry, Skipped):
            left_out.append(entry)
        elif reason := _why_not(entry, is_wanted):
            left_out.append(Skipped(entry.name, reason))
        elif not entry.target.is_dir():
            links.append(entry)
    documents += _only_linked(links, documents)
    documents = [path for path in documents if not is_made_by_quarto(path)]
    return sorted(documents, key=lambda path: reading_key(path.as_posix())), left_out


def is_document(name: str, endings: Sequence[str] = SUFFIXES) -> bool:
    """Return True for a document's name."""
    lower = name.lower()
    return lower.endswith(tuple(endings)) and not name.startswith(".") and not lower.endswith(UNMERGED)


def is_made_by_quarto(path: Path) -> bool:
    """Return True if Quarto made a file from its neighbour."""
    if path.suffix.lower() == NOTEBOOK:
        return _has_beside(path, path.stem, (*SUFFIXES, *SCRIPTS))
    stem, suffix = path.stem, path.suffix.lower()
    if suffix == ".md" and Path(stem).suffix.lower() in _FORMATS:
        stem = Path(stem).stem
    elif suffix != ".rmarkdown":
        return False
    return _has_beside(path, stem, (".qmd", ".rmd", NOTEBOOK, *SCRIPTS))


def _has_beside(path: Path, stem: str, endings: Sequence[str]) -> bool:
    begins = [other for other in path.parent.glob(f"{glob.escape(stem)}.*") if other.stem == stem]
    return any(other.suffix.lower() in endings for other in begins)


def is_entered(name: str) -> bool:
    """Return True if a subfolder of this name is searched."""
    return not name.startswith((".", "_")) and name not in _TOOLS


def _why_not(link: Link, is_wanted: Callable[[str], bool]) -> str:
    if link.leads_nowhere:
        return f"{link.where_to()}: left out"
    if link.leads_out:
        return f"{link.where_to()}: left out; name it by itself to use it"
    hidden = any(part.startswith(".") for part in link.target.relative_to(link.root).parts)
    if link.target.is_dir() or (is_wanted(link.target.name) and not hidden):
        return ""
    return f"{link.where_to()}, which is no document: left out; name it by itself to use it"


def _only_linked(links: list[Link], documents: list[Path]) -> Iterator[Path]:
    real_paths = {os.path.realpath(path) for path in documents} if links else set()
    for link in links:
        if str(link.target) not in real_paths:
            real_paths.add(str(link.target))
            yield link.path


def reading_key(path: str) -> list[tuple[bool, bool, str]]:
    """Return a sort key: files before folders, and the first page (`index.md`) before others."""
    *folders, name = path.split("/")
    return [*((True, True, folder) for folder in folders), (False, name.rpartition(".")[0] != "index", name)]


def walk(root: Path, choice: Choice) -> Iterator[WalkedFile | Link | Skipped]:
    """Yield the entries of a folder, and then of its subfolders, each by name, following no link. Leftovers of killed
    runs are removed."""
    real_root = Path(os.path.realpath(root))
    folders = [(str(root), "", choice.ignored)]  # no recursion, since a tree may be deep
    while folders:
        path, rel, ignored = folders.pop()
        try:
            entries = _chosen_entries(path, choice)
            ignored = ignored and ignored.below(path, rel)
        except OSError as error:
            yield Skipped(shown_name(rel), because(error))
            continue
        subfolders = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            name = rel + entry.name + "/" * is_folder
            if (ignored and name in ignored) or entry.path in choice.without:
                continue
            if is_folder:
                subfolders.append((entry.path, name, ignored))
            else:
                yield _classify(entry, name, real_root)
        folders += reversed(subfolders)


def _chosen_entries(path: str, choice: Choice) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return sorted((entry for entry in entries if _is_chosen(entry, choice)), key=lambda entry: entry.name)


def _is_chosen(entry: os.DirEntry[str], choice: Choice) -> bool:
    if is_leftover(entry.name):
        remove_leftover(entry.path)
        return False
    is_folder = entry.is_dir() if not entry.is_symlink() else os.path.isdir(entry.path)  # noqa: PTH112 (never raises)
    return choice.is_entered(entry.name) if is_folder else choice.is_document(entry.name)


def _classify(entry: os.DirEntry[str], name: str, root: Path) -> WalkedFile | Link | Skipped:
    if entry.is_symlink():
        return Link(Path(entry.path), shown_name(name), Path(os.path.realpath(entry.path)), root)
    if entry.is_file():
        return WalkedFile(Path(entry.path), name)
    return Skipped(shown_name(name), "not a regular file")


def size_on_disk(folder: Path) -> int:
    """Return the disk usage of a folder in bytes."""
    size = 0
    for entry in all_below(folder):
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            size += getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
    return size


def shown_name(rel: str) -> str:
    """Return a path as text, even if not UTF-8."""
    return os.fsencode(rel).decode("utf-8", "replace") or "./"


def name_problem(rel: str) -> str:
    """Return why a path does not round-trip as text, or ""."""
    return "" if shown_name(rel) in (rel, "./") else "its name is not UTF-8: rename it"


def because(error: OSError) -> str:
    """Return a phrase for why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "gone since it was found"
    if isinstance(error, PermissionError):
        return "may not be read: permission denied"
    return f"cannot be read: {error.strerror or error}"
