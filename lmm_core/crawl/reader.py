"""Read any folder of markdown: walk its files, except those that git would ignore, and cut them into windows.

Windows have 64 to 320 tokens, with headings and the end of the previous window. Cuts are at headings unless a window
gets too short; long sections, and annotations, are treated as in prepared notes."""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CrawlError
from ..files.gitignore import Ignored, read_rules, rules_above
from ..files.recovery import torn_problem
from ..files.walk import SUFFIXES, UNMERGED, Choice, Link, Skipped, WalkedFile, because, name_problem, shown_name, walk
from ..indexing.chunks import AnnotationModel, Chunk, IndexedDocument, make_chunks
from ..indexing.cutting.pieces import cut_text
from ..indexing.cutting.split import BlocksText
from ..indexing.cutting.units import ChunkLimits
from ..indexing.documents import Encoded, count_chunk_terms, language_of
from ..indexing.encoding import VERSION, Encoder, EncodingModel
from ..logging import LoggerBase
from ..markdown.anchors import without_anchors
from ..markdown.blocks import Block, ErrorBlock, HeadingBlock, blank
from ..markdown.edits import restore_originals
from ..markdown.files import MarkdownFile
from ..markdown.parse import parse_markdown_text
from ..markdown.tree import HeadingNode, TextNode, blocks_to_tree, traverse
from ..markdown.visibility import KnitRules, is_indexed
from ..models.tokens import count_tokens
from ..scan.rag_parts import without_metadata
from ..settings.project import Project
from ..settings.quarto_project import quarto_language

MIB = 2**20
LARGE, LARGEST = MIB, 10 * MIB  # bytes: thresholds for advice to split, and for skipping
NEVER = frozenset({".git", ".md_index"})
# Skipped without any .gitignore: tools' output and hidden folders
MADE_BY_TOOLS = (
    ".*/", "_build/", "build/", "dist/", "target/", "_site/", "_book/", "_freeze/", "node_modules/",
    "bower_components/", "venv/", "renv/", "site-packages/", "__pycache__/", "*.egg-info/",
)  # fmt: skip


# Walking


def crawl(root: Path, ignore: Sequence[str] = (), without: Sequence[Path] = ()) -> Iterator[WalkedFile | Skipped]:
    """Yield the markdown files under a folder, subfolders last. Raise CrawlError if the root is unreadable.

    Respects .gitignore files, also above the root; without any, skips hidden folders and those made by tools. Links are
    not followed. ignore: further patterns as in `.gitignore`; without: folders not entered."""
    if not root.is_dir():
        raise CrawlError(f"{root}: no such folder")
    try:
        root = root.resolve()
        ignored = Ignored(tuple(rules_above(root)), read_rules(MADE_BY_TOOLS), read_rules(ignore))
        os.scandir(root).close()
    except OSError as error:
        raise CrawlError(f"{root}: {because(error)}") from None
    left_out = frozenset(map(os.path.realpath, without))
    for entry in walk(root, Choice(_is_document, lambda name: name not in NEVER, ignored, left_out)):
        if isinstance(entry, Link):
            yield Skipped(entry.name, entry.where_to() if entry.leads_nowhere else f"{entry.where_to()}: not followed")
        elif isinstance(entry, WalkedFile) and (problem := name_problem(entry.name)):
            yield Skipped(shown_name(entry.name), problem)
        else:
            yield entry


def _is_document(name: str) -> bool:
    """Return True for a document's name; one like `a.lmm-unmerged.md` holds unmerged text."""
    return name.lower().endswith(SUFFIXES) and not name.lower().endswith(UNMERGED)


# Reading


