"""Indexing: documents become chunks in a vector store, as header and configuration say.

Nothing here writes into a document, but for annotating it where that is asked for.
"""

from __future__ import annotations

import asyncio
import atexit
import bisect
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, FolderError, LmmError, MarkdownError, StoreError
from ..files.marked import own_place
from ..index.chunks import SUMMARY, AnnotationModel, Chunk, blocks_to_chunks, document_chunks
from ..index.collection import GROUP, ainitialize_collection, aquery, aquery_grouped
from ..index.encoding import CHUNKER, Encoder, EncodingModel, encoding_to_qdrantembedding_model
from ..index.refresh import (
    BEGUN,
    FILES,
    Changes,
    Counts,
    FileRecord,
    begin_files,
    check_collections,
    create_records,
    find_changes,
    read_records,
    remove_files,
    write_changes,
    write_record,
)
from ..index.split import Document, fit_window, transform
from ..logging import ConsoleLogger, LoggerBase, in_file
from ..markdown.blocks import Block, HeaderBlock, Problem, header_content
from ..markdown.files import NOT_ANNOTATED, MarkdownFile, is_notebook, load_markdown, project_root
from ..markdown.metadata.lmm_options import report_refused
from ..markdown.parse import parse_markdown_text
from ..markdown.rag_only import KnitRules
from ..models.roles import DEFAULT
from ..scan.header import report_errors
from ..scan.options import SplitOpts
from ..settings.project import Project, load_project, project_from_settings
from ..store.threads import in_store
from ..store.vector_store import ScoredPoint, VectorStore, Where
from .models import Models
from .passes import RagWork, docid_of, project_of, save_as

if TYPE_CHECKING:
    from ..models.embedders.embedder import Embedder
    from ..settings.config import ConfigSettings

ANNOTATION_TOKENS = 36  # that a chunk leaves of the window for titles and questions
STDIN = "stdin:"  # before the id of a document that has no file

_open: dict[str, VectorStore] = {}


def project_from(config: ConfigSettings | Project | None) -> Project:
    """The project that is meant: of the working folder where nothing is given."""
    if isinstance(config, Project):
        return config
    if config is None:
        return load_project(None)
    return project_from_settings(config, project_root(Path.cwd() / "-"))


# Where the index is


def client_from_config(config: ConfigSettings | Project | None = None) -> VectorStore:
    """The store that the configuration names; the caller closes it. Raises StoreError
    and ConfigError."""
    from ..store.places import LocalStorage, RemoteSource, open_store

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
    """The same store for all who ask; it is closed when the program ends."""
    project = project_from(config)
    place = json.dumps([str(project.root), asdict(replace(project.index, split=SplitOpts()))], default=str)
    if place not in _open:
        _open[place] = client_from_config(project)
        atexit.register(_open[place].close)
    return _open[place]


async def encoder_for(
    store: VectorStore, project: Project, models: Models, collection: str, encoding: str, language: str = ""
) -> Encoder:  # fmt: skip
    """The encoder for a collection; see `make_encoder`. language: of the documents, for a new
    one. Raises StoreError and ModelError."""
    known = await in_store(store.metadata, collection) or {}
    return make_encoder(project, models, known, encoding, language)


def make_encoder(
    project: Project, models: Models, known: Mapping[str, Any], encoding: str, language: str = ""
) -> Encoder:
    """An encoder as the configuration says, and where it says nothing, as what it is for was
    made (`known`: its identity, empty for something new); `encoding` may be `default`. Raises
    StoreError and ModelError."""
    if encoding == DEFAULT and known.get("encoding"):
        encoding = str(known["encoding"])
    embedder = None
    if encoding not in ("none", "sparse", "bm25"):
        named = project.models["embedding"] == DEFAULT and known.get("embedding")
        wanted = replace(project, models=project.models | {"embedding": str(named)}) if named else project
        embedder = cached_embedder(models.embedder(wanted), project, models)
    if encoding == DEFAULT:
        encoding = "hybrid" if embedder else "bm25"
    kind = EncodingModel(encoding)
    return Encoder(encoding_to_qdrantembedding_model(kind), embedder, _sparse(project, known, language), kind)


