"""Indexing a folder: only files that have changed are cut, embedded and stored.

A file whose size and time are those on record is not read, and one that was merely touched is not cut. The time of a
file that has just been written is not recorded, since it may be written again within the same tick of the file
system's clock. A file is recorded as begun before its snippets change, and as done afterwards, so that the next run
completes one that was interrupted at whatever moment.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import add
from pathlib import Path
from typing import Any

from ..errors import CrawlError, FolderError
from ..files.walk import Skipped
from ..index.chunks import Chunk
from ..index.encoding import (
    DENSE,
    VERSION,
    Encoder,
    EncodingModel,
    differing,
    embedding_source,
    encoding_to_qdrantembedding_model,
    has_dense,
    is_later,
    make_encoder,
    texts_to_encode,
)
from ..index.passages import build_material
from ..index.records import (
    BATCH,
    BEGUN,
    FILES,
    FileRecord,
    begin_files,
    create_records,
    find_changes,
    read_records,
    read_statistics,
    remove_files,
    write_changes,
    write_record,
    write_statistics,
)
from ..index.statistics import TermStatistics, count_terms
from ..index.stores import project_store
from ..markdown.blocks import HeadingBlock, header_content
from ..markdown.parse import parse_markdown_text
from ..models.addresses import shown_address
from ..models.embedders.bm25 import USUAL_LANGUAGE
from ..models.languages.stemming import Stemmers, language_code
from ..models.names import DEFAULT
from ..settings.models import Models
from ..settings.quarto_project import quarto_language
from ..store.folder_lock import FolderLock
from ..store.vector_store import Point, ScoredPoint, VectorStore, Where
from .catalogue import READER, SNIPPETS, TERMS, CatalogueEntry, Database, checked_index_name, is_outdated, why_unlike
from .snippets import remove_other_snippets, remove_snippets, write_snippets
from .walk import CrawledFile, crawl, read
from .windows import VERSION as WINDOWS
from .windows import cut_windows

INDEXES: dict[str, Any] = {"docid": "keyword", "source": "keyword"}
JUST_WRITTEN = 2_000_000_000  # nanoseconds: no file system's clock ticks more slowly

README = 100_000  # characters of a README that are searched for its heading

Count = Callable[[int], None]


@dataclass
class Indexed:
    """The result of a run.

    files: in the index now; read: whose text was read; unchanged: not changed; removed: gone; written, dropped:
    snippets; snippets: in the index now; skipped: files left out although no rule ignores them; large: files that
    should be split, each with the advice; rebuilt: whether an earlier version had made the index."""

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
    large: list[Skipped] = field(default_factory=list)
    rebuilt: bool = False


async def index_folder(
    database: Database,
    models: Models,
    root: Path,
    name: str = "",
    description: str = "",
    ignore: Sequence[str] = (),
    max_fibers: int = 25,
    expect: Count = lambda count: None,
    progress: Count = lambda count: None,
) -> Indexed:
    """Index the markdown files under a folder, or bring their index up to date.

    name: by default that of the folder; description: by default that of the run before, or the first heading of the
    folder's README; ignore: patterns as in `.gitignore`; max_fibers: the number of files read at the same time;
    expect, progress: told how many snippets are to be written, and how many were. Raise CrawlError, StoreError or
    ModelError; what was done by then is kept."""
    name = checked_index_name(name or default_name(root))
    before = database.entries().get(name)
    description = description or (before.description if before else read_description(root))
    await asyncio.to_thread(_check_folder, database, root, name)
    lock = FolderLock(database.folder(name)) if database.project.storage.url else None  # else the store has one
    if lock is not None:
        await asyncio.to_thread(lock.take)
    store: VectorStore | None = None
    try:
        store = await asyncio.to_thread(project_store, database.project_of(name))
        done = Indexed(name, description.encode("utf-8", "replace").decode("utf-8"))
        run = _Run(database, models, root, store, done, expect, progress)
        await run.prepare()
        await run.index(ignore, max_fibers)
        await run.finish()
    except FolderError as error:
        raise CrawlError(str(error)) from error
    except OSError as error:
        where = error.filename or database.folder(name)
        raise CrawlError(f"{where}: {error.strerror or error}; run this again: what was done is kept") from error
    finally:
        if store is not None:
            await asyncio.to_thread(store.close)
        if lock is not None:
            lock.release()
    return done


def default_name(root: Path) -> str:
    """Return the folder's name, spelled as an index's name. Raise CrawlError if nothing of it can be used."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", root.resolve().name).strip("-.")
    if not name:
        raise CrawlError(f"no index can have the name of the folder {root.resolve()}; give another one with --name")
    return name


