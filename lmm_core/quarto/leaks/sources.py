"""Read the sources of a site: the parts that are left out of the notes, and the texts that stay in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ...errors import MarkdownError
from ...logging import ListLogger, LoggerBase, in_file
from ...markdown.blocks import Block, MetadataBlock
from ...markdown.files import MarkdownDocument, read_markdown
from ...markdown.originals import restore_originals
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules, verdicts
from ...markdown.tree import blocks_to_tree
from ...scan.knit import knit
from ...scan.left_out import SourcePiece, find_pieces, texts_in
from ...settings.project import Project
from ...settings.quarto_project import rules_finder
from ...workflows.known.remember import key_text


@dataclass(frozen=True, slots=True)
class Secret:
    """A piece of a source that is left out of the notes. place: its number among the source's pieces."""

    source: Path
    piece: SourcePiece
    pieces: Sequence[SourcePiece] = field(repr=False)
    place: int = 0

    @property
    def text(self) -> str:
        return self.piece.text


@dataclass
class Document:
    """A document that was read, and the rules that hold for it. data: its text as bytes."""

    path: Path
    text: str
    data: bytes
    rules: KnitRules

    @cached_property
    def blocks(self) -> list[Block]:
        return parse_markdown_text(self.text)

    @cached_property
    def pieces(self) -> list[SourcePiece]:
        return [*find_pieces(self.blocks, self.rules)]

    def secrets(self, is_hidden: bool) -> list[Secret]:
        """Return what is left out; everything if the document itself is hidden."""
        pieces = [replace(piece, is_out=True) for piece in self.pieces] if is_hidden else self.pieces
        return [Secret(self.path, piece, pieces, at) for at, piece in enumerate(pieces) if piece.is_out]


def read_documents(
    paths: Iterable[Path], read: Iterable[MarkdownDocument], project: Project, logger: LoggerBase
) -> Iterator[Document]:
    """Yield the documents that are not empty. read: those that need not be read. Files that cannot be read are
    reported."""
    known = {one.file.path: one for one in read}
    rules = rules_finder(project.rules)
    for path in paths:
        try:
            document = known.get(path) or MarkdownDocument(read_markdown(path))
        except OSError as error:
            in_file(logger, path).error(error.strerror or str(error))
        except MarkdownError as error:
            logger.error(str(error))
        else:
            if document.file.text:
                yield Document(path, document.file.text, key_text(document), rules(path, document.header))


def project_texts(project: Project) -> list[str]:
    """Return the texts of the project's `_quarto.yml` files: the site's title and the like."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.y*ml*"))]


def stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield the texts of a document that knitting leaves in."""
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from texts_in(block.content)
        else:
            yield block.source


def annotation_texts(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield the questions and summaries of what stays in."""
    tree = blocks_to_tree(restore_originals(blocks).blocks)
    if tree is None:
        return
    document = [] if tree.get("knit") is False else [tree]
    for node in [*document, *(node for node, is_out in verdicts(tree, rules) if not is_out)]:
        for key in ("questions", "summary"):
            yield from texts_in(node.get(key))
