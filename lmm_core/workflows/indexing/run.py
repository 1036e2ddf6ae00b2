"""A run that indexes files: what has changed becomes chunks in a vector store.

Nothing here writes into a document, except to annotate it if that is asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path

from ...errors import StoreError
from ...files.walk import inside_finder, name_finder
from ...index.chunks import Chunk
from ...index.encoding import Encoder, compare_identity
from ...index.rebuild import (
    are_earlier,
    find_unfinished,
    make_collections,
    names_in_service,
    new_names,
    put_in_service,
    remove_unused,
)
from ...index.refresh import (
    BATCH,
    BEGUN,
    Changes,
    Counts,
    FileRecord,
    begin_files,
    find_changes,
    read_records,
    remove_files,
    write_changes,
    write_record,
)
from ...index.workers import Workers
from ...logging import ConsoleLogger, LoggerBase, counted
from ...markdown.blocks import Block
from ...markdown.files import MarkdownFile
from ...markdown.visibility import KnitRules
from ...models.addresses import shown_address
from ...models.sources import ModelSource, known_sources
from ...models.tokens import count_tokens, estimate_tokens
from ...settings.models import Models
from ...settings.project import Project
from ...store.vector_store import VectorStore, is_server
from ..encode import Encoded, blocklist_encode, encoder_for
from .documents import (
    STDIN,
    annotate_document,
    check_docids,
    find_docid,
    hash_document,
    indexed_settings,
    is_gone,
    read_indexed,
)
from .encoding import Task, encode_files
from .reports import report_long
from .stores import collection_names, drop_collections
from .waiting import Waiting


@dataclass
class Upload:
    """One run of indexing files; see `markdown_upload`.

    expect, progress: are told how many chunks there are, and how many more are written (if none is embedded, which is
    soon done, how many documents);
    rules_of: returns the knit rules of a file, if they are not those of the project; is_left_out: tells
    of a file in the index whether it shall be there no more; tokens: how many a
    dry run would send to an embedding model that has a price; languages:
    how many of the files that were read are in which, and what names it; rebuild: make the
    collections anew; workers: the processes that cut the files if there are many. The encoders and
    records are set when the run starts, and whether an earlier version of the program made the
    collections; collections: on a server, the new one for each name while all are made anew. There, `project`
    has the names of the collections in service or of the new ones."""

    project: Project
    store: VectorStore
    models: Models
    annotate: bool = False
    dry_run: bool = False
    logger: LoggerBase = field(default_factory=ConsoleLogger)
    expect: Callable[[int], None] = lambda count: None
    progress: Callable[[int], None] = lambda count: None
    rules_of: Callable[[Path], KnitRules] | None = None
    is_left_out: Callable[[Path], bool] = lambda path: False
    tokens: int = 0
    encoder: Encoder | None = None
    companion: Encoder | None = None
    records: dict[str, FileRecord] = field(default_factory=dict)
    languages: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_earlier: bool = False
    rebuild: bool = False
    collections: dict[str, str] = field(default_factory=dict)
    workers: Workers = field(default_factory=Workers)
    _settings: dict[KnitRules, bytes] = field(default_factory=dict, init=False)  # see `indexed_settings`
    _named: dict[str, Path] = field(default_factory=dict, init=False)  # the files that were named, by their sources

    def __post_init__(self) -> None:
        self._source_of = cache(name_finder(self.project.root))
        self.own_project = self.project  # with the names that are configured

    async def run(self, paths: Sequence[Path]) -> Counts:
        """Index files. Raise StoreError, ModelError and ConfigError."""
        with ExitStack() as ending:
            return await self._run(paths, ending)

    async def _run(self, paths: Sequence[Path], ending: ExitStack) -> Counts:
        documents = read_indexed(paths, self._source_of, self.logger)
        if self.rebuild and not self.dry_run:
            check_docids(self._docids(documents), {}, self.project.root)  # while the old index is still there
            await self._start_anew(ending)
        else:
            await self._use_collections_in_service()
        await self._prepare()
        if self.annotate and not self.dry_run:
            documents = [await annotate_document(file, self.models, self.logger) for file in documents]
        documents += read_indexed(self._unfinished(paths), self._source_of, self.logger)
        if self.is_earlier and not self.dry_run and is_server(self.store):
            await self._start_anew(ending)
            self.is_earlier = False
        records = [self._same_record(file) for file in documents]
        same = [record for record in records if record is not None]
        changed = [file for file, record in zip(documents, records, strict=True) if record is None]
        counts = Counts(unchanged=sum(record.count for record in same), same=len(same))
        counts += await self._index(changed, ending)
        if self.collections and is_server(self.store):
            if not counts.documents:
                raise StoreError("None of the files could be indexed: the index stays as it was.")
            await asyncio.to_thread(put_in_service, self.store, self.collections)
        return counts

    async def _index(self, documents: Sequence[MarkdownFile], ending: ExitStack) -> Counts:
        """Write what is made of files, while other processes cut the next ones. Raise StoreError and ModelError.

        Two files may have the same id: that is found out first, by their headers."""
        made, docids = self._encode(documents, ending), self._docids(documents)
        try:
            check_docids(docids, self.records, self.project.root)
        except StoreError:
            async for _ in made:  # what is wrong in the files is said first
                pass
            raise
        await self._begin(docids)
        if not self._is_embedding():
            self.expect(len(docids))
        counts = Counts()
        async for group in self._groups(made):
            counts += await self._write(group)
        return counts

    async def _use_collections_in_service(self) -> None:
        if is_server(self.store):
            database = self.own_project.database
            names = database.collection_name, database.companion_collection
            self._use_collections(*await asyncio.to_thread(names_in_service, self.store, *names))

    def _use_collections(self, collection: str, companion: str) -> None:
        database = replace(self.project.database, collection_name=collection, companion_collection=companion)
        self.project = replace(self.project, database=database)

    async def _start_anew(self, ending: ExitStack) -> None:
        """Work on new collections from now on. Raise StoreError.

        On a server, they are filled beside those in service, and removed if the run fails; elsewhere the old ones
        are removed first."""
        if not is_server(self.store):
            await asyncio.to_thread(drop_collections, self.store, self.project)
            return
        names = collection_names(self.own_project)
        self._use_collections(*new_names(*names[:2]))
        self.collections = dict(zip(names, collection_names(self.project), strict=True))
        ending.callback(self._remove_unused)

    def _remove_unused(self) -> None:
        with suppress(StoreError):  # the next run that makes the index anew removes them
            if is_server(self.store):
                remove_unused(self.store, self.collections)

    async def send(self, blocks: Sequence[Block], docid: str, source: str) -> Counts:
        """Index one document by its blocks; `docid` is used if its header names none.

        Raise StoreError, ModelError and ConfigError."""
        await self._use_collections_in_service()
        await self._prepare()
        for collection, encoder in self._encoders().items():
            if (known := await asyncio.to_thread(self.store.metadata, collection)) is not None:
                compare_identity(collection, known, encoder.identity())
        assert self.encoder is not None and self.encoder.encoding is not None
        one = blocklist_encode(
            blocks,
            self.project,
            self.logger,
            encoding=self.encoder.encoding,
            docid=docid,
            source=source,
            embedder=self.encoder.embedder,
        )
        waiting = [Waiting(one, "", is_long=False)]
        docids = {one.source: one.docid}
        check_docids(docids, self.records, self.project.root)
        await self._begin(docids)
        report_long(waiting, self.encoder, self.logger)
        return await self._write(waiting)

    async def _prepare(self) -> None:
        """Find the encoders and the records."""
        database = self.project.database
        self.encoder = await encoder_for(
            self.store, self.project, self.models, database.collection_name, self.project.embeddings.encoding
        )
        self.companion = await encoder_for(
            self.store, self.project, self.models, database.companion_collection, database.companion_encoding
        )
        self._settings.clear()
        self.is_earlier = await asyncio.to_thread(are_earlier, self.store, self._encoders())
        await asyncio.to_thread(self._read_records)

    def _encoders(self) -> dict[str, Encoder]:
        """Return the encoders by collection."""
        assert self.encoder is not None and self.companion is not None
        return {
            self.project.database.collection_name: self.encoder,
            self.project.database.companion_collection: self.companion,
        }

    def _read_records(self) -> None:
        """Read the records of indexed files.

        If a collection is missing, none of the files is stored. That is recorded first, since
        making the collection would hide it."""
        database = self.project.database
        store = self.store
        self.records = read_records(store, database.collection_name)
        is_whole = (
            store.metadata(database.collection_name) is not None
            and store.metadata(database.companion_collection) is not None
        )
        if is_whole and not self.is_earlier:
            self._check_stored()
            return
        if not (self.dry_run or self.is_earlier):
            begin_files(store, database.collection_name, self.records.values())
        self.records = {source: replace(record, fingerprint=BEGUN) for source, record in self.records.items()}

    def _check_stored(self) -> None:
        """Raise StoreError if a collection cannot be read, or has lost chunks, though none of its files has changed."""
        name, companion = self.project.database.collection_name, self.project.database.companion_collection
        written = sum(record.count for record in self.records.values() if record.fingerprint != BEGUN)
        stored = self.store.count(name)
        self.store.count(companion)
        if stored < written:
            raise StoreError(
                f"The collection {name!r} is damaged: it has {stored} of the {counted(written, 'chunk')} that were "
                "written. Run `lmm index --rebuild` on the folder of your documents."
            )

    def _unfinished(self, paths: Sequence[Path]) -> list[Path]:
        """Return the files to index that were not named, see `Unfinished`.

        That an earlier version made the index is said."""
        self._named = {self._source_of(path): path for path in paths}
        found = find_unfinished(self.records, self._named, self.project.root)
        found = replace(found, paths=[path for path in found.paths if not self.is_left_out(path)])
        if self.is_earlier:
            self.logger.warning(found.describe(len(self._named), self.dry_run))
        return found.paths

    def _same_record(self, file: MarkdownFile) -> FileRecord | None:
        """Return the record of a document that is indexed as it is now, else None."""
        record = self.records.get(self._source_of(file.path))
        return record if record is not None and record.fingerprint == self._fingerprint(file) else None

    def _project_of(self, path: Path) -> Project:
        return replace(self.project, rules=self.rules_of(path)) if self.rules_of is not None else self.project

    def _fingerprint(self, file: MarkdownFile) -> str:
        project = self._project_of(file.path)
        if project.rules not in self._settings:
            self._settings[project.rules] = indexed_settings(project, self.encoder)
        return hash_document(file, self._settings[project.rules])

    def _encode(self, documents: Sequence[MarkdownFile], ending: ExitStack) -> AsyncIterator[Waiting]:
        """Return the documents to be written; a wrong setting in a header is reported."""
        assert self.encoder is not None and self.encoder.encoding is not None
        ending.callback(self.workers.stop)
        is_annotated = self.annotate and not self.dry_run
        tasks = [Task(file, self._project_of(file.path), self._fingerprint(file), is_annotated) for file in documents]
        return encode_files(tasks, self.encoder, self.workers, self.logger)

    def _docids(self, documents: Iterable[MarkdownFile]) -> dict[str, str]:
        """Return the ids of the documents to be written, by source."""
        found = {self._source_of(file.path): find_docid(file, self._project_of(file.path)) for file in documents}
        return {source: docid for source, docid in found.items() if docid is not None}

    async def _groups(self, made: AsyncIterator[Waiting]) -> AsyncIterator[list[Waiting]]:
        """Yield the documents in groups, each of which is written at once.

        With an embedding model each document is one: what the model made of it is to be kept, whatever fails."""
        group: list[Waiting] = []
        count = 0
        async for one in self._told(made):
            self.languages[one.language, one.named_by] += 1
            if group and (count + one.count > BATCH or self._is_embedding()):
                yield group
                group, count = [], 0
            group.append(one)
            count += one.count
        if group:
            yield group

    async def _told(self, made: AsyncIterator[Waiting]) -> AsyncIterator[Waiting]:
        """Yield the documents as they are made.

        With an embedding model all are made first, so that it is known how much there is to embed, and how much of
        it will be cut."""
        if not self._is_embedding():
            async for one in made:
                yield one
            return
        assert self.encoder is not None
        waiting = [one async for one in made]
        report_long(waiting, self.encoder, self.logger)
        await self._report_sent(waiting)
        self.expect(sum(one.count for one in waiting))
        for one in waiting:
            yield one

    async def _report_sent(self, waiting: Sequence[Waiting]) -> None:
        """Say how much is sent to an embedding model that is not on this machine, before it is sent."""
        source = self._embedding_source()
        if source is None or source.local or self.dry_run or not waiting:
            return
        changes, around = await asyncio.to_thread(self._changes, [one.unpack() for one in waiting])
        assert self.encoder is not None and self.encoder.embedder is not None and self.companion is not None
        chunks = [*changes.new, *(around.new if self.companion.has_meaning else [])]
        tokens = sum(estimate_tokens(text) for chunk in chunks for text in chunk.texts.dense)
        if chunks:
            self.logger.info(
                f"embedding {counted(len(chunks), 'chunk')} with {self.encoder.embedder.name}, about {tokens:,} tokens "
                f"to {shown_address(source.base_url)}"
            )

    async def _begin(self, docids: Mapping[str, str]) -> None:
        """Record all files whose points will change as begun, before the first point changes.

        These are the files to index, and those that had their ids before (the old name of a
        renamed file). docids: by source. Raise StoreError."""
        ids = {*docids.values()}
        begun = {source: record for source, record in self.records.items() if record.docid in ids}
        for source, docid in docids.items():
            before = self.records.get(source)
            begun[source] = FileRecord(source, docid, "", before.count if before else 0)
        if not self.dry_run:
            await make_collections(self.store, self.project.database.collection_name, self._encoders(), self.is_earlier)
            if self.collections and self.records:  # what is missing now may come back
                await asyncio.to_thread(
                    write_record, self.store, self.project.database.collection_name, *self.records.values()
                )
            await asyncio.to_thread(begin_files, self.store, self.project.database.collection_name, begun.values())

    async def _write(self, group: Sequence[Waiting]) -> Counts:
        """Bring the points of documents to their new state, and record their files as done."""
        database = self.project.database
        store = self.store
        documents = [one.unpack() for one in group]
        changes, around = await asyncio.to_thread(self._changes, documents)
        counts = replace(changes.counts, documents=len(documents))
        assert self.encoder is not None and self.companion is not None
        if self.dry_run:
            self.tokens += self._tokens(self.encoder, changes.new) + self._tokens(self.companion, around.new)
            return counts
        around_gone, around.gone = around.gone, []  # removed last, since stored chunks still refer to them
        await write_changes(store, database.companion_collection, self.companion, around)
        embedded = self.progress if self._is_embedding() else lambda count: None
        await write_changes(store, database.collection_name, self.encoder, changes, embedded)
        embedded(len(changes.moved) + changes.unchanged)
        if around_gone:
            await asyncio.to_thread(store.delete, database.companion_collection, around_gone)
        records = [_record(made, one.fingerprint) for made, one in zip(documents, group, strict=True)]
        await asyncio.to_thread(write_record, store, database.collection_name, *records)
        if not self._is_embedding():
            self.progress(len(documents))
        return counts

    def _is_embedding(self) -> bool:
        return self.encoder is not None and self.encoder.embedder is not None

    def priced_source(self) -> ModelSource | None:
        """Return the source of the embedding model, None if it has no price."""
        source = self._embedding_source()
        return source if source is not None and source.price else None

    def _embedding_source(self) -> ModelSource | None:
        """Return the server of the embedding model, None for one on this machine, and for none."""
        embedder = self.encoder.embedder if self.encoder is not None else None
        return known_sources(self.project.sources).get(embedder.name.partition("/")[0]) if embedder else None

    def _tokens(self, encoder: Encoder, chunks: Sequence[Chunk]) -> int:
        """Return how many tokens of chunks are embedded; they are not counted if they have no price."""
        texts = [text for chunk in chunks for text in chunk.texts.dense] if self.priced_source() else []
        return sum(map(count_tokens, texts)) if encoder.has_meaning else 0

    def _changes(self, documents: Sequence[Encoded]) -> tuple[Changes, Changes]:
        """Return the changes that documents need: those of their chunks, and those of the texts around these."""
        database = self.project.database
        chunks = self._find_changes(database.collection_name, documents, [one.chunks for one in documents])
        around = self._find_changes(database.companion_collection, documents, [one.documents for one in documents])
        return chunks, around

    def _find_changes(
        self, collection: str, documents: Sequence[Encoded], chunks: Iterable[Sequence[Chunk]]
    ) -> Changes:  # fmt: skip
        all_chunks = [*chain.from_iterable(chunks)]
        if self.store.metadata(collection) is None or (self.dry_run and self.is_earlier):
            return Changes(all_chunks, [], [], 0)
        docids, sources = [one.docid for one in documents], [one.source for one in documents if one.source]
        return find_changes(self.store, collection, docids, sources, all_chunks)

    def prune(self, folders: Sequence[Path] | None = None) -> int:
        """Remove the chunks of files that are gone. Return their number.

        folders: only of files that were in these; by default anywhere. Raise StoreError."""
        if folders is None:
            return self._remove(is_gone)
        inside = [inside_finder(folder) for folder in folders if folder.is_dir()]
        return self._remove(lambda path: any(is_in(path) for is_in in inside) and is_gone(path)) if inside else 0

    def gone(self) -> list[str]:
        """Return the sources of the indexed files that are gone. Raise StoreError."""
        sources = read_records(self.store, self.project.database.collection_name)
        return [source for source in sources if not source.startswith(STDIN) and is_gone(self.project.root / source)]

    def drop_left_out(self) -> int:
        """Remove the chunks of files that are there but left out. Return their number. Raise StoreError."""
        taken = {source for source, path in self._named.items() if not path.is_symlink()}
        others = [self.project.root / source for source in (self.records.keys() | self._named.keys()) - taken]
        left_out = {path for path in others if not is_gone(path) and self.is_left_out(path)}
        return self._remove(left_out.__contains__) if left_out else 0

    def _remove(self, is_meant: Callable[[Path], bool]) -> int:
        database = self.project.database
        store, root = self.store, self.project.root
        records = read_records(store, database.collection_name).items()
        gone = [record for source, record in records if not source.startswith(STDIN) and is_meant(root / source)]
        if self.dry_run:
            return sum(record.count for record in gone)
        return remove_files(store, database.collection_name, gone, database.companion_collection)


def _record(made: Encoded, fingerprint: str) -> FileRecord:
    """Return the record of a document whose chunks are written."""
    count, now = len(made.chunks), time.time()
    return FileRecord(
        made.source, made.docid, fingerprint, count, written=now, system=made.system, statistics=made.statistics
    )