def read_description(root: Path) -> str:
    """Return the title or first heading of a folder's README, or ""."""
    for path in sorted(root.glob("*")):
        if path.stem.lower() == "readme" and path.suffix.lower() in (".md", ".markdown", ".mdown", ".qmd"):
            try:
                blocks = parse_markdown_text(_beginning(path, root))
            except (OSError, UnicodeDecodeError):
                continue
            title = " ".join(str(header_content(blocks).get("title") or "").split())
            return title or next((block.title for block in blocks if isinstance(block, HeadingBlock)), "")
    return ""


def _beginning(path: Path, root: Path) -> str:
    """Return the beginning of a file that lies in a folder, or "" if it is no regular file."""
    if not (path.is_file() and path.resolve().is_relative_to(root.resolve())):
        return ""
    with path.open(encoding="utf-8") as file:
        return file.read(README)


def _check_folder(database: Database, root: Path, name: str) -> None:
    """Make the index's folder. Raise CrawlError if `root` cannot be indexed under this name."""
    if not root.is_dir():
        raise CrawlError(f"{root} is not a folder")
    if root.resolve().is_relative_to(database.root.resolve()):
        raise CrawlError(f"{root} is where the indexes are: name the folder that holds your documents")
    for other, entry in database.entries().items():
        if other == name:
            before = database.root / entry.root
            if before.is_dir() and before.resolve() != root.resolve():
                raise CrawlError(f"the index {name!r} is of the folder {before.resolve()}: choose another name")
        elif other.lower() == name.lower():  # one folder on many file systems
            raise CrawlError(f"there is an index {other!r}: choose a name that differs by more than case")
    try:
        database.make(name)
    except FolderError as error:
        raise CrawlError(str(error)) from error
    except OSError as error:
        raise CrawlError(f"{database.folder(name)} cannot be made: {error.strerror}") from error


def encoding_without_annotations(configured: str) -> str:
    """Return the encoding for texts that need not have annotations: `bm25` or `hybrid` for one that needs them."""
    if configured in (DEFAULT, "bm25", "hybrid", "content", "merged"):
        return configured
    return "hybrid" if has_dense(encoding_to_qdrantembedding_model(EncodingModel(configured))) else "bm25"


# A run