def read(document: WalkedFile) -> str | Skipped:
    """Return a file's text without a byte-order mark, or why it is skipped: unreadable, not UTF-8, empty, too large."""
    try:
        with document.path.open("rb") as file:
            data = file.read(LARGEST + 1)
        torn = torn_problem(document.path, data)
    except OSError as error:
        return Skipped(document.name, because(error))
    if torn:
        return Skipped(document.name, torn, torn=True)
    if len(data) > LARGEST:
        size = f"{document.path.stat().st_size / MIB:.1f} MiB"
        return Skipped(document.name, f"the file has {size}, and at most {LARGEST // MIB} are read: split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"line {line} is not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        return Skipped(document.name, problem)
    return text if text.strip() else Skipped(document.name, "empty")


# Windows

WINDOWS = 3  # increase when the same text gives other windows
LEAST, MOST = 64, 320  # tokens of a window; only a shorter text has fewer
SIZE = 240  # target in tokens for cut sections
OVERLAP = SIZE // 5
ANNOTATIONS = AnnotationModel(("titles", "questions"), ("questions", "summary"))


def cut_windows(text: str, docid: str, source: str, encoding: EncodingModel, language: str = "") -> list[Chunk]:
    """Return a text's windows and annotated summaries. language: if the header names none; "" to recognize it."""
    blocks = without_anchors(parse_markdown_text(text))
    windows = [*_windows(restore_originals(blocks).blocks, ChunkLimits(SIZE, MOST, count_tokens, LEAST))]
    document = IndexedDocument(docid, source, language_of(blocks, language))
    return make_chunks(windows, document, encoding, ANNOTATIONS, KnitRules(frozenset()))


def _windows(blocks: Sequence[Block], limits: ChunkLimits) -> Iterator[Block]:
    """Yield a document's windows, each after its metadata and first heading, and before its other headings."""
    parts = list(_parts(blocks))
    yield from (block for metadata, text in parts if text is None for block in metadata)
    texts = [(metadata, text) for metadata, text in parts if text is not None]
    if not texts:
        return
    source = BlocksText([text for _, text in texts])
    for piece in cut_text(source.text, source.starts, limits, OVERLAP):
        own = texts[bisect_left(source.starts, piece.start) : bisect_left(source.starts, piece.end)]
        first = own[: piece.start in source.starts]
        under = first if first and isinstance(first[0][1], HeadingBlock) else []
        others = own[len(under) :]
        yield from _headings(under)
        yield from (block for metadata, _ in others for block in metadata)
        yield source.chunk(piece._replace(start=piece.overlap))
        yield from _headings(others)


def _headings(parts: Sequence[tuple[Sequence[Block], Block]]) -> Iterator[Block]:
    for metadata, block in parts:
        if isinstance(block, HeadingBlock):
            yield from metadata
            yield block


def _parts(blocks: Sequence[Block]) -> Iterator[tuple[Sequence[Block], Block | None]]:
    for node in traverse(blocks_to_tree(blocks)):
        if not is_indexed(node):
            continue
        if isinstance(node, HeadingNode):
            yield node.metadata, node.heading
        elif isinstance(node, TextNode) and node.block is not None and not isinstance(node.block, ErrorBlock):
            text = without_metadata(node.block)
            if not blank(text.content):
                yield node.metadata, text


@dataclass
class WindowReader:
    """A reader that cuts any markdown into windows. name: the index's."""

    name: str
    root: Path
    project: Project

    def __post_init__(self) -> None:
        self.language = self.project.embeddings.language or quarto_language(self.project.root)

    def fingerprint(self, file: MarkdownFile, encoder: Encoder) -> str:
        """Return a hash of a file's text and all settings of its windows."""
        settings = json.dumps([VERSION, WINDOWS, self.language, encoder.identity()])
        return hashlib.blake2b(f"{settings}\0{file.text}".encode("utf-8", "replace"), digest_size=16).hexdigest()

    def docid(self, file: MarkdownFile) -> str:
        return f"{self.name}/{file.path.relative_to(self.root).as_posix()}"

    def encode(self, file: MarkdownFile, encoder: Encoder, logger: LoggerBase) -> Encoded:
        source, docid = file.path.relative_to(self.root).as_posix(), self.docid(file)
        assert encoder.encoding is not None
        chunks = cut_windows(file.text, docid, source, encoder.encoding, self.language)
        return Encoded(docid, source, chunks, [], statistics=count_chunk_terms(chunks, self.project).packed())
