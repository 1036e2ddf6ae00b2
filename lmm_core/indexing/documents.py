"""Encode documents as chunks, and as the larger texts that contain these."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, QuartoError
from ..files.walk import name_from
from ..logging import ConsoleLogger, LoggerBase, in_file
from ..markdown.anchors import without_anchors
from ..markdown.blocks import Block, Problem, TextBlock, header_content
from ..markdown.files import MarkdownDocument, MarkdownFile, read_markdown
from ..markdown.metadata.lmm_options import report_refused
from ..markdown.parse import parse_markdown_text
from ..models.embedders.bm25 import USUAL_LANGUAGE
from ..models.embedders.embedder import Embedder
from ..models.languages.recognize import recognize_language
from ..models.languages.stemming import Stemmers, language_code
from ..models.names import DEFAULT
from ..scan.check.mistakes import report_mistakes
from ..scan.documents.conditions import visible_blocks
from ..scan.documents.document import docid_in, docid_of, project_of, reporting
from ..scan.header import report_errors
from ..settings.models import Models
from ..settings.project import Project, for_document, project_from
from ..settings.quarto_project import page_settings, quarto_language, read_project
from ..settings.tables import SplitOpts
from ..store.vector_store import ScoredPoint
from .chunks import AnnotationModel, Chunk, IndexedDocument, document_chunks, make_chunks
from .collection import GROUP
from .cutting.split import Count, ParentDocument, transform
from .encoding import (
    Encoder,
    EncodingModel,
    encoding_to_qdrantembedding_model,
    has_dense,
    make_encoder,
    texts_to_encode,
)
from .passages import SUMMARY, build_material
from .statistics import TermStatistics, count_terms

if TYPE_CHECKING:
    from ..settings.config import ConfigSettings

SAMPLE = 2000  # characters from which a language is recognized, if they are enough


@dataclass(frozen=True)
class Encoded:
    """A document ready to be stored.

    documents: the larger texts that contain the chunks
    too_long: number of chunks that exceed the embedding model's window
    statistics: see `TermStatistics.packed`; fingerprint: its file's, or "" without one"""

    docid: str
    source: str
    chunks: list[Chunk]
    documents: list[Chunk]
    too_long: int = 0
    system: str = ""
    statistics: str = ""
    fingerprint: str = ""


def language_of(blocks: Sequence[Block], usual: str) -> str:
    """Return the code of a document's language, or "". usual: for headers without one; "" to recognize it."""
    named = language_code(str(header_content(blocks).get("lang") or "")) or language_code(usual)
    if named:
        return named
    text = "\n\n".join(block.content for block in blocks if isinstance(block, TextBlock))
    return recognize_language(text[:SAMPLE]) or recognize_language(text)


def blocklist_encode(
    blocks: Sequence[Block],
    config: ConfigSettings | Project | None = None,
    logger: LoggerBase | None = None,
    *,
    encoding: EncodingModel | None = None,
    docid: str = "",
    source: str = "",
    embedder: Embedder | None = None,
) -> Encoded:
    """Return a document as it will be stored, without asking a model.

    encoding: by default the configured one, or `bm25`
    docid: used if the header has none
    source: name of its file
    embedder: counts tokens; chunks of the default sizes are made to fit its window
    Raise ConfigError for a wrong `split` in the header."""
    project, logger = project_from(config), logger or ConsoleLogger()
    encoding = encoding or _plain_encoding(project)
    header, blocks = header_content(blocks), without_anchors(blocks)
    docid = docid_in(header) or docid
    opts = _split_options_of(header, project)
    window = _window_of(embedder, encoding)
    fitted = window if _has_default_sizes(opts) else None
    opts = _default_sizes(opts, fitted) if fitted else opts
    split = transform(blocks, opts, count=window.count if window else None, logger=logger)
    language = language_of(blocks, project.embeddings.language or quarto_language(project.root))
    document = IndexedDocument(docid, source, language)
    chunks = make_chunks(split.blocks, document, encoding, _annotation_model(project), project.rules)
    if fitted:
        chunks = [chunk if fitted.holds_all(chunk.texts.dense) else _with_fewer(chunk, fitted) for chunk in chunks]
    too_long = sum(not window.holds_all(chunk.texts.dense) for chunk in chunks) if window else 0
    documents = document_chunks(split.documents, docid, source)
    chunks = _link_documents(chunks, split.documents, documents)
    statistics = count_chunk_terms(chunks, project).packed()
    return Encoded(docid, source, chunks, documents, too_long, project.system, statistics)


