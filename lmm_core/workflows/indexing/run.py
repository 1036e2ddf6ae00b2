"""Index documents: what has changed becomes chunks in a vector store; search in them.

Nothing here writes into a document, except to annotate it if that is asked for.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError, FolderError, LmmError, MarkdownError, StoreError
from ...files.marked import own_place
from ...files.walk import size_on_disk
from ...index.chunks import Chunk
from ...index.collection import IndexInfo, afind_documents, chunks_for, find_types, read_info
from ...index.encoding import VERSION, Encoder, compare_identity
from ...index.rebuilding.rebuild import are_earlier, find_unfinished, make_collections
from ...index.rebuilding.replacement import Replacement, settle
from ...index.refresh import (
    BEGUN,
    FILES,
    Changes,
    Counts,
    FileRecord,
    begin_files,
    check_collections,
    find_changes,
    read_records,
    remove_files,
    write_changes,
    write_record,
)
from ...logging import ConsoleLogger, LoggerBase, counted, in_file
from ...markdown.blocks import Block, Problem, serialize_blocks
from ...markdown.files import NOT_ANNOTATED, MarkdownFile, is_notebook, load_markdown
from ...markdown.metadata.lmm_options import report_refused
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules
from ...models.addresses import shown_address
from ...models.languages.recognize import language_name
from ...models.sources import ModelSource, known_sources
from ...models.tokens import count_tokens
from ...retrieve.library import Library
from ...retrieve.search import search_points
from ...scan.check.mistakes import FOR_ANNOTATIONS, FOR_INDEX
from ...scan.header import report_errors
from ...scan.options import SplitOpts
from ...settings.project import Project
from ...settings.quarto_project import quarto_language
from ...store.vector_store import ScoredPoint, VectorStore, Where, is_alias_store
from ..encode import Encoded, blocklist_encode, encoder_for, project_from, source_of
from ..models import Models
from ..passes import RagWork, docid_of, project_of, report_concerns, save_as

if TYPE_CHECKING:
    from ...settings.config import ConfigSettings

STDIN = "stdin:"  # before the id of a document that has no file

_open: dict[str, VectorStore] = {}


# Where the index is


def client_from_config(config: ConfigSettings | Project | None = None) -> VectorStore:
    """Return the store that the configuration names; the caller closes it. Raise StoreError and ConfigError."""
    from ...store.opening import open_store
    from ...store.places import LocalStorage, RemoteSource

    project = project_from(config)
    index = project.index
    check_collections(index.collection, index.companion)
    if index.memory:
        return open_store(":memory:")
    if index.url:
        return open_store(RemoteSource(index.url, **index.server))
    try:
        return open_store(LocalStorage(own_place(project.root, Path(index.folder))))
    except FolderError as error:
        raise StoreError(str(error)) from error


def global_client_from_config(config: ConfigSettings | Project | None = None) -> VectorStore:
    """Return the store that the configuration names, the same one each time; it is closed when the program ends."""
    project = project_from(config)
    place = json.dumps([str(project.root), asdict(replace(project.index, split=SplitOpts()))], default=str)
    if place not in _open:
        _open[place] = client_from_config(project)
        atexit.register(_open[place].close)
    return _open[place]


@asynccontextmanager
async def open_index(project: Project, models: Models) -> AsyncIterator[VectorStore]:
    """Open a project's store for the block, and close it and the models after it. Raise StoreError and ConfigError."""
    store = await asyncio.to_thread(client_from_config, project)
    try:
        yield store
    finally:
        await models.close()
        store.close()


def index_info(project: Project, opened: VectorStore | None = None) -> IndexInfo:
    """Return what is in a project's index. opened: its store, if it is open. Raise StoreError and ConfigError."""
    index, store = project.index, opened or client_from_config(project)
    folder = None if index.memory or index.url else project.root / index.folder
    place = str(folder) if folder else shown_address(index.url) if index.url else "memory"
    try:
        return read_info(store, place, index.collection, index.companion, size_on_disk(folder) if folder else None)
    finally:
        if opened is None:
            store.close()


# Indexing