def cached_embedder(embedder: Embedder | None, project: Project, models: Models) -> Embedder | None:
    """The embedder with the cache of vectors before it."""
    if embedder is None:
        return None
    from ..models.embedders.embedding_cache import CachedEmbedder, EmbeddingCache

    return CachedEmbedder(embedder, EmbeddingCache(), models.warn, project.requests["embedding"].max_concurrency)


def _sparse(project: Project, known: Mapping[str, Any], language: str) -> Any:
    """The sparse encoder, of the configured language, else of the collection's."""
    from ..models.embedders.bm25 import Bm25Encoder

    stored = str(known.get("sparse") or "").removeprefix("bm25/")
    return Bm25Encoder(project.index.language or stored or language or "en")


# From blocks to chunks


@dataclass(frozen=True)
class Encoded:
    """A document, ready to be stored: its chunks, and the larger texts that they are
    parts of."""

    docid: str
    source: str
    chunks: list[Chunk]
    documents: list[Chunk]


def blocklist_encode(
    blocks: Sequence[Block],
    config: ConfigSettings | Project | None = None,
    encoding: EncodingModel = EncodingModel.BM25,
    docid: str = "",
    source: str = "",
    embedder: Embedder | None = None,
    logger: LoggerBase | None = None,
) -> Encoded:
    """The chunks of a document. No model is asked. embedder: what will embed them; no chunk
    has more tokens than it sees, where it can count them, and it counts for sizes in
    tokens. Raises ConfigError for what its header says under `split`."""
    project, logger = project_from(config), logger or ConsoleLogger()
    header = header_content(blocks)
    opts = replace(split_options(project.index.split, header.get("split")), rules=project.rules)
    annotations = AnnotationModel(project.index.annotations, project.index.annotations)
    count: Callable[[str], int] | None = getattr(getattr(embedder, "embedder", embedder), "count", None)
    split = transform(blocks, opts, count=count, logger=logger)
    texts = split.blocks
    if count is not None and embedder is not None:
        texts = fit_window(texts, opts, count, max(embedder.window - ANNOTATION_TOKENS, 32))
    chunks = blocks_to_chunks(texts, encoding, annotations, docid, source, project.rules, logger)
    docid = str(
        next((chunk.payload["docid"] for chunk in chunks), header.get("docid") or header.get("~docid") or docid)
    )
    documents = document_chunks(split.documents, docid, source, EncodingModel(project.index.companion_encoding))
    return Encoded(docid, source, _linked(chunks, split.documents, documents), documents)


def split_options(opts: SplitOpts, header: Any) -> SplitOpts:
    """The options with what a header says under `split`. Raises ConfigError."""
    if header is None:
        return opts
    if not isinstance(header, dict):
        raise ConfigError(f"`split`: a mapping, not {header!r}")
    known = [field.name for field in fields(opts) if field.name != "rules"]
    if unknown := [key for key in header if key not in known]:
        raise ConfigError(f"unknown key `split.{unknown[0]}` (known: {', '.join(known)})")
    try:
        return replace(opts, **header)
    except ValueError as error:
        raise ConfigError(f"`split`: {_first_problem(error)}") from None