def count_chunk_terms(chunks: Sequence[Chunk], project: Project) -> TermStatistics:
    """Return statistics of the words in a document's chunks."""
    material = build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)
    return count_terms(material, _usual_stemmers(project.embeddings.language.strip() or USUAL_LANGUAGE))


_usual_stemmers = cache(Stemmers)


def encode_passages(
    blocks: Sequence[Block], project: Project, logger: LoggerBase, docid: str, source: str
) -> list[Chunk]:  # fmt: skip
    """Return the chunks of `blocklist_encode` alone, with anchors left in the headings."""
    header = header_content(blocks)
    split = transform(blocks, _split_options_of(header, project), logger=logger).blocks
    document = IndexedDocument(docid_in(header) or docid, source, language_of(blocks, project.embeddings.language))
    return make_chunks(split, document, _plain_encoding(project), _annotation_model(project), project.rules)


def _plain_encoding(project: Project) -> EncodingModel:
    encoding = project.embeddings.encoding
    return EncodingModel.BM25 if encoding == DEFAULT else EncodingModel(encoding)


def _split_options_of(header: Mapping[str, Any], project: Project) -> SplitOpts:
    return replace(split_options(project.split, header.get("split")), rules=project.rules)


def _annotation_model(project: Project) -> AnnotationModel:
    return AnnotationModel(project.embeddings.annotations, project.embeddings.own_annotations)


def _window_of(embedder: Embedder | None, encoding: EncodingModel) -> Window | None:
    count: Count | None = getattr(getattr(embedder, "embedder", embedder), "count", None)
    if embedder is None or count is None or not has_dense(encoding_to_qdrantembedding_model(encoding)):
        return None
    return Window(embedder.window, count, encoding)


def _link_documents(chunks: list[Chunk], texts: Sequence[ParentDocument], documents: Sequence[Chunk]) -> list[Chunk]:
    """Link each chunk to its document, and a summary to the document of the first text in its section."""
    linked = []
    starts = [text.line for text in texts]
    for chunk in chunks:
        start, end = chunk.payload["line_start"], chunk.payload["line_end"]
        if chunk.payload.get("type") == SUMMARY:
            at = bisect_left(starts, start)
            has_text = at < len(starts) and starts[at] <= end
        else:
            at = bisect_right(starts, start) - 1
            while at >= 0 and texts[at].line_end < start:  # a separate text may lie between the lines of another
                at -= 1
            has_text = at >= 0
        payload = {**chunk.payload, GROUP: documents[at].uuid} if has_text else chunk.payload
        linked.append(replace(chunk, payload=payload))
    return linked


def split_options(opts: SplitOpts, header: Any) -> SplitOpts:
    """Return the options updated from a header's `split`, which may be None. Raise ConfigError."""
    if header is None:
        return opts
    if not isinstance(header, dict):
        raise ConfigError(f"`split`: should be a mapping, not {header!r}")
    options = [field.name for field in fields(opts) if field.name != "rules"]
    if unknown := [key for key in header if key not in options]:
        raise ConfigError(f"unknown key `split.{unknown[0]}` (known: {', '.join(options)})")
    from pydantic import TypeAdapter, ValidationError

    setting = {name: getattr(opts, name) for name in options} | {"rules": opts.rules} | header
    try:
        return TypeAdapter(SplitOpts).validate_python(setting)
    except ValidationError as error:
        first = error.errors()[0]
        of_option = f"{first['loc'][0]}: {first['msg']}, not {first['input']!r:.60}" if first["loc"] else ""
        raise ConfigError(f"`split`: {of_option or first['ctx']['error']}") from None  # or of several values


# Files