@dataclass
class Upload:
    """One run of indexing files; see `markdown_upload`.

    expect, progress: are told how many chunks there are, and how many more are written;
    rules_of: returns the knit rules of a file, if they are not those of the project; is_left_out: tells
    of a file in the index whether it shall be there no more; tokens: how many a
    dry run would send to an embedding model that has a price; languages:
    how many of the files that were read are in which, and what names it; rebuild: make the
    collections anew. The encoders and records are set when the run starts, and whether an earlier
    version of the program made the collections. On a server, `store` has the collections behind
    their names, so that a run never writes into two if the names change hands meanwhile."""

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
    replacement: Replacement | None = None

    async def run(self, paths: Sequence[Path]) -> Counts:
        """Index files. Raise StoreError, ModelError and ConfigError."""
        with ExitStack() as ending:
            return await self._run(paths, ending)

    async def _run(self, paths: Sequence[Path], ending: ExitStack) -> Counts:
        files = [file for path in paths if (file := self._load(path)) is not None]
        server = self.store
        if self.rebuild and not self.dry_run:
            await self._start_anew(server, ending)
        else:
            await self._settle()
        await self._prepare()
        if self.annotate and not self.dry_run:
            files = [await self._annotate(file) for file in files]
        files += [file for path in self._unfinished(paths) if (file := self._load(path)) is not None]
        if self.is_earlier and not self.dry_run and is_alias_store(server):
            await self._start_anew(server, ending)
            self.is_earlier = False
        changed = []
        counts = Counts()
        for file in files:
            if self._is_same(file):
                counts += Counts(unchanged=self.records[source_of(file.path, self.project)].count, same=1)
            else:
                changed.append(file)
        encoded = [(file, one) for file in changed if (one := self._encode(file)) is not None]
        self.languages = Counter((one.language, one.named_by) for _, one in encoded)
        await self._begin([one for _, one in encoded])
        self._report_long([one for _, one in encoded])
        self.expect(sum(len(one.chunks) for _, one in encoded))
        for file, one in encoded:
            counts += await self._write(one, self._fingerprint(file))
        if self.replacement is not None:
            if not encoded:
                raise StoreError("None of the files could be indexed: the index stays as it was.")
            await asyncio.to_thread(self.replacement.finish)
        return counts

    async def _settle(self) -> None:
        """End what a killed run left on a server, and hold on to the collections that are in service now.

        Raise StoreError, also if another run makes them anew."""
        if is_alias_store(self.store) and not self.dry_run:
            self.store = await asyncio.to_thread(settle, self.store, collection_names(self.project))

    async def _start_anew(self, store: VectorStore, ending: ExitStack) -> None:
        """Work on new collections from now on.

        On a server, they are filled beside those in service, which a replacement puts them in place
        of; elsewhere the old ones are removed. Raise StoreError."""
        if not is_alias_store(store):
            await asyncio.to_thread(drop_collections, store, self.project)
            return
        self.replacement = ending.enter_context(Replacement(store, collection_names(self.project)))
        self.store = await asyncio.to_thread(self.replacement.begin)

    async def send(self, blocks: Sequence[Block], docid: str, source: str) -> Counts:
        """Index one document by its blocks; `docid` is used if its header names none.

        Raise StoreError, ModelError and ConfigError."""
        await self._settle()
        await self._prepare()
        for collection, encoder in self._encoders().items():
            if (known := await asyncio.to_thread(self.store.metadata, collection)) is not None:
                compare_identity(collection, known, encoder.identity())
        assert self.encoder is not None and self.encoder.encoding is not None
        embedder = self.encoder.embedder
        one = blocklist_encode(blocks, self.project, self.encoder.encoding, docid, source, embedder, self.logger)
        await self._begin([one])
        self._report_long([one])
        return await self._write(one, "")

    async def _prepare(self) -> None:
        """Find the encoders and the records."""
        index = self.project.index
        self.encoder = await encoder_for(self.store, self.project, self.models, index.collection, index.encoding)
        self.companion = await encoder_for(
            self.store, self.project, self.models, index.companion, index.companion_encoding
        )
        self.is_earlier = await asyncio.to_thread(are_earlier, self.store, self._encoders())
        await asyncio.to_thread(self._read_records)

    def _encoders(self) -> dict[str, Encoder]:
        """Return the encoders by collection."""
        assert self.encoder is not None and self.companion is not None
        return {self.project.index.collection: self.encoder, self.project.index.companion: self.companion}

    def _read_records(self) -> None:
        """Read the records of indexed files.

        If a collection is missing, none of the files is stored. That is recorded first, since
        making the collection would hide it."""
        store, index = self.store, self.project.index
        self.records = read_records(store, index.collection)
        is_whole = store.metadata(index.collection) is not None and store.metadata(index.companion) is not None
        if is_whole and not self.is_earlier:
            return
        if not (self.dry_run or self.is_earlier):
            begin_files(store, index.collection, self.records.values())
        self.records = {source: replace(record, fingerprint=BEGUN) for source, record in self.records.items()}

    def _unfinished(self, paths: Sequence[Path]) -> list[Path]:
        """Return the files to index that were not named, see `Unfinished`.

        That an earlier version made the index is said."""
        named = {source_of(path, self.project) for path in paths}
        found = find_unfinished(self.records, named, self.project.root)
        found = replace(found, paths=[path for path in found.paths if not self.is_left_out(path)])
        if self.is_earlier:
            self.logger.warning(found.describe(len(named), self.dry_run))
        return found.paths

    def _load(self, path: Path) -> MarkdownFile | None:
        try:
            return load_markdown(path)
        except OSError as error:
            self.logger.error(f"{path}: {error.strerror or error}")
        except MarkdownError as error:
            self.logger.error(str(error))
        return None

    def _is_same(self, file: MarkdownFile) -> bool:
        record = self.records.get(source_of(file.path, self.project))
        return record is not None and record.fingerprint == self._fingerprint(file)

    def _project_of(self, file: MarkdownFile) -> Project:
        rules = self.rules_of(file.path) if self.rules_of is not None else self.project.rules
        return replace(self.project, rules=rules)

    def _fingerprint(self, file: MarkdownFile) -> str:
        """Return the hash of everything that a file's chunks depend on."""
        project = self._project_of(file)
        rules = [sorted(project.rules.div_types), sorted(project.rules.keep)]
        split = {key: value for key, value in asdict(project.index.split).items() if key != "rules"}
        language = project.index.language or quarto_language(project.root)
        identity = self.encoder.identity() if self.encoder else ""
        settings = [split, project.index.annotations, rules, VERSION, language, identity]
        data = json.dumps(settings, default=str, sort_keys=True).encode() + b"\0" + file.data
        return hashlib.blake2b(data, digest_size=16).hexdigest()

    async def _annotate(self, file: MarkdownFile) -> MarkdownFile:
        """Return a file as it is after annotating it; if that fails, it is reported, and the file is as before."""
        logger = in_file(self.logger, file.path)
        if is_notebook(file.path):
            logger.warning(NOT_ANNOTATED)
            return file
        try:
            blocks = await RagWork(self.models).finish(parse_markdown_text(file.text), file, logger)
            save_as(file, serialize_blocks(blocks), True)
            return load_markdown(file.path)
        except OSError as error:
            self.logger.error(f"{file.path}: {error.strerror or error}")
        except MarkdownError as error:
            self.logger.error(str(error))
        return file

    def _encode(self, file: MarkdownFile) -> Encoded | None:
        """Return a file's chunks, or None for a wrong setting in its header, which is reported."""
        located = in_file(self.logger, file.path)
        problems: list[Problem] = []
        blocks = parse_markdown_text(file.text, problems)
        for problem in problems:
            located.warning(problem.message, problem.line)
        report_errors(blocks, located)
        report_refused(blocks, located)
        project = project_of(blocks, self._project_of(file), located)
        is_annotated = self.annotate and not self.dry_run and not is_notebook(file.path)
        report_concerns(blocks, project, FOR_INDEX - FOR_ANNOTATIONS if is_annotated else FOR_INDEX, located)
        if project is None:
            return None
        assert self.encoder is not None and self.encoder.encoding is not None
        encoding, embedder = self.encoder.encoding, self.encoder.embedder
        docid, source = docid_of(file.path), source_of(file.path, self.project)
        try:
            return blocklist_encode(blocks, project, encoding, docid, source, embedder, located)
        except ConfigError as error:
            located.error(str(error), 1)
            return None

    def _report_long(self, made: Sequence[Encoded]) -> None:
        """Say how many chunks the embedding model will cut, which happens with sizes that are configured."""
        too_long, count = sum(one.too_long for one in made), sum(len(one.chunks) for one in made)
        if too_long and self.encoder is not None and self.encoder.embedder is not None:
            embedder = self.encoder.embedder
            self.logger.warning(
                f"{too_long} of {counted(count, 'chunk')} have more than the {embedder.window} tokens that "
                f"{embedder.name} reads, and are cut there: choose a smaller max_size in [split], or the default sizes"
            )

    async def _begin(self, made: Sequence[Encoded]) -> None:
        """Record all files whose points will change as begun, before the first point changes.

        These are the files to index, and those that had their ids before (the old name of a
        renamed file). Raise StoreError, also if two files have the same id."""
        self._check_docids(made)
        docids = {one.docid for one in made}
        begun = {source: record for source, record in self.records.items() if record.docid in docids}
        for one in made:
            before = self.records.get(one.source)
            begun[one.source] = FileRecord(one.source, one.docid, "", before.count if before else 0)
        if not self.dry_run:
            await make_collections(self.store, self.project.index.collection, self._encoders(), self.is_earlier)
            if self.replacement is not None and self.records:  # what is missing now may come back
                await asyncio.to_thread(write_record, self.store, self.project.index.collection, *self.records.values())
            await asyncio.to_thread(begin_files, self.store, self.project.index.collection, begun.values())

    def _check_docids(self, made: Sequence[Encoded]) -> None:
        """Raise StoreError if two files have the same id, before anything is written.

        A file that was begun and not finished does not count, because its id is not known."""
        stored = {source: record.docid for source, record in self.records.items()
                  if record.fingerprint != BEGUN and (self.project.root / source).exists()}  # fmt: skip
        owners: dict[str, str] = {}
        for source, docid in (stored | {one.source: one.docid for one in made}).items():
            other = owners.setdefault(docid, source)
            if other != source:
                raise StoreError(f"{other} and {source} have the same docid {docid!r}: change one; nothing was written")

    async def _write(self, one: Encoded, fingerprint: str) -> Counts:
        """Bring the points of a document to its new state, and record its file as done."""
        index, store = self.project.index, self.store
        changes = await asyncio.to_thread(self._changes, index.collection, one, one.chunks)
        assert self.encoder is not None and self.companion is not None
        if self.dry_run:
            around = await asyncio.to_thread(self._changes, index.companion, one, one.documents)
            self.tokens += self._tokens(self.encoder, changes.new) + self._tokens(self.companion, around.new)
            return changes.counts
        around = await asyncio.to_thread(self._changes, index.companion, one, one.documents)
        around_gone, around.gone = around.gone, []  # removed last, since stored chunks still refer to them
        await write_changes(store, index.companion, self.companion, around)
        await write_changes(store, index.collection, self.encoder, changes, self.progress)
        self.progress(len(changes.moved) + changes.unchanged)
        if around_gone:
            await asyncio.to_thread(store.delete, index.companion, around_gone)
        record = FileRecord(one.source, one.docid, fingerprint, len(one.chunks), written=time.time())
        await asyncio.to_thread(write_record, store, index.collection, record)
        return changes.counts

    def priced_source(self) -> ModelSource | None:
        """Return the source of the embedding model, None if it has no price."""
        embedder = self.encoder.embedder if self.encoder is not None else None
        source = known_sources(self.project.sources).get(embedder.name.partition("/")[0]) if embedder else None
        return source if source is not None and source.price else None

    def _tokens(self, encoder: Encoder, chunks: Sequence[Chunk]) -> int:
        """Return how many tokens of chunks are embedded; they are not counted if they have no price."""
        texts = [text for chunk in chunks for text in chunk.texts.dense] if self.priced_source() else []
        return sum(map(count_tokens, texts)) if encoder.has_meaning else 0

    def _changes(self, collection: str, one: Encoded, chunks: Sequence[Chunk]) -> Changes:
        if self.store.metadata(collection) is None or (self.dry_run and self.is_earlier):
            return Changes(list(chunks), [], [], 0)
        return find_changes(self.store, collection, one.docid, one.source, chunks)

    def prune(self) -> int:
        """Remove the chunks of files that are gone. Return their number. Raise StoreError."""
        return self._remove(lambda path: not path.exists())

    def drop_left_out(self) -> int:
        """Remove the chunks of files that are there but left out. Return their number. Raise StoreError."""
        return self._remove(lambda path: path.exists() and self.is_left_out(path))

    def _remove(self, is_meant: Callable[[Path], bool]) -> int:
        store, index, root = self.store, self.project.index, self.project.root
        records = read_records(store, index.collection).items()
        gone = [record for source, record in records if not source.startswith(STDIN) and is_meant(root / source)]
        if self.dry_run:
            return sum(record.count for record in gone)
        return remove_files(store, index.collection, gone, index.companion)


