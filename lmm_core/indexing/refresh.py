"""Bring the index up to date with changed files. The files themselves are changed only if annotations are requested."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError
from ..files.walk import is_inside, name_from
from ..logging import ConsoleLogger, LoggerBase, Progress, counted
from ..markdown.blocks import Block
from ..markdown.files import MarkdownFile
from ..models.addresses import shown_address
from ..models.sources import known_sources
from ..models.tokens import count_tokens
from ..settings.models import Models
from ..settings.project import Project
from ..store.vector_store import Point, VectorStore, is_server
from .collection import collection_names, make_collections, new_names, put_in_service, remove_unused
from .encoding import (
    VERSION,
    Encoder,
    EncodingModel,
    compare_choices,
    compare_identity,
    make_encoder,
    report_long,
    report_unfindable,
    version_of,
)
from .records import (
    BATCH,
    BEGUN,
    FILES,
    Changes,
    Counts,
    FileRecord,
    begin_files,
    find_changes,
    read_records,
    remove_files,
    write_changes,
    write_records,
    write_statistics,
)
from .sources import STDIN, NotesReader, annotate_document, check_docids, is_gone, is_own, read_indexed

if TYPE_CHECKING:  # loaded only if there are texts to cut
    from ..crawl.reader import WindowReader
    from .chunks import Chunk
    from .documents import Encoded

SHOWN = 3  # files named in a message


@dataclass
class Refresh:
    """One run of indexing; see `markdown_upload`.

    dry_run: write nothing, and count the changes
    progress: of chunks, or of files if there is no embedding model
    is_left_out: returns True for an indexed file to remove
    rebuild: replace all collections; repairs: rebuild a damaged index instead of raising StoreError
    reader: by default a `NotesReader`
    written: called with the new points of each group of documents
    records: of indexed files, by source; anew: the whole index is rebuilt
    collections: in a rebuild on a server, the new collections by the names that they will take over"""

    project: Project
    store: VectorStore
    models: Models
    _: KW_ONLY
    annotate: bool = False
    dry_run: bool = False
    logger: LoggerBase = field(default_factory=ConsoleLogger)
    progress: Progress = field(default_factory=Progress)
    is_left_out: Callable[[Path], bool] = lambda path: False
    rebuild: bool = False
    reader: NotesReader | WindowReader | None = None
    written: Callable[[Sequence[Point]], None] = lambda points: None
    repairs: bool = False
    encoder: Encoder = field(init=False)
    companion: Encoder = field(init=False)
    records: dict[str, FileRecord] = field(default_factory=dict, init=False)
    anew: bool = field(default=False, init=False)
    collections: dict[str, str] = field(default_factory=dict, init=False)
    _chunks: int = field(default=0, init=False)  # encoded
    _without_questions: int = field(default=0, init=False)  # of these
    _named: dict[str, Path] = field(default_factory=dict, init=False)  # files named by the caller, by source

    @property
    def _collection(self) -> str:
        return self.project.database.collection_name

    def __post_init__(self) -> None:
        self._source_of = cache(partial(name_from, self.project.root))
        self._reader = self.reader or NotesReader(self.project)

    async def run(self, paths: Sequence[Path]) -> Counts:
        """Index files. Raise StoreError, ModelError and ConfigError."""
        return await self.index(read_indexed(paths, self._source_of, self.logger), paths)

    async def index(self, documents: Sequence[MarkdownFile], paths: Sequence[Path]) -> Counts:
        """Index loaded files. paths: all that the caller named. Raise StoreError, ModelError and ConfigError."""
        try:
            return await self._index(documents, paths)
        finally:
            if self.collections and is_server(self.store):
                with suppress(StoreError):  # the next rebuild removes them
                    remove_unused(self.store, self.collections)

    async def _index(self, documents: Sequence[MarkdownFile], paths: Sequence[Path]) -> Counts:
        await self._prepare()
        if self.annotate and not self.dry_run:
            documents = [await annotate_document(file, self.models, self.logger) for file in documents]
        rebuilds_nothing = self.rebuild and not documents
        documents = [*documents, *read_indexed(self._unfinished(paths), self._source_of, self.logger)]
        if rebuilds_nothing or (self.anew and not documents):
            raise StoreError("None of the files could be indexed: the index stays as it was.")
        if self.anew and not self.dry_run and is_server(self.store):
            self._use_new_collections()
        records = [self._same_record(file) for file in documents]
        same = [record for record in records if record is not None]
        changed = [file for file, record in zip(documents, records, strict=True) if record is None]
        counts = Counts(unchanged=sum(record.count for record in same), same=len(same))
        counts += await self._write_all(changed)
        report_unfindable(self.encoder, self._without_questions, self._chunks, self.logger)
        if counts.documents and not self.dry_run:
            await asyncio.to_thread(write_statistics, self.store, self._collection)
        if self.collections and is_server(self.store):
            if not counts.documents:
                raise StoreError("None of the files could be indexed: the index stays as it was.")
            await asyncio.to_thread(put_in_service, self.store, self.collections)
        return counts

    async def _write_all(self, documents: Sequence[MarkdownFile]) -> Counts:
        """Write files, after a check for duplicate ids. Raise StoreError and ModelError."""
        named = {self._source_of(file.path): self._reader.docid(file) for file in documents}
        docids = {source: docid for source, docid in named.items() if docid is not None}
        try:
            check_docids(docids, self.records, self.project.root)
        except StoreError:
            for _ in self._encode(documents):  # report errors in files first
                pass
            raise
        await self._begin(docids)
        if self.encoder.embedder is None:
            self.progress.expect(len(docids))
        counts = Counts()
        async for group in self._groups(documents):
            counts += await self._write(group)
        return counts

    def _use_new_collections(self) -> None:
        """Switch to new collections on a server; the old ones stay searchable meanwhile."""
        names, database = collection_names(self.project), self.project.database
        collection, companion = new_names(database.collection_name, database.companion_collection)
        database = replace(database, collection_name=collection, companion_collection=companion)
        self.project = replace(self.project, database=database)
        self.collections = dict(zip(names, collection_names(self.project), strict=True))
        self.anew = False

    async def send(self, blocks: Sequence[Block], docid: str, source: str) -> Counts:
        """Index blocks. docid: used if the header has none. Raise StoreError, ModelError and ConfigError."""
        from .documents import blocklist_encode

        await self._prepare()
        for collection, encoder in self._encoders().items():
            if (identity := await asyncio.to_thread(self.store.metadata, collection)) is not None:
                compare_identity(collection, identity, encoder.identity())
        encoding, embedder = self.encoder.encoding, self.encoder.embedder
        document = blocklist_encode(
            blocks, self.project, self.logger, encoding=encoding, docid=docid, source=source, embedder=embedder
        )
        docids = {document.source: document.docid}
        check_docids(docids, self.records, self.project.root)
        await self._begin(docids)
        report_long(self.encoder, document.too_long, self.logger)
        counts = await self._write([document])
        await asyncio.to_thread(write_statistics, self.store, self._collection)
        return counts

    async def _prepare(self) -> None:
        self.encoder = await self._make_encoder(self._collection, self.project.embeddings.encoding)
        self.companion = await self._make_encoder(self.project.database.companion_collection, EncodingModel.NONE)
        self.anew = self.rebuild
        await asyncio.to_thread(self._read_records)

    async def _make_encoder(self, collection: str, encoding: str) -> Encoder:
        identity = {} if self.rebuild else await asyncio.to_thread(self.store.metadata, collection)
        return make_encoder(self.project, self.models, identity or {}, encoding)

    def _encoders(self) -> dict[str, Encoder]:
        return {self._collection: self.encoder, self.project.database.companion_collection: self.companion}

    def _read_records(self) -> None:
        """Read the records of indexed files. Raise StoreError, also if a collection was made with other settings.

        If a collection is missing or rebuilt, first record all files as begun: once it has been created, nothing else
        would show that their chunks are missing."""
        name = self._collection
        with suppress(*[StoreError] if self.rebuild else []):  # damaged records are not needed for a rebuild
            self.records = read_records(self.store, name)
        collections = () if self.rebuild else self._encoders()
        identities = {collection: self.store.metadata(collection) for collection in collections}
        for collection, identity in identities.items():
            if identity is not None:
                compare_choices(collection, identity, self._encoders()[collection].identity())
                self.anew |= version_of(identity) < VERSION
        if not self.anew and None not in identities.values() and self._is_stored():
            return
        if not (self.dry_run or self.anew):
            begin_files(self.store, name, self.records.values())
        self.records = {source: replace(record, fingerprint=BEGUN) for source, record in self.records.items()}

    def _is_stored(self) -> bool:
        """Return True if all recorded chunks are stored. Otherwise raise StoreError or, with `repairs`, rebuild."""
        name = self._collection
        recorded = sum(record.count for record in self.records.values() if record.fingerprint != BEGUN)
        try:
            stored = self.store.count(name)
            if stored < recorded or (self.repairs and self.store.metadata(name + FILES) is None):
                raise StoreError(
                    f"The collection {name!r} is damaged: it has {stored} of the {counted(recorded, 'chunk')} that "
                    "were written. Run `lmm index --rebuild` on the folder of your documents."
                )
        except StoreError:
            if not self.repairs:
                raise
            self.rebuild = self.anew = True
        return not self.anew

    def _unfinished(self, paths: Sequence[Path]) -> list[Path]:
        """Return files to index besides the named ones: begun by an earlier run, or all in a rebuild."""
        self._named = {self._source_of(path): path for path in paths}
        root = self.project.root
        begun = sorted(
            {record.source for record in self.records.values() if record.fingerprint == BEGUN} - self._named.keys()
        )
        own = [path for source in begun if is_own(path := root / source, root) and not self.is_left_out(path)]
        if self.anew and not self.rebuild:
            missing = [source for source in begun if not is_own(root / source, root)]
            lost = f"{counted(len(missing), 'document')} that the project no longer has ({_names(missing)})"
            self.logger.warning(
                f"The index was made by an earlier version of LM markdown. It {'would be' if self.dry_run else 'is'} "
                f"rebuilt from {counted(len(self._named) + len(own), 'file')}{f', without {lost}' if missing else ''}"
            )
        return own

    def _same_record(self, file: MarkdownFile) -> FileRecord | None:
        record = self.records.get(self._source_of(file.path))
        is_same = record is not None and record.fingerprint == self._reader.fingerprint(file, self.encoder)
        return record if is_same else None

    def _encode(self, documents: Sequence[MarkdownFile]) -> Iterator[Encoded]:
        """Yield the documents to write, and report those with invalid headers."""
        for file in documents:
            if (document := self._reader.encode(file, self.encoder, self.logger)) is not None:
                self._chunks += len(document.chunks)
                self._without_questions += sum(not chunk.payload.get("questions") for chunk in document.chunks)
                yield replace(document, fingerprint=self._reader.fingerprint(file, self.encoder))

    async def _groups(self, documents: Sequence[MarkdownFile]) -> AsyncIterator[list[Encoded]]:
        """Yield groups of documents to write together.

        With an embedding model, all documents are encoded first, to report how much will be sent, then embedded and
        written one by one, so that a failure loses no embeddings."""
        if self.encoder.embedder is not None:
            encoded = [*self._encode(documents)]
            report_long(self.encoder, sum(document.too_long for document in encoded), self.logger)
            await self._report_sent(encoded)
            self.progress.expect(sum(len(document.chunks) for document in encoded))
            for document in encoded:
                yield [document]
            return
        group: list[Encoded] = []
        count = 0
        for document in self._encode(documents):
            if group and count + len(document.chunks) > BATCH:
                yield group
                group, count = [], 0
            group.append(document)
            count += len(document.chunks)
        if group:
            yield group

    async def _report_sent(self, documents: Sequence[Encoded]) -> None:
        """Report the chunks and tokens about to be sent to a remote embedding model."""
        embedder = self.encoder.embedder
        source = known_sources(self.project.sources).get(embedder.name.partition("/")[0]) if embedder else None
        if embedder is None or source is None or source.local or not documents:
            return
        changes, _ = await asyncio.to_thread(self._changes, documents)
        tokens = sum(count_tokens(text) for chunk in changes.new for text in chunk.texts.dense)
        if changes.new:
            self.logger.info(
                f"{'would embed' if self.dry_run else 'embedding'} {counted(len(changes.new), 'chunk')} with "
                f"{embedder.name}, about {tokens:,} tokens to {shown_address(source.base_url)}"
            )

    async def _begin(self, docids: Mapping[str, str]) -> None:
        """Record files as begun before their first point changes, under their old names too if they were renamed."""
        if self.dry_run:
            return
        name, ids = self._collection, {*docids.values()}
        begun = {source: record for source, record in self.records.items() if record.docid in ids}
        for source, docid in docids.items():
            before = self.records.get(source)
            begun[source] = FileRecord(source, docid, "", before.count if before else 0)
        await make_collections(self.store, name, self._encoders(), [*self.records.values()], self.anew)
        if self.collections and self.records:  # missing files may come back
            await asyncio.to_thread(write_records, self.store, name, self.records.values())
        await asyncio.to_thread(begin_files, self.store, name, begun.values())

    async def _write(self, group: Sequence[Encoded]) -> Counts:
        """Write the new points of documents, and record their files as done."""
        database = self.project.database
        store = self.store
        changes, around = await asyncio.to_thread(self._changes, group)
        counts = replace(changes.counts, documents=len(group))
        if self.dry_run:
            return counts
        around_gone, around.gone = around.gone, []  # removed last, since stored chunks still refer to them
        await write_changes(store, database.companion_collection, self.companion, around)
        is_embedding = self.encoder.embedder is not None
        embedded = self.progress.advance if is_embedding else lambda count: None
        self.written(await write_changes(store, database.collection_name, self.encoder, changes, embedded))
        embedded(len(changes.moved) + changes.unchanged)
        if around_gone:
            await asyncio.to_thread(store.delete, database.companion_collection, around_gone)
        await asyncio.to_thread(write_records, store, database.collection_name, map(_record, group))
        if not is_embedding:
            self.progress.advance(len(group))
        return counts

    def _changes(self, documents: Sequence[Encoded]) -> tuple[Changes, Changes]:
        chunks = [chunk for document in documents for chunk in document.chunks]
        around = [text for document in documents for text in document.documents]
        companion = self.project.database.companion_collection
        return self._find_changes(self._collection, documents, chunks), self._find_changes(companion, documents, around)

    def _find_changes(self, collection: str, documents: Sequence[Encoded], chunks: list[Chunk]) -> Changes:
        if self.store.metadata(collection) is None or (self.dry_run and self.anew):
            return Changes(chunks, [], [], 0)
        docids = [document.docid for document in documents]
        sources = [document.source for document in documents if document.source]
        return find_changes(self.store, collection, docids, sources, chunks)

    # Deleted or excluded files

    def prune(self, folders: Sequence[Path] | None = None) -> int:
        """Remove the chunks of excluded and of deleted files, and return their number. Raise StoreError.

        folders: remove files deleted from these alone, and report other deleted files"""
        left_out = self._drop_left_out()
        if folders is None:
            return left_out + self.remove(is_gone)
        existing = [folder for folder in folders if folder.is_dir()]
        removed = self.remove(lambda path: is_gone(path) and any(is_inside(path, folder) for folder in existing))
        sources = [record.source for record in self._matching_records(is_gone)]
        if sources:
            self.logger.warning(
                f"{counted(len(sources), 'indexed file')} {'is' if len(sources) == 1 else 'are'} gone "
                f"({_names(sources)}). Run `lmm index` on the folder to remove what was stored."
            )
        return left_out + removed

    def _drop_left_out(self) -> int:
        sources = {source for source, path in self._named.items() if not path.is_symlink()}
        others = [self.project.root / source for source in (self.records.keys() | self._named.keys()) - sources]
        left_out = {path for path in others if not is_gone(path) and self.is_left_out(path)}
        return self.remove(left_out.__contains__) if left_out else 0

    def remove(self, matches: Callable[[Path], bool]) -> int:
        """Remove the chunks of matching files, and return their number. Raise StoreError."""
        records = self._matching_records(matches)
        if self.dry_run:
            return sum(record.count for record in records)
        removed = remove_files(self.store, self._collection, records, self.project.database.companion_collection)
        if records:
            write_statistics(self.store, self._collection)
        return removed

    def _matching_records(self, matches: Callable[[Path], bool]) -> list[FileRecord]:
        records, root = read_records(self.store, self._collection).values(), self.project.root
        return [record for record in records if not record.source.startswith(STDIN) and matches(root / record.source)]


def _names(sources: Sequence[str]) -> str:
    return ", ".join(sources[:SHOWN]) + (", …" if len(sources) > SHOWN else "")


def _record(document: Encoded) -> FileRecord:
    return FileRecord(
        document.source, document.docid, document.fingerprint, len(document.chunks), written=time.time(),
        system=document.system, statistics=document.statistics,
    )  # fmt: skip
