"""Index a folder: only changed files are cut, embedded and stored.

Snippet files and the catalogue follow the index. The catalogue records the index state of the files, and none while
they change, so that the next run completes an interrupted one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import add
from pathlib import Path
from typing import Any

from ..errors import CrawlError, FolderError
from ..files.walk import SUFFIXES, Skipped, WalkedFile
from ..indexing.collection import project_store
from ..indexing.encoding import (
    DENSE,
    VERSION,
    EncodingModel,
    describe_differences,
    encoding_to_qdrantembedding_model,
    has_dense,
    make_encoder,
    texts_to_encode,
    version_of,
)
from ..indexing.records import read_records, state_of
from ..indexing.refresh import Refresh
from ..logging import ListLogger, LoggerBase, Progress, Report
from ..markdown.blocks import HeadingBlock, header_content
from ..markdown.files import MarkdownFile
from ..markdown.parse import parse_markdown_text
from ..models.names import DEFAULT
from ..settings.models import Models
from ..store.folder_lock import FolderLock
from ..store.vector_store import Point, VectorStore
from .catalogue import SNIPPETS, CatalogueEntry, Database, checked_index_name, sync_snippets, why_unlike
from .reader import LARGE, MIB, WindowReader, crawl, read

README = 100_000  # characters of a README searched for its heading


@dataclass
class Indexed:
    """The result of a run.

    files, snippets: in the index; written, dropped: snippets
    read: new or changed files; skipped: unreadable files and the like"""

    name: str
    description: str
    files: int = 0
    read: int = 0
    unchanged: int = 0
    removed: int = 0
    written: int = 0
    dropped: int = 0
    snippets: int = 0
    skipped: list[Skipped] = field(default_factory=list)


@dataclass
class FolderIndexer:
    """Indexes folders of markdown into a database. progress: see `Refresh`."""

    database: Database
    models: Models
    progress: Progress = field(default_factory=Progress)
    logger: LoggerBase = field(default_factory=ListLogger)

    async def index(self, root: Path, name: str = "", description: str = "", ignore: Sequence[str] = ()) -> Indexed:
        """Index the markdown files under a folder, or refresh their index. Raise CrawlError, StoreError or ModelError.

        Completed work stays after an error. name: by default the folder's; description: by default the earlier one, or
        the README's first heading; ignore: patterns as in `.gitignore`."""
        database, name = self.database, checked_index_name(name or default_name(root))
        before = database.entries().get(name)
        description = description or (before.description if before else read_description(root))
        lock: FolderLock | None = None
        store: VectorStore | None = None
        try:
            await asyncio.to_thread(_check_folder, database, root, name)
            if database.project.storage.url:  # else the store has a lock
                lock = FolderLock(database.folder(name))
                await asyncio.to_thread(lock.take)
            store = await asyncio.to_thread(project_store, database.project_of(name))
            indexed = Indexed(name, description.encode("utf-8", "replace").decode("utf-8"))
            run = _Run(self, root.resolve(), store, indexed)
            await run.index(ignore)
            await run.finish()
        except FolderError as error:
            raise CrawlError(str(error)) from error
        except OSError as error:
            where = error.filename or database.folder(name)
            raise CrawlError(f"{where}: {error.strerror or error}. What was done before is kept.") from error
        finally:
            if store is not None:
                await asyncio.to_thread(store.close)
            if lock is not None:
                lock.release()
        return indexed


def default_name(root: Path) -> str:
    """Return the folder's name in an index's spelling. Raise CrawlError if nothing remains."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", root.resolve().name).strip("-.")
    if not name:
        raise CrawlError(f"No index can have the name of the folder {root.resolve()}. Give another one with --name.")
    return name


def read_description(root: Path) -> str:
    """Return the title or first heading of a folder's README, or ""."""
    for path in sorted(root.glob("*")):
        is_readme = path.stem.lower() == "readme" and path.suffix.lower() in SUFFIXES
        if is_readme and path.is_file() and not path.is_symlink():
            try:
                blocks = parse_markdown_text(path.read_text(encoding="utf-8")[:README])
            except (OSError, UnicodeDecodeError):
                continue
            title = " ".join(str(header_content(blocks).get("title") or "").split())
            return title or next((block.title for block in blocks if isinstance(block, HeadingBlock)), "")
    return ""


def _check_folder(database: Database, root: Path, name: str) -> None:
    """Create the index's folder. Raise CrawlError if `root` cannot be indexed under this name, FolderError, OSError."""
    if not root.is_dir():
        raise CrawlError(f"{root} is not a folder")
    if root.resolve().is_relative_to(database.root.resolve()):
        raise CrawlError(f"{root} holds the indexes. Name the folder of your documents.")
    for other, entry in database.entries().items():
        if other == name:
            before = database.root / entry.root
            if before.is_dir() and before.resolve() != root.resolve():
                raise CrawlError(f"The index {name!r} belongs to the folder {before.resolve()}. Choose another name.")
        elif other.lower() == name.lower():  # one folder on many file systems
            raise CrawlError(f"There is an index {other!r}. Choose a name that differs by more than case.")
    database.make(name)


def _encoding_without_annotations(configured: str) -> str:
    """Return `bm25` or `hybrid` for an encoding with annotations."""
    if configured in (DEFAULT, "bm25", "hybrid", "content", "merged"):
        return configured
    return "hybrid" if has_dense(encoding_to_qdrantembedding_model(EncodingModel(configured))) else "bm25"


