"""Keep a catalogue of indexes, and select those that fit a query.

.md_index/catalogue.json          the name, description, folder, models and state of each index
.md_index/NAME/vectors/           the collection (or NAME.vectors on a Qdrant server)
.md_index/NAME/snippets/ID.md     the snippets as files
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from json.encoder import encode_basestring as quoted
from operator import mul
from pathlib import Path
from typing import Any

from ..errors import ConfigError, CrawlError, FolderError, StoreError
from ..files.marked import check_inside, hide_from_git, make_marked, own_place, write_own
from ..indexing.encoding import VERSION, describe_differences, version_of
from ..indexing.passages import SUMMARY, Passage, read_passage
from ..markdown.files import write_markdown
from ..models.names import DEFAULT
from ..settings.project import Project
from ..store.edge_store import INDEX
from ..store.folder_lock import FolderLock
from ..store.points import checked_name
from ..store.vector_store import ScoredPoint

FORMAT = 1
ALL = "all"
CATALOGUE, SNIPPETS, VECTORS = "catalogue.json", "snippets", "vectors"
INDEXES = "md-indexes"  # folder kind; subfolders are of the store's kind
LONGEST_NAME = 100
SHORTLIST = 5


def checked_index_name(name: str) -> str:
    """Return the name of an index, and of its folder. Raise CrawlError if it is invalid."""
    with suppress(StoreError):
        if len(name) <= LONGEST_NAME and not name.endswith(".") and name.lower() not in (ALL, CATALOGUE):
            return checked_name(name)
    raise CrawlError(
        f"{name!r} cannot be the name of an index. Use letters, digits, - _ and ., with no . at the start or the end, "
        f"at most {LONGEST_NAME} characters, and not {ALL!r}."
    )


def why_unlike(name: str, stored: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """Return a message if an index was made by another version or with other models, else ""."""
    if version_of(stored) > VERSION:
        return f"The index {name!r} was made by a later version of LM markdown. Update this one."
    if version_of(stored) < VERSION:
        return f"The index {name!r} was made by an earlier version. Run `lmm md-index` on its folder."
    if differences := describe_differences(stored, current):
        return (
            f"The index {name!r} was made with other settings ({differences}). Use those, or index under another name."
        )
    return ""


# Indexes and their selection


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An index in the catalogue.

    root: the indexed folder, relative to the database's; identity: see `Encoder.identity`
    centroid: mean of the dense vectors; said: vector of the description
    state: of the index for which the snippet files were written (see `state_of`), or "" while they change"""

    name: str
    description: str
    root: str
    files: int
    snippets: int
    identity: dict[str, Any] = field(default_factory=dict)
    centroid: list[float] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    state: str = ""


def shortlist(entries: Sequence[CatalogueEntry], dense: Sequence[float]) -> list[CatalogueEntry]:
    """Return the indexes with the mean vector or description nearest to a query's dense vector."""
    near = {entry.name: max(_cosine(dense, entry.centroid), _cosine(dense, entry.said)) for entry in entries}
    return sorted(entries, key=lambda entry: (-near[entry.name], entry.name))[:SHORTLIST]


def _cosine(vector: Sequence[float], other: Sequence[float]) -> float:
    if len(vector) != len(other) or not (any(vector) and any(other)):
        return 0.0
    product: float = sum(map(mul, vector, other))
    return product / (math.hypot(*vector) * math.hypot(*other))


# On disk


def database_at(project: Project, root: Path) -> Database:
    """Return the database in a folder. Raise ConfigError if it is inside the project but reached through a link."""
    try:
        own_place(project.root, Path.cwd() / root)
    except FolderError as error:
        raise ConfigError(str(error)) from error
    return Database(root, project)