def _first_problem(error: ValueError) -> str:
    """What is wrong, in one line; pydantic says it in several."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{first['loc'][0]}: {first['msg']}, not {first['input']!r:.60}"


def _linked(chunks: list[Chunk], texts: Sequence[Document], documents: Sequence[Chunk]) -> list[Chunk]:
    """The chunks, each with the id of the document that it stands in; a summary with
    that of the first text of its section."""
    linked = []
    starts = [text.line for text in texts]
    for chunk in chunks:
        start, end = chunk.payload["line_start"], chunk.payload["line_end"]
        if chunk.payload.get("type") == SUMMARY:
            at = bisect.bisect_left(starts, start)
            found = at < len(starts) and starts[at] <= end
        else:
            at = bisect.bisect_right(starts, start) - 1
            while at >= 0 and texts[at].line_end < start:  # one that stands alone may lie between another's lines
                at -= 1
            found = at >= 0
        payload = {**chunk.payload, GROUP: documents[at].uuid} if found else chunk.payload
        linked.append(replace(chunk, payload=payload))
    return linked


# Files


@dataclass
class Upload:
    """Indexes files; see `markdown_upload`. Everything of a run that lasts."""

    project: Project
    store: VectorStore
    models: Models
    annotate: bool = False
    dry_run: bool = False
    logger: LoggerBase = field(default_factory=ConsoleLogger)
    expect: Callable[[int], None] = lambda count: None
    progress: Callable[[int], None] = lambda count: None
    rules_of: Callable[[Path], KnitRules] | None = None  # of a file, where they are not the project's
    encoder: Encoder | None = None
    companion: Encoder | None = None
    records: dict[str, FileRecord] = field(default_factory=dict)

    async def run(self, paths: Sequence[Path]) -> Counts:
        """Index files. Raises StoreError, ModelError and ConfigError."""
        files = [found for path in paths if (found := self._load(path)) is not None]
        await self._prepare(_language(files[0].text) if files else "")
        if self.annotate and not self.dry_run:
            files = [await self._annotate(file) for file in files]
        todo = []
        counts = Counts()
        for file in files:
            if self._is_same(file):
                counts += Counts(unchanged=self.records[self._source(file)].count, same=1)
            else:
                todo.append(file)
        encoded = [(file, made) for file in todo if (made := self._encode(file)) is not None]
        await self._begin([one for _, one in encoded])
        self.expect(sum(len(one.chunks) for _, one in encoded))
        for file, one in encoded:
            counts += await self._write(one, self._fingerprint(file))
        return counts

    async def send(self, blocks: Sequence[Block], docid: str, source: str) -> Counts:
        """Index one document by its blocks; `docid` and `source` where its header names no
        id. Raises StoreError, ModelError and ConfigError."""
        header = blocks[0] if blocks else None
        await self._prepare(str(header.content.get("lang") or "") if isinstance(header, HeaderBlock) else "")
        assert self.encoder is not None and self.encoder.encoding is not None
        embedder = self.encoder.embedder
        one = blocklist_encode(blocks, self.project, self.encoder.encoding, docid, source, embedder, self.logger)
        await self._begin([one])
        return await self._write(one, "")

    async def _prepare(self, language: str) -> None:
        """Find the encoders, and make the collections where they are not there."""
        index = self.project.index
        self.encoder = await encoder_for(
            self.store, self.project, self.models, index.collection, index.encoding, language
        )
        self.companion = await encoder_for(
            self.store, self.project, self.models, index.companion, index.companion_encoding, language
        )
        await asyncio.to_thread(self._read_records)
        if not self.dry_run:
            await ainitialize_collection(self.store, index.collection, self.encoder)
            await ainitialize_collection(self.store, index.companion, self.companion)
            if await asyncio.to_thread(self.store.metadata, index.collection + FILES) is None:
                await asyncio.to_thread(create_records, self.store, index.collection)

    def _read_records(self) -> None:
        """Find what is remembered of files. Where a collection is not there, none of them is
        stored: that is recorded before the collection is made, which would hide it."""
        store, index = self.store, self.project.index
        self.records = read_records(store, index.collection)
        if store.metadata(index.collection) is not None and store.metadata(index.companion) is not None:
            return
        if not self.dry_run:
            begin_files(store, index.collection, self.records.values())
        self.records = {source: replace(record, fingerprint=BEGUN) for source, record in self.records.items()}

    def _load(self, path: Path) -> MarkdownFile | None:
        try:
            return load_markdown(path)
        except OSError as error:
            self.logger.error(f"{path}: {error.strerror or error}")
        except MarkdownError as error:
            self.logger.error(str(error))
        return None

    def _is_same(self, file: MarkdownFile) -> bool:
        record = self.records.get(self._source(file))
        return record is not None and record.fingerprint == self._fingerprint(file)

    def _project_of(self, file: MarkdownFile) -> Project:
        rules = self.rules_of(file.path) if self.rules_of is not None else self.project.rules
        return replace(self.project, rules=rules)

    def _fingerprint(self, file: MarkdownFile) -> str:
        """Of all that a file's chunks depend on."""
        project = self._project_of(file)
        rules = [sorted(project.rules.div_types), sorted(project.rules.keep)]
        split = {key: value for key, value in asdict(project.index.split).items() if key != "rules"}
        settings = [split, project.index.annotations, rules, CHUNKER,
                    self.encoder.identity() if self.encoder else ""]  # fmt: skip
        data = json.dumps(settings, default=str, sort_keys=True).encode() + b"\0" + file.data
        return hashlib.blake2b(data, digest_size=16).hexdigest()

    async def _annotate(self, file: MarkdownFile) -> MarkdownFile:
        from ..markdown.blocks import serialize_blocks

        work = RagWork(self.models)
        logger = in_file(self.logger, file.path)
        if is_notebook(file.path):
            logger.warning(NOT_ANNOTATED)
            return file
        try:
            blocks = await work.finish(parse_markdown_text(file.text), file, logger)
            save_as(file, serialize_blocks(blocks), True)
            return load_markdown(file.path)
        except OSError as error:
            self.logger.error(f"{file.path}: {error.strerror or error}")
        except MarkdownError as error:
            self.logger.error(str(error))
        return file

    def _encode(self, file: MarkdownFile) -> Encoded | None:
        """A file's chunks; None where its header says what cannot be, which is reported."""
        located = in_file(self.logger, file.path)
        problems: list[Problem] = []
        blocks = parse_markdown_text(file.text, problems)
        for problem in problems:
            located.warning(problem.message, problem.line)
        report_errors(blocks, located)
        report_refused(blocks, located)
        project = project_of(blocks, self._project_of(file), located)
        assert self.encoder is not None and self.encoder.encoding is not None
        if project is None:
            return None
        docid, source = docid_of(file.path), self._source(file)
        try:
            return blocklist_encode(
                blocks, project, self.encoder.encoding, docid, source, self.encoder.embedder, located
            )
        except ConfigError as error:
            located.error(str(error), 1)
            return None

    async def _begin(self, made: Sequence[Encoded]) -> None:
        """Record as begun all files of which points will change, before the first one does:
        those that are indexed, and those that had their ids before (a renamed file's old
        name). Raises StoreError, also where two files have one id."""
        self._check_docids(made)
        docids = {one.docid for one in made}
        begun = {source: record for source, record in self.records.items() if record.docid in docids}
        for one in made:
            before = self.records.get(one.source)
            begun[one.source] = FileRecord(one.source, one.docid, "", before.count if before else 0)
        if not self.dry_run:
            await asyncio.to_thread(begin_files, self.store, self.project.index.collection, begun.values())

    def _check_docids(self, made: Sequence[Encoded]) -> None:
        """Raises StoreError where two files have one id: nothing is written then. What was
        begun and not done does not count: which id it has is not known."""
        stored = {source: record.docid for source, record in self.records.items()
                  if record.fingerprint != BEGUN and (self.project.root / source).exists()}  # fmt: skip
        owners: dict[str, str] = {}
        for source, docid in (stored | {one.source: one.docid for one in made}).items():
            other = owners.setdefault(docid, source)
            if other != source:
                raise StoreError(f"{other} and {source} have the same docid {docid!r}: change one; nothing was written")

    async def _write(self, one: Encoded, fingerprint: str) -> Counts:
        index, store = self.project.index, self.store
        changes = await asyncio.to_thread(self._changes, index.collection, one, one.chunks)
        if self.dry_run:
            return changes.counts
        assert self.encoder is not None and self.companion is not None
        around = await asyncio.to_thread(self._changes, index.companion, one, one.documents)
        around_gone, around.gone = around.gone, []
        await write_changes(store, index.companion, self.companion, around)
        await write_changes(store, index.collection, self.encoder, changes, self.progress)
        self.progress(len(changes.moved) + changes.unchanged)
        if around_gone:
            await asyncio.to_thread(store.delete, index.companion, around_gone)
        record = FileRecord(one.source, one.docid, fingerprint, len(one.chunks))
        await asyncio.to_thread(write_record, store, index.collection, record)
        return changes.counts

    def _changes(self, collection: str, one: Encoded, chunks: Sequence[Chunk]) -> Changes:
        if self.store.metadata(collection) is None:
            return Changes(list(chunks), [], [], 0)
        return find_changes(self.store, collection, one.docid, one.source, chunks)

    def prune(self) -> int:
        """Remove what is stored of files that are gone; returns how many chunks that were.
        Raises StoreError."""
        store, index = self.store, self.project.index
        gone = [record for source, record in read_records(store, index.collection).items()
                if not (source.startswith(STDIN) or (self.project.root / source).exists())]  # fmt: skip
        if self.dry_run:
            return sum(record.count for record in gone)
        return remove_files(store, index.collection, gone, index.companion)

    def _source(self, file: MarkdownFile) -> str:
        return _source(file.path, self.project)