@dataclass
class _Run:
    """A run of the indexer over a folder."""

    database: Database
    models: Models
    root: Path
    store: VectorStore
    done: Indexed
    expect: Count
    progress: Count

    def __post_init__(self) -> None:
        project = self.database.project
        self.name, self.collection = self.done.name, self.database.project_of(self.done.name).database.collection_name
        self.snippets = self.database.folder(self.name) / SNIPPETS
        self.language = language_code(project.embeddings.language or quarto_language(project.root))
        self.stemmers = Stemmers(project.embeddings.language.strip() or USUAL_LANGUAGE)
        self.records: dict[str, FileRecord] = {}
        self.left: dict[str, FileRecord] = {}  # of files not met in this run, so far
        self.unsure: set[str] = set()  # files that an interrupted run has begun
        self.waiting: list[tuple[FileRecord, list[Chunk]]] = []  # files to be written, with their chunks
        self.vectors: list[float] = []  # the sum of the new dense vectors
        # What snippets depend on besides the text. Each file's fingerprint begins with it.
        settings = json.dumps([VERSION, WINDOWS, self.language])
        self.settings = hashlib.blake2b(settings.encode(), digest_size=4).hexdigest()

    # Preparing

    async def prepare(self) -> None:
        """Find the encoder, make the collections that are missing, and read the records of files."""
        store, name = self.store, self.collection
        known = await asyncio.to_thread(store.metadata, name)
        self.encoder = self._make_encoder(known or {})
        identity = self.encoder.identity()
        if known is not None and (is_later(known) or differing(known, identity)):
            raise CrawlError(why_unlike(self.name, known, identity))
        spec = await self.encoder.spec()
        if known is not None and is_outdated(known):
            self.done.rebuilt, known = True, None
            await asyncio.to_thread(store.drop, name + FILES)
            await asyncio.to_thread(store.drop, name)
        if await asyncio.to_thread(store.metadata, name + FILES) is None:
            await asyncio.to_thread(create_records, store, name)
        self.records = await asyncio.to_thread(read_records, store, name, True)
        if known is None:  # recorded before the collection is made, which would hide it
            await asyncio.to_thread(begin_files, store, name, self.records.values())
            await asyncio.to_thread(store.create, name, spec, identity | READER, INDEXES)
        self._doubt(await asyncio.to_thread(store.facet, name, "source"))
        self.left = dict(self.records)

    def _make_encoder(self, known: Mapping[str, object]) -> Encoder:
        """Return the encoder; say first where texts are sent."""
        project = self.database.project
        encoding = encoding_without_annotations(project.embeddings.encoding)
        encoder = make_encoder(project, self.models, known, encoding)
        source = embedding_source(encoder, project)
        if source is not None and not source.local and encoder.embedder is not None:
            where = shown_address(source.base_url)
            self.models.inform(f"embedding with {encoder.embedder.name}: new and changed texts are sent to {where}")
        return encoder

    def _doubt(self, stored: Mapping[str, int]) -> None:
        """Take files for begun whose records do not fit what is stored. stored: the number of snippets of each."""
        has_files = next(self.snippets.iterdir(), None) is not None
        for source in self.records.keys() | stored.keys():
            record, count = self.records.get(source), stored.get(source, 0)
            if record is None or record.fingerprint == BEGUN or record.count != count or (count and not has_files):
                self.records[source] = FileRecord(source, self._docid(source), BEGUN, count)
                self.unsure.add(source)

    def _docid(self, source: str) -> str:
        return f"{self.name}/{source}"

    # Changed files

    async def index(self, ignore: Sequence[str], max_fibers: int) -> None:
        """Store what has changed, and remove what is gone."""
        async for file, text in self._read(ignore, max_fibers):
            if isinstance(text, Skipped):
                self.done.skipped.append(text)
                if text.torn:
                    self.left.pop(text.doc_path, None)
            else:
                await self._take(file, text)
            if sum(len(chunks) for _, chunks in self.waiting) >= BATCH:
                await self._write()
        await self._write()
        await self._remove_left()
        if self.unsure:
            stored = await asyncio.to_thread(lambda: [*self.store.scroll(self.collection, keys=["source"])])
            await asyncio.to_thread(remove_other_snippets, self.snippets, {point.id for point in stored})

    async def _read(self, ignore: Sequence[str], at_once: int) -> AsyncIterator[tuple[CrawledFile, str | Skipped]]:
        """Yield the files that may have changed with their texts, or why they are left out."""
        files = self._to_read(ignore)
        while batch := list(islice(files, at_once)):
            texts = await asyncio.gather(*(asyncio.to_thread(read, file) for file in batch))
            for pair in zip(batch, texts, strict=True):
                yield pair

    def _to_read(self, ignore: Sequence[str]) -> Iterator[CrawledFile]:
        """Yield the files whose size or time has changed."""
        for file in crawl(self.root, ignore, without=[self.database.root]):
            if isinstance(file, Skipped):
                self.done.skipped.append(file)
                self._keep_below(file.doc_path)
                continue
            record = self.records.get(file.doc_path)
            same = record is not None and (record.size, record.mtime_ns) == (file.size, file.mtime_ns)
            if same and record is not None and record.fingerprint.startswith(self.settings):
                self.done.unchanged += 1
                self.left.pop(file.doc_path, None)
            else:
                is_new = time.time_ns() - file.mtime_ns < JUST_WRITTEN
                yield replace(file, mtime_ns=-1) if is_new else file

    def _keep_below(self, folder: str) -> None:
        """Keep what is indexed of a folder that cannot be looked into now."""
        if folder.endswith("/"):
            for source in [source for source in self.left if folder == "./" or source.startswith(folder)]:
                del self.left[source]

    async def _take(self, file: CrawledFile, text: str) -> None:
        """Cut a file, unless it was merely touched."""
        self.done.read += 1
        if file.advice:
            self.done.large.append(Skipped(file.doc_path, file.advice))
        fingerprint = self.settings + hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
        before = self.left.pop(file.doc_path, None)
        if before is not None and before.fingerprint == fingerprint:
            self.done.unchanged += 1
            touched = replace(before, size=file.size, mtime_ns=file.mtime_ns)
            await asyncio.to_thread(write_record, self.store, self.collection, touched)
            return
        source, docid = file.doc_path, self._docid(file.doc_path)
        assert self.encoder.encoding is not None
        chunks = await asyncio.to_thread(cut_windows, text, docid, source, self.encoder.encoding, self.language)
        material = build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)
        statistics = count_terms(material, self.stemmers).packed()
        record = FileRecord(
            source, docid, fingerprint, len(chunks), file.size, file.mtime_ns, time.time(), statistics=statistics
        )
        self.waiting.append((record, chunks))
        self.expect(len(chunks))

    # Writing

    async def _write(self) -> None:
        """Store the files that wait: their points, then the files of their snippets, then their records."""
        if not self.waiting:
            return
        records, chunks = [record for record, _ in self.waiting], [one for _, many in self.waiting for one in many]
        await asyncio.to_thread(self._begin, records)
        docids = [record.docid for record in records]
        changes = await asyncio.to_thread(find_changes, self.store, self.collection, docids, [], chunks)
        await asyncio.to_thread(remove_snippets, self.snippets, changes.gone)
        self._add_vectors(await write_changes(self.store, self.collection, self.encoder, changes, self.progress))
        self.progress(len(changes.moved) + changes.unchanged)
        again = [chunk for record, many in self.waiting if record.source in self.unsure for chunk in many]
        changed = {chunk.uuid: chunk for chunk in [*changes.new, *changes.moved, *again]}
        await asyncio.to_thread(write_snippets, self.snippets, self.name, changed.values())
        await asyncio.to_thread(write_record, self.store, self.collection, *records)
        self.records |= {record.source: record for record in records}
        self.done.written += len(changes.new)
        self.done.dropped += len(changes.gone)
        self.waiting.clear()

    def _begin(self, records: Sequence[FileRecord]) -> None:
        """Record that the snippets of files are about to change, and that the catalogue is not up to date."""
        (self.database.folder(self.name) / TERMS).unlink(missing_ok=True)
        begin_files(self.store, self.collection, records)

    def _add_vectors(self, points: Sequence[Point]) -> None:
        for point in points:
            vector = point.vectors.get(DENSE)
            if isinstance(vector, list):
                self.vectors = list(map(add, self.vectors or [0.0] * len(vector), vector))

    async def _remove_left(self) -> None:
        """Remove what is stored of files that are gone or can no longer be read."""
        if not self.left:
            return
        records = list(self.left.values())
        await asyncio.to_thread(self._begin, records)
        where = Where({"source": list(self.left)})
        points = await asyncio.to_thread(lambda: [*self.store.scroll(self.collection, where, ["source"])])
        await asyncio.to_thread(remove_snippets, self.snippets, [point.id for point in points])
        self.done.dropped += await asyncio.to_thread(remove_files, self.store, self.collection, records)
        self.done.removed += len(records)
        for source in self.left:
            del self.records[source]

    # The catalogue

    async def finish(self) -> None:
        """Bring the catalogue up to date."""
        done, database, root = self.done, self.database, self.database.from_root(self.root)
        done.files, done.snippets = len(self.records), sum(record.count for record in self.records.values())
        before = (await asyncio.to_thread(database.entries)).get(self.name)
        entry = CatalogueEntry(self.name, done.description, root, done.files, done.snippets)
        same = before is not None and replace(before, identity={}, centroid=[], said=[]) == entry
        if same and (database.folder(self.name) / TERMS).exists():
            return
        await asyncio.to_thread(write_statistics, self.store, self.collection)
        read = await asyncio.to_thread(read_statistics, self.store, self.collection, self.records.values())
        statistics = read or TermStatistics()
        await asyncio.to_thread(database.write_terms, self.name, statistics)
        entry = replace(
            entry,
            identity=self.encoder.identity() | READER,
            centroid=self._centroid(before),
            said=await self._embed(done.description or self.name, statistics.language),
        )
        await asyncio.to_thread(database.write, entry)

    def _centroid(self, before: CatalogueEntry | None) -> list[float]:
        """Return the mean of the dense vectors, where those that were removed count as average ones."""
        if not self.done.snippets:
            return []
        kept = max(self.done.snippets - self.done.written, 0)
        mean = before.centroid if before is not None else []
        vectors = self.vectors or [0.0] * len(mean)
        mean = mean if len(mean) == len(vectors) else [0.0] * len(vectors)
        return [(kept * old + new) / self.done.snippets for old, new in zip(mean, vectors, strict=True)]

    async def _embed(self, text: str, language: str) -> list[float]:
        """Return the dense vector of a text, empty without an embedding model."""
        assert self.encoder.encoding is not None
        [vectors] = await self.encoder.encode([texts_to_encode(self.encoder.encoding, text, "", language)])
        dense = vectors.get(DENSE)
        return [float(value) for value in dense] if isinstance(dense, list) else []  # type: ignore[arg-type]