# A run


class _Run:
    def __init__(self, indexer: FolderIndexer, root: Path, store: VectorStore, indexed: Indexed) -> None:
        self.indexer, self.root, self.store, self.indexed = indexer, root, store, indexed
        self.database, self.name = indexer.database, indexed.name
        project = self.database.project
        encoding: Any = _encoding_without_annotations(project.embeddings.encoding)
        embeddings = replace(project.embeddings, encoding=encoding)
        self.project = replace(
            self.database.project_of(self.name), root=root, embeddings=embeddings, models=project.models
        )
        self.collection = self.project.database.collection_name
        self.vectors: list[float] = []  # sum of new dense vectors

    async def index(self, ignore: Sequence[str]) -> None:
        indexer, identity_stored = self.indexer, await asyncio.to_thread(self.store.metadata, self.collection)
        encoding = self.project.embeddings.encoding
        self.encoder = make_encoder(self.project, indexer.models, identity_stored or {}, encoding)
        identity = self.encoder.identity()
        if identity_stored is not None and (
            version_of(identity_stored) > VERSION or describe_differences(identity_stored, identity)
        ):
            raise CrawlError(why_unlike(self.name, identity_stored, identity))
        documents = await asyncio.to_thread(self._read, ignore)
        refresh = Refresh(
            self.project, self.store, indexer.models, logger=indexer.logger, progress=indexer.progress,
            is_left_out=self._is_left_out, written=self._add_vectors, repairs=True,
            reader=WindowReader(self.name, self.root, self.database.project),
        )  # fmt: skip
        counts = await refresh.index(documents, [*self.present])
        dropped = await asyncio.to_thread(refresh.remove, self._is_left_out)
        self.records = await asyncio.to_thread(read_records, self.store, self.collection)
        indexed = self.indexed
        indexed.read, indexed.unchanged = counts.documents, counts.same
        indexed.removed = len(refresh.records - self.records.keys())
        indexed.written, indexed.dropped = counts.written, counts.removed + dropped
        indexed.files, indexed.snippets = len(self.records), sum(record.count for record in self.records.values())

    def _read(self, ignore: Sequence[str]) -> list[MarkdownFile]:
        self.present: set[Path] = set()
        documents: list[MarkdownFile] = []
        for file in crawl(self.root, ignore, without=[self.database.root]):
            text = file if isinstance(file, Skipped) else read(file)
            if isinstance(text, Skipped):
                self.indexed.skipped.append(text)
            elif isinstance(file, WalkedFile):
                documents.append(MarkdownFile(file.path, text, b""))
                if len(text) > LARGE:
                    advice = f"The file has {len(text) / MIB:.1f} MiB. Split it, so that its parts can be found."
                    self.indexer.logger.report(Report("warning", advice, str(file.path)))
        self.present = {file.path for file in documents}
        self.present |= {self.root / skipped.doc_path for skipped in self.indexed.skipped if skipped.torn}
        return documents

    def _is_left_out(self, path: Path) -> bool:
        """Return True if a file is gone; files in unreadable folders stay."""
        closed = [self.root / skipped.doc_path for skipped in self.indexed.skipped if skipped.doc_path.endswith("/")]
        return path not in self.present and not any(path.is_relative_to(folder) for folder in closed)

    def _add_vectors(self, points: Sequence[Point]) -> None:
        for point in points:
            vector = point.vectors.get(DENSE)
            if isinstance(vector, list):
                self.vectors = list(map(add, self.vectors or [0.0] * len(vector), vector))

    # The catalogue

    async def finish(self) -> None:
        indexed, database = self.indexed, self.database
        before = (await asyncio.to_thread(database.entries)).get(self.name)
        root = database.from_root(self.root)
        identity = self.encoder.identity()
        state = state_of(self.records.values())
        counts = indexed.files, indexed.snippets
        entry = CatalogueEntry(self.name, indexed.description, root, *counts, identity, state=state)
        snippets = database.folder(self.name) / SNIPPETS
        is_lost = indexed.snippets > 0 and next(snippets.iterdir(), None) is None
        if before is not None and replace(before, centroid=[], said=[]) == entry and not is_lost:
            return
        if before is not None:
            await asyncio.to_thread(database.write, replace(before, state=""))
        await asyncio.to_thread(lambda: sync_snippets(snippets, self.name, self.store.scroll(self.collection)))
        vector = await self._embed(indexed.description or self.name)
        await asyncio.to_thread(database.write, replace(entry, centroid=self._centroid(before), said=vector))

    def _centroid(self, before: CatalogueEntry | None) -> list[float]:
        """Return the mean dense vector; removed ones count as average."""
        if not self.indexed.snippets:
            return []
        unchanged = max(self.indexed.snippets - self.indexed.written, 0)
        mean = before.centroid if before is not None else []
        vectors = self.vectors or [0.0] * len(mean)
        mean = mean if len(mean) == len(vectors) else [0.0] * len(vectors)
        return [(unchanged * old + new) / self.indexed.snippets for old, new in zip(mean, vectors, strict=True)]

    async def _embed(self, text: str) -> list[float]:
        assert self.encoder.encoding is not None
        [vectors] = await self.encoder.encode([texts_to_encode(self.encoder.encoding, text, "")])
        dense = vectors.get(DENSE)
        return [float(value) for value in dense] if isinstance(dense, list) else []  # type: ignore[arg-type]
