"""Read the sources of a site: the parts that are left out, and the texts that are published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...errors import MarkdownError
from ...logging import ListLogger, LoggerBase, in_file
from ...markdown.blocks import Block, MetadataBlock
from ...markdown.edits import restore_originals
from ...markdown.files import MarkdownDocument, read_markdown
from ...markdown.regions import split_fences
from ...markdown.tree import blocks_to_tree
from ...markdown.visibility import KnitRules, in_notes, verdicts
from ...scan.knit import knit
from ...scan.left_out import SourcePiece, find_pieces, texts_in
from ...settings.project import Project
from ...settings.quarto_inputs import INCLUDE, named_in
from ...settings.quarto_project import page_rules


@dataclass(frozen=True, slots=True)
class Secret:
    """A piece of a source that is left out of the notes.

    pieces: all pieces of the source
    place: its index among them"""

    source: Path
    piece: SourcePiece
    pieces: Sequence[SourcePiece] = field(repr=False)
    place: int = 0

    @property
    def text(self) -> str:
        return self.piece.text


@dataclass
class SourceDocument:
    """A document with its rules. is_hidden: True if only parts that are left out include it"""

    path: Path
    text: str
    blocks: Sequence[Block]
    rules: KnitRules
    is_hidden: bool = False

    @cached_property
    def pieces(self) -> list[SourcePiece]:
        return [*find_pieces(self.blocks, self.rules)]

    def secrets(self) -> list[Secret]:
        """Return the pieces that are left out: of a hidden document, all."""
        pieces = [piece._replace(is_out=True) for piece in self.pieces] if self.is_hidden else self.pieces
        return [Secret(self.path, piece, pieces, at) for at, piece in enumerate(pieces) if piece.is_out]

    def names(self) -> list[str]:
        """Return the names of published headings."""
        return [] if self.is_hidden else [piece.slug for piece in self.pieces if piece.is_heading and not piece.is_out]


@dataclass(frozen=True)
class SiteSources:
    """The documents of a site.

    checked: documents whose hidden parts may not be on it
    published: others, which may contain the same words
    in_memory: documents that need not be read again"""

    checked: Sequence[Path]
    published: Sequence[Path] = ()
    in_memory: Iterable[MarkdownDocument] = ()


def read_documents(sources: SiteSources, project: Project, logger: LoggerBase) -> list[SourceDocument]:
    """Return the documents that are not empty, and report files that cannot be read."""
    by_path = {document.file.path: document for document in sources.in_memory}
    documents: list[SourceDocument] = []
    for path in dict.fromkeys([*sources.checked, *sources.published]):
        try:
            document = by_path.get(path) or MarkdownDocument(read_markdown(path))
        except OSError as error:
            in_file(logger, path).error(error.strerror or str(error))
        except MarkdownError as error:
            logger.error(str(error))
        else:
            if document.file.text:
                rules_here = page_rules(path, document.header, project.rules)
                documents.append(SourceDocument(path, document.file.text, document.blocks, rules_here))
    _hide_included(documents, project)
    return documents


def _hide_included(documents: Sequence[SourceDocument], project: Project) -> None:
    elsewhere: set[Path] = set()
    hidden: set[Path] = set()
    for document in documents:
        for piece in document.pieces if "{{<" in document.text else ():
            codes = " ".join(include[0] for include in INCLUDE.finditer(piece.text))
            places = {inner.resolve() for inner in named_in(codes, document.path, project.root)} if codes else set()
            (hidden if piece.is_out else elsewhere).update(places)
    for document in documents if hidden - elsewhere else ():
        document.is_hidden = document.path.resolve() in hidden - elsewhere


def project_texts(project: Project) -> list[str]:
    """Return the texts of `_quarto.yml` files, such as the site's title."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.y*ml*"))]


def stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield the texts that knitting leaves in."""
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from texts_in(block.content)
        else:
            yield block.source


def annotation_texts(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield questions and summaries of published parts."""
    tree = blocks_to_tree(restore_originals(blocks).blocks)
    if tree is None:
        return
    document = [] if in_notes(tree, rules, is_header=True) is False else [tree]
    for node in [*document, *(node for node, is_out in verdicts(tree, rules) if not is_out)]:
        for key in ("questions", "summary"):
            yield from texts_in(node.get(key))


# Texts that look like solutions, and may have been forgotten

_WORDS = (
    r"(?:model |sample |muster)?(?:solutions?|answers?|answer key|lösung(?:en)?|antwort(?:en)?|corrigés?|réponses?|"
    r"solución|soluciones|respuestas?|soluzion[ei]|rispost[ae])"
)
_NUMBERED = r"[ \t]*(?:\d[\w.]*)?[ \t]*[:.]?[ \t]*"
_SOLUTION = re.compile(
    rf"^#+[ \t]+(?:\d[\d.]*[ \t]+)?{_WORDS}(?:[ \t]+(?:to|for|zu|zur|der|de|di)\b[^\n]*)?{_NUMBERED}"
    rf"(?:\{{[^\n]*\}})?[ \t]*$"
    rf"|^[ \t]*:{{3,}}[ \t]*(?:\{{[^}}\n]*\.)?(?:{_WORDS}|instructor)\b"
    rf"|<summary[^<>]*>[^\n]{{0,80}}?\b{_WORDS}\b",
    re.I | re.M,
)


def find_solutions(text: str) -> Iterator[int]:
    """Yield lines of headings, divs and summaries that begin a solution."""
    line = 1
    for is_code, piece in split_fences(text) if _SOLUTION.search(text) else ():
        for solution in () if is_code else _SOLUTION.finditer(piece):
            yield line + piece.count("\n", 0, solution.start())
        line += piece.count("\n")