def describe_languages(found: Mapping[tuple[str, str], int]) -> str:
    """Return in words the languages of documents, given by code and by what names them, with their numbers.

    Only those that were recognized are marked, since they may be wrong."""
    shown = Counter[str]()
    for (code, named_by), count in found.items():
        mark = ", recognized" if named_by == "recognized" else ""
        shown[f"{language_name(code) if code else 'unknown'} ({{}}{mark})"] += count
    order = sorted(shown.items(), key=lambda one: (-one[1], one[0]))
    listed = [name.format(counted(count, "file")) for name, count in order]
    return f"languages: {', '.join(listed)}" if listed else ""


def describe_counts(counts: Counts, dry_run: bool = False) -> str:
    """Return in words what a run has done to the chunks, or would do."""
    moved = f", {counts.moved} moved" if counts.moved else ""
    written = f"{counted(counts.written, 'chunk')} {'would be ' if dry_run else ''}written"
    return f"{written}, {counts.removed} removed{moved}, {counts.unchanged} unchanged"


def collection_names(project: Project) -> list[str]:
    """Return the names of the project's collections, that of the chunks first."""
    return [project.index.collection, project.index.companion, project.index.collection + FILES]


def drop_collections(store: VectorStore, project: Project) -> None:
    """Remove the project's collections. Raise StoreError."""
    for name in collection_names(project):
        store.drop(name)