def _source(path: Path, project: Project) -> str:
    """Where a file is from the root of the project that is indexed: files of several
    projects are told apart by it."""
    return Path(os.path.relpath(path.resolve(), project.root)).as_posix()


def _language(text: str) -> str:
    """What a document's header says, looked for in its first 20,000 characters."""
    blocks = parse_markdown_text(text[:20_000])
    header = blocks[0] if blocks else None
    return str(header.content.get("lang") or "") if isinstance(header, HeaderBlock) else ""


def drop_collections(store: VectorStore, project: Project) -> None:
    """Remove the project's collections. Raises StoreError."""
    for name in (project.index.collection, project.index.companion, project.index.collection + FILES):
        store.drop(name)


def markdown_upload(
    files: Sequence[str | Path],
    config: ConfigSettings | Project | None = None,
    annotate: bool = False,
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index markdown files: each is scanned, encoded and uploaded; only what has changed
    is embedded. With `annotate`, missing annotations are made first, and written into the
    files. Returns what was done; None where the store or a model failed, which is
    reported. Raises ConfigError."""
    paths = [Path(file) for file in files]
    return _upload(config, annotate, logger, lambda upload: upload.run(paths))


def blocklist_upload(
    blocks: Sequence[Block],
    config: ConfigSettings | Project | None = None,
    docid: str = "",
    source: str = "",
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index one document by its blocks; `docid` where its header names none, `source` the
    file that it is from. The rest as `markdown_upload`."""
    return _upload(config, False, logger, lambda upload: upload.send(blocks, docid, source or f"{STDIN}{docid}"))


def _upload(
    config: ConfigSettings | Project | None,
    annotate: bool,
    logger: LoggerBase | None,
    work: Callable[[Upload], Awaitable[Counts]],
) -> Counts | None:
    from ..models.chat import run

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


# Looking


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
) -> list[ScoredPoint]:
    """Chunks (with `group`, whole sections) that fit a text, the best first. kind: of one
    type alone; no_type: without a type alone; under: in a section path (`1.2`) or a file
    alone. Raises StoreError and ModelError."""
    index = project.index
    encoder = await encoder_for(store, project, models, index.collection, index.encoding)
    where = await asyncio.to_thread(_where, store, index.collection, kind, no_type, under)
    if group:
        return await aquery_grouped(store, index.collection, index.companion, encoder, text, limit, where)
    return await aquery(store, index.collection, encoder, text, limit, where)


