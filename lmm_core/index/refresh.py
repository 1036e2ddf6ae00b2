"""A run that indexes files: what has changed becomes chunks in a vector store.

Nothing here writes into a document, except to annotate it if that is asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import StoreError
from ..files.walk import is_inside, name_from
from ..logging import ConsoleLogger, LoggerBase, counted
from ..markdown.blocks import Block
from ..markdown.files import MarkdownFile
from ..markdown.visibility import KnitRules
from ..models.addresses import shown_address
from ..models.sources import ModelSource
from ..models.tokens import count_tokens
from ..settings.models import Models
from ..settings.project import Project
from ..store.vector_store import VectorStore, is_server
from .encoding import Encoder, EncodingModel, compare_identity, embedding_source, make_encoder
from .rebuild import (
    are_earlier,
    find_unfinished,
    make_collections,
    new_names,
    put_in_service,
    remove_unused,
)
from .records import (
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
    write_statistics,
)
from .sources import (
    STDIN,
    annotate_document,
    check_docids,
    hash_document,
    indexed_settings,
    is_gone,
    read_indexed,
)
from .stores import collection_names, drop_collections

if TYPE_CHECKING:  # what cuts texts is loaded where there are texts to cut
    from .chunks import Chunk
    from .documents import Encoded

    Prepared: TypeAlias = tuple[Encoded, str]  # a document, and the fingerprint of its file

SHOWN = 3  # names in a sentence


@dataclass
class Refresh:
    """One run of indexing files; see `markdown_upload`.

    expect, progress: are told how many chunks there are, and how many more are written (if none is embedded, which is
    soon done, how many documents);
    rules_of: returns the knit rules of a file, if they are not those of the project; is_left_out: tells
    of a file in the index whether it shall be there no more; tokens: how many a
    dry run would send to an embedding model that has a price; languages:
    how many of the files that were read are in which, and what names it; rebuild: make the
    collections anew. The encoders and
    records are set when the run starts, and whether an earlier version of the program made the
    collections; collections: on a server, the new one for each name while all are made anew; `project` has the new
    names then."""

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
    rebuild: bool = False
    tokens: int = field(default=0, init=False)
    encoder: Encoder | None = field(default=None, init=False)
    companion: Encoder | None = field(default=None, init=False)
    records: dict[str, FileRecord] = field(default_factory=dict, init=False)
    languages: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)
    is_earlier: bool = field(default=False, init=False)
    collections: dict[str, str] = field(default_factory=dict, init=False)
    _settings: dict[KnitRules, bytes] = field(default_factory=dict, init=False)  # see `indexed_settings`
    _named: dict[str, Path] = field(default_factory=dict, init=False)  # the files that were named, by their sources

    def __post_init__(self) -> None:
        self._source_of = cache(partial(name_from, self.project.root))

    async def run(self, paths: Sequence[Path]) -> Counts:
        """Index files. Raise StoreError, ModelError and ConfigError."""
        try:
            return await self._run(paths)
        finally:
            if self.collections and is_server(self.store):
                with suppress(StoreError):  # the next run that makes the index anew removes them
                    remove_unused(self.store, self.collections)

    async def _run(self, paths: Sequence[Path]) -> Counts:
        documents = read_indexed(paths, self._source_of, self.logger)
        if self.rebuild and not self.dry_run:
            check_docids(self._docids(documents), {}, self.project.root)  # while the old index is still there
            await self._start_anew()
        await self._prepare()
        if self.annotate and not self.dry_run:
            documents = [await annotate_document(file, self.models, self.logger) for file in documents]
        documents += read_indexed(self._unfinished(paths), self._source_of, self.logger)
        if self.is_earlier and not self.dry_run and is_server(self.store):
            await self._start_anew()
            self.is_earlier = False
        records = [self._same_record(file) for file in documents]
        same = [record for record in records if record is not None]
        changed = [file for file, record in zip(documents, records, strict=True) if record is None]
        counts = Counts(unchanged=sum(record.count for record in same), same=len(same))
        counts += await self._index(changed)
        if counts.documents and not self.dry_run:
            await asyncio.to_thread(write_statistics, self.store, self.project.database.collection_name)
        if self.collections and is_server(self.store):
            if not counts.documents:
                raise StoreError("None of the files could be indexed: the index stays as it was.")
            await asyncio.to_thread(put_in_service, self.store, self.collections)
        return counts

    async def _index(self, documents: Sequence[MarkdownFile]) -> Counts:
        """Write what is made of files. Raise StoreError and ModelError.

        Two files may have the same id: that is found out first, by their headers."""
        docids = self._docids(documents)
        try:
            check_docids(docids, self.records, self.project.root)
        except StoreError:
            for _ in self._encode(documents):  # what is wrong in the files is said first
                pass
            raise
        await self._begin(docids)
        if not self._is_embedding():
            self.expect(len(docids))
        counts = Counts()
        async for group in self._groups(documents):
            counts += await self._write(group)
        return counts

    async def _start_anew(self) -> None:
        """Work on new collections from now on. Raise StoreError.

        On a server, they are filled beside those in service, and removed if the run fails; elsewhere the old ones
        are removed first."""
        if not is_server(self.store):
            encoder = make_encoder(self.project, self.models, {}, self.project.embeddings.encoding)
            await encoder.spec()  # an embedding model that does not answer is found out while the old index is there
            await asyncio.to_thread(drop_collections, self.store, self.project)
            return
        names, database = collection_names(self.project), self.project.database
        collection, companion = new_names(database.collection_name, database.companion_collection)
        database = replace(database, collection_name=collection, companion_collection=companion)
        self.project = replace(self.project, database=database)
        self.collections = dict(zip(names, collection_names(self.project), strict=True))

    async def send(self, blocks: Sequence[Block], docid: str, source: str) -> Counts:
        """Index one document by its blocks; `docid` is used if its header names none.

        Raise StoreError, ModelError and ConfigError."""
        from .documents import blocklist_encode

        await self._prepare()
        for collection, encoder in self._encoders().items():
            if (known := await asyncio.to_thread(self.store.metadata, collection)) is not None:
                compare_identity(collection, known, encoder.identity())
        assert self.encoder is not None
        encoding, embedder = self.encoder.encoding, self.encoder.embedder
        document = blocklist_encode(
            blocks, self.project, self.logger, encoding=encoding, docid=docid, source=source, embedder=embedder
        )
        docids = {document.source: document.docid}
        check_docids(docids, self.records, self.project.root)
        await self._begin(docids)
        self._report_long([document])
        counts = await self._write([(document, "")])
        await asyncio.to_thread(write_statistics, self.store, self.project.database.collection_name)
        return counts

    async def _prepare(self) -> None:
        """Find the encoders and the records."""
        database = self.project.database
        self.encoder = await self._make_encoder(database.collection_name, self.project.embeddings.encoding)
        self.companion = await self._make_encoder(database.companion_collection, EncodingModel.NONE)
        self._settings.clear()
        self.is_earlier = await asyncio.to_thread(are_earlier, self.store, self._encoders())
        await asyncio.to_thread(self._read_records)

    async def _make_encoder(self, collection: str, encoding: str) -> Encoder:
        known = await asyncio.to_thread(self.store.metadata, collection) or {}
        return make_encoder(self.project, self.models, known, encoding)

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
        """Raise StoreError if a collection cannot be read, or has lost chunks, though none of its files has changed.

        All payloads are read: 10 ms for 1,000 chunks."""
        name, companion = self.project.database.collection_name, self.project.database.companion_collection
        written = sum(record.count for record in self.records.values() if record.fingerprint != BEGUN)
        stored = self.store.count_readable(name)
        self.store.count_readable(companion)
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

    def _encode(self, documents: Sequence[MarkdownFile]) -> Iterator[Prepared]:
        """Yield the documents to be written; a wrong setting in a header is reported."""
        if not documents:
            return
        from .documents import encode_document

        assert self.encoder is not None
        for file in documents:
            project = self._project_of(file.path)
            if (document := encode_document(file, project, self.encoder, self.logger)) is not None:
                yield document, self._fingerprint(file)

    def _docids(self, documents: Sequence[MarkdownFile]) -> dict[str, str]:
        """Return the ids of the documents to be written, by source."""
        if not documents:
            return {}
        from .documents import find_docid

        found = {self._source_of(file.path): find_docid(file, self._project_of(file.path)) for file in documents}
        return {source: docid for source, docid in found.items() if docid is not None}

    async def _groups(self, documents: Sequence[MarkdownFile]) -> AsyncIterator[list[Prepared]]:
        """Yield the documents in groups, each of which is written at once.

        With an embedding model, all are encoded first, so that it is known how much there is to embed, and how much
        of it will be cut; then each is written alone: what the model made of it is to be kept, whatever fails."""
        if self._is_embedding():
            prepared = [*self._encode(documents)]
            self._report_long([document for document, _ in prepared])
            await self._report_sent([document for document, _ in prepared])
            self.expect(sum(len(document.chunks) for document, _ in prepared))
            for one in prepared:
                self.languages[one[0].language, one[0].named_by] += 1
                yield [one]
            return
        group: list[Prepared] = []
        count = 0
        for document, fingerprint in self._encode(documents):
            self.languages[document.language, document.named_by] += 1
            if group and count + len(document.chunks) > BATCH:
                yield group
                group, count = [], 0
            group.append((document, fingerprint))
            count += len(document.chunks)
        if group:
            yield group

    def _report_long(self, documents: Sequence[Encoded]) -> None:
        """Say how many chunks the embedding model will cut, which happens with sizes that are configured."""
        too_long, count = sum(one.too_long for one in documents), sum(len(one.chunks) for one in documents)
        embedder = self.encoder.embedder if self.encoder is not None else None
        if too_long and embedder is not None:
            self.logger.warning(
                f"{too_long} of {counted(count, 'chunk')} have more than the {embedder.window} tokens that "
                f"{embedder.name} reads, and are cut there: choose a smaller max_size in [split], or the default sizes"
            )

    async def _report_sent(self, documents: Sequence[Encoded]) -> None:
        """Say how much is sent to an embedding model that is not on this machine, before it is sent."""
        source = embedding_source(self.encoder, self.project)
        if source is None or source.local or self.dry_run or not documents:
            return
        changes, around = await asyncio.to_thread(self._changes, documents)
        assert self.encoder is not None and self.encoder.embedder is not None and self.companion is not None
        chunks = [*changes.new, *(around.new if self.companion.has_meaning else [])]
        tokens = sum(count_tokens(text) for chunk in chunks for text in chunk.texts.dense)
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

    async def _write(self, group: Sequence[Prepared]) -> Counts:
        """Bring the points of documents to their new state, and record their files as done."""
        database = self.project.database
        store = self.store
        changes, around = await asyncio.to_thread(self._changes, [document for document, _ in group])
        counts = replace(changes.counts, documents=len(group))
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
        records = [_record(document, fingerprint) for document, fingerprint in group]
        await asyncio.to_thread(write_record, store, database.collection_name, *records)
        if not self._is_embedding():
            self.progress(len(group))
        return counts

    def _is_embedding(self) -> bool:
        return self.encoder is not None and self.encoder.embedder is not None

    def priced_source(self) -> ModelSource | None:
        """Return the source of the embedding model, None if it has no price."""
        source = embedding_source(self.encoder, self.project)
        return source if source is not None and source.price else None

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

    # Files that are gone, or left out since

    def prune(self, folders: Sequence[Path] | None = None) -> int:
        """Remove the chunks of files that are gone. Return their number.

        folders: only of files that were in these; by default anywhere. Raise StoreError."""
        if folders is None:
            return self._remove(is_gone)
        there = [folder for folder in folders if folder.is_dir()]
        return self._remove(lambda path: any(is_inside(path, folder) for folder in there) and is_gone(path))

    def report_gone(self) -> None:
        """Say which indexed files are gone, and how their chunks are removed. Raise StoreError."""
        sources = [
            source
            for source in read_records(self.store, self.project.database.collection_name)
            if not source.startswith(STDIN) and is_gone(self.project.root / source)
        ]
        if sources:
            names = ", ".join(sources[:SHOWN]) + (", …" if len(sources) > SHOWN else "")
            self.logger.warning(
                f"{counted(len(sources), 'indexed file')} {'is' if len(sources) == 1 else 'are'} gone ({names}). "
                "Run `lmm index` on the folder to remove what was stored."
            )

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
        removed = remove_files(store, database.collection_name, gone, database.companion_collection)
        if gone:
            write_statistics(store, database.collection_name)
        return removed


def _record(document: Encoded, fingerprint: str) -> FileRecord:
    """Return the record of a document whose chunks are written."""
    return FileRecord(
        document.source, document.docid, fingerprint, len(document.chunks), written=time.time(),
        system=document.system, statistics=document.statistics,
    )  # fmt: skip