@dataclass(frozen=True, slots=True)
class Database:
    """A folder of indexes, and their catalogue. project: its settings are used for all indexes."""

    root: Path
    project: Project

    def folder(self, name: str) -> Path:
        return self.root / checked_index_name(name)

    def project_of(self, name: str) -> Project:
        """Return the project with an index's own storage and collection."""
        folder, project = Path.cwd() / self.folder(name), self.project
        collection = f"{name}.{VECTORS}" if project.storage.url else VECTORS
        return replace(
            project,
            storage=replace(project.storage, folder=str(folder), memory=False),
            database=replace(project.database, collection_name=collection, companion_collection=f"{collection}.none"),
            embeddings=replace(project.embeddings, encoding="default"),
            models=project.models | {"embedding": DEFAULT},
        )

    def make(self, name: str) -> None:
        """Create an index's folder, or check that it is ours. Raise FolderError or OSError."""
        folder = self.folder(name)
        make_marked(self.root, INDEXES)
        hide_from_git(self.root)
        check_inside(self.root, folder / SNIPPETS)
        make_marked(folder, INDEX)
        (folder / SNIPPETS).mkdir(exist_ok=True)

    def entries(self) -> dict[str, CatalogueEntry]:
        """Return the indexes by name. Raise CrawlError."""
        return {name: entry for name, entry in self._read().items() if self.folder(name).is_dir()}

    def _read(self) -> dict[str, CatalogueEntry]:
        path = self.root / CATALOGUE
        try:
            values = json.loads(path.read_bytes())
            if values["format"] != FORMAT:
                raise ValueError(f"format {values['format']}")
            named = {checked_index_name(name): entry for name, entry in values["indexes"].items()}
            return {name: CatalogueEntry(**entry | {"name": name}) for name, entry in named.items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, CrawlError) as error:
            raise CrawlError(f"{path} cannot be read ({error}). Remove it and run `lmm md-index` again.") from error

    def write(self, entry: CatalogueEntry) -> None:
        """Write an entry. Raise CrawlError, FolderError, OSError, and StoreError if another process is writing."""
        lock = FolderLock(self.root)
        lock.take()
        try:
            entries = self._read() | {entry.name: entry}
            indexes = {name: asdict(named_entry) for name, named_entry in sorted(entries.items())}
            # JSON in ASCII, since the name of a folder may not be valid UTF-8
            check_inside(self.root, self.root / CATALOGUE)  # a link would be followed
            write_markdown(self.root / CATALOGUE, json.dumps({"format": FORMAT, "indexes": indexes}) + "\n")
        finally:
            lock.release()

    def from_root(self, folder: Path) -> str:
        """Return a folder's path relative to the database's, or its absolute path on another drive."""
        try:
            return Path(os.path.relpath(folder.resolve(), self.root.resolve())).as_posix()
        except ValueError:  # another drive
            return folder.resolve().as_posix()


# Write an index's snippets as files: YAML fields, a blank line, and the text

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # printable in JSON, not in YAML
_FILE = re.compile(r"(?:[0-9a-f]-?){32}\.md")


def snippet_file(index: str, snippet: Passage) -> str:
    """Return the text of a snippet's file."""
    header = "\n".join(filter(None, [" - ".join(snippet.titles), *snippet.questions]))
    fields = (
        f"id: {quoted(snippet.id)}\nindex: {quoted(index)}\ndoc_path: {quoted(snippet.source)}\n"
        f"title: {quoted(title_of(snippet.titles))}\nline_start: {snippet.line_start}\n"
        f"line_end: {snippet.line_end}\nheader: {quoted(header)}\nlanguage: {quoted(snippet.language)}"
    )
    escaped = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", fields)
    return f"---\n{escaped}\n---\n\n{snippet.text}\n"


def title_of(titles: Iterable[str]) -> str:
    """Return the title of a snippet's document, or ""."""
    return next(iter(titles), "")


def sync_snippets(folder: Path, index: str, points: Iterable[ScoredPoint]) -> None:
    """Update the snippet files from the points, and remove others. Raise FolderError or OSError."""
    files: set[str] = set()
    for snippet in map(read_passage, points):
        if SUMMARY in snippet.types:  # annotated summaries are chunks, too
            continue
        path, data = folder / f"{snippet.id}.md", snippet_file(index, snippet).encode("utf-8", "replace")
        files.add(path.name)
        if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
            write_own(str(path), data)
    for path in folder.iterdir():
        is_file = _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_file and path.name not in files:
            path.unlink()