def encode_document(
    file: MarkdownFile, project: Project, encoder: Encoder | None, logger: LoggerBase
) -> Encoded | None:
    """Return a file as it will be stored, or None if an error in its header was reported.

    project: with the knit rules for this file; encoder: None to encode words alone"""
    located = in_file(logger, file.path)
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    for problem in problems:
        located.warning(problem.message, problem.line)
    report_errors(blocks, located)
    report_refused(blocks, located)
    own = project_of(blocks, project, located)
    report_mistakes(blocks, (own or project).rules, located)
    if own is None:
        return None
    encoding, embedder = (encoder.encoding, encoder.embedder) if encoder is not None else (None, None)
    docid, source = docid_of(file.path), name_from(own.root, file.path)
    try:
        metadata = page_settings(file.path, header_content(blocks), read_project(own.root))
        blocks = visible_blocks(blocks, file.path, metadata, lines=True)
        return blocklist_encode(blocks, own, located, encoding=encoding, docid=docid, source=source, embedder=embedder)
    except (ConfigError, QuartoError) as error:
        located.error(str(error), 1)
        return None


def find_docid(file: MarkdownFile, project: Project) -> str | None:
    """Return the document id of a file, or None if its header is invalid."""
    header = MarkdownDocument(file).header
    try:
        split_options(for_document(project, header).split, header.get("split"))
    except ConfigError:
        return None
    return docid_in(header) or docid_of(file.path)


def encode_files(
    paths: Sequence[Path], project_for: Callable[[Path], Project], logger: LoggerBase, models: Models | None = None
) -> list[Chunk]:
    """Return the chunks of files as for a new index; unreadable files are reported. Raise ModelError and StoreError.

    models: set how long chunks may be; None to encode words alone"""
    chunks: list[Chunk] = []
    encoders: dict[Path, Encoder] = {}
    for path in paths:
        if (file := reporting(partial(read_markdown, path), logger)) is None:
            continue
        project = project_for(path)
        if models is not None and project.root not in encoders:
            encoders[project.root] = make_encoder(project, models, {}, project.embeddings.encoding)
        encoded = encode_document(file, project, encoders.get(project.root), logger)
        chunks += encoded.chunks if encoded is not None else []
    return chunks


# Fit chunks of the default sizes into an embedding model's window

SIZE = 220  # tokens of a chunk, chosen on long texts (benchmarks/retrieval.py texts)
ANNOTATIONS = 36  # tokens reserved for titles and questions
LEAST = 32  # tokens of a chunk, even if the window is smaller


@dataclass(frozen=True, slots=True)
class Window:
    """The number of tokens that an embedding model reads, and the function that counts them."""

    tokens: int
    count: Count
    encoding: EncodingModel

    def holds_all(self, texts: Sequence[str]) -> bool:
        return all(self.count(text) <= self.tokens for text in texts)


def _has_default_sizes(opts: SplitOpts) -> bool:
    default = SplitOpts()
    return all(getattr(opts, name) == getattr(default, name) for name in ("size", "max_size", "overlap", "unit"))


def _default_sizes(opts: SplitOpts, window: Window) -> SplitOpts:
    most = max(window.tokens - ANNOTATIONS, LEAST)
    return replace(opts, unit="tokens", size=min(SIZE, most), max_size=min(2 * SIZE, most))


def _with_fewer(chunk: Chunk, window: Window) -> Chunk:
    """Return a chunk without the annotations that do not fit into its dense texts; search by words uses all."""
    together = texts_to_encode(window.encoding, "", chunk.annotations).dense[-1] != ""
    room = window.tokens - (window.count(chunk.content) if together else 0)
    lines_left = _lines_within(chunk.annotations.split("\n"), room, window)
    dense = texts_to_encode(window.encoding, chunk.content, "\n".join(lines_left)).dense
    fewer = replace(chunk, texts=replace(chunk.texts, dense=dense))
    return replace(fewer, payload=chunk.payload | {"hash": fewer.hash})


def _lines_within(lines: Sequence[str], room: int, window: Window) -> Iterator[str]:
    for line in lines:
        room -= window.count(line)
        if room < 0:
            return
        yield line