def markdown_upload(
    files: Sequence[str | Path],
    config: ConfigSettings | Project | None = None,
    annotate: bool = False,
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index markdown files: each is read, encoded and uploaded; only what has changed is embedded.

    annotate: make missing annotations first, and write them into the files. Return what was
    done, or None if the store or a model failed, which is reported. Raise ConfigError."""
    paths = [Path(file) for file in files]
    return _upload(config, annotate, logger, lambda upload: upload.run(paths))


def blocklist_upload(
    blocks: Sequence[Block],
    config: ConfigSettings | Project | None = None,
    docid: str = "",
    source: str = "",
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index one document by its blocks; see `markdown_upload`.

    docid: used if the header names none; source: the file that the blocks are from."""
    return _upload(config, False, logger, lambda upload: upload.send(blocks, docid, source or f"{STDIN}{docid}"))


def _upload(
    config: ConfigSettings | Project | None,
    annotate: bool,
    logger: LoggerBase | None,
    work: Callable[[Upload], Awaitable[Counts]],
) -> Counts | None:
    from ...models.chat import run

    project, logger = project_from(config), logger or ConsoleLogger()
    models = Models(warn=logger.warning)

    async def upload() -> Counts:
        try:
            store = global_client_from_config(project)
            return await work(Upload(project, store, models, annotate, logger=logger))
        finally:
            await models.close()

    try:
        return run(upload())
    except LmmError as error:
        logger.error(str(error))
        return None


# Searching


async def find_in_index(
    store: VectorStore,
    project: Project,
    models: Models,
    text: str,
    limit: int = 6,
    kind: str = "",
    no_type: bool = False,
    under: str = "",
    group: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> list[ScoredPoint]:
    """Return the chunks that match a text, best first; with `group`, whole sections.

    kind: only chunks of this type; no_type: only chunks without a type; under: only chunks in
    this section (a path like `1.2`) or file; tell: is told the other names that are searched for.
    Raise StoreError, ModelError and RetrieveError."""
    index = project.index
    encoder = await encoder_for(store, project, models, index.collection, index.encoding)
    where = await asyncio.to_thread(_where, store, index.collection, kind, no_type, under)
    library = Library(store, index.collection, encoder, synonyms=project.synonyms)
    for named in (await library.lexical()).synonyms.used(text):
        tell(str(named))
    if group:
        chunks = await search_points(library, text, chunks_for(limit), where)
        return await afind_documents(store, index.collection, index.companion, chunks, limit)
    return await search_points(library, text, limit, where)


def types_in_index(store: VectorStore, project: Project) -> dict[str, int]:
    """Return the types of material in the index, each with the number of its chunks. Raise StoreError."""
    return {kind: count for kind, count in sorted(find_types(store, project.index.collection).items()) if kind}


def _where(store: VectorStore, collection: str, kind: str, no_type: bool, under: str) -> Where | None:
    """Return the filter for `find_in_index`, or None if every chunk may be found."""
    wanted: dict[str, str] = {"type": kind} if kind else {}
    if under:
        wanted["source" if "/" in under or not under.replace(".", "").isdigit() else "section_path"] = under
    if not (wanted or no_type):
        return None
    types = list(find_types(store, collection)) if no_type else []
    return Where(wanted, {"type": types} if types else {})