def _where(store: VectorStore, collection: str, kind: str, no_type: bool, under: str) -> Where | None:
    wanted: dict[str, str] = {"type": kind} if kind else {}
    if under:
        wanted["source" if "/" in under or not under.replace(".", "").isdigit() else "section_path"] = under
    if not (wanted or no_type):
        return None
    types = list(store.facet(collection, "type")) if no_type and store.metadata(collection) else []
    return Where(wanted, {"type": types} if types else {})


def encode_file(path: Path, project: Project, logger: LoggerBase) -> list[Chunk]:
    """The chunks of a file, as they would be indexed. Raises OSError, MarkdownError and
    ConfigError."""
    file = load_markdown(path)
    blocks = parse_markdown_text(file.text)
    found = project_of(blocks, project, in_file(logger, path))
    if found is None:
        return []
    name = project.index.encoding
    encoding = EncodingModel.BM25 if name == DEFAULT else EncodingModel(name)
    source = _source(path, project)
    return blocklist_encode(blocks, found, encoding, docid_of(path), source, logger=in_file(logger, path)).chunks


def encode_files(paths: Sequence[Path], project_for: Callable[[Path], Project], logger: LoggerBase) -> list[Chunk]:
    """The chunks of files, as they would be indexed; what cannot be read is reported."""
    found: list[Chunk] = []
    for path in paths:
        try:
            found += encode_file(path, project_for(path), logger)
        except OSError as error:
            in_file(logger, path).error(error.strerror or str(error))
        except MarkdownError as error:
            logger.error(str(error))
        except ConfigError as error:
            in_file(logger, path).error(str(error), 1)
    return found
