"""Read from the sources of a site what is left out of the notes, and what stays in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import MarkdownError
from ...logging import ListLogger, LoggerBase, in_file
from ...markdown.blocks import Block, MetadataBlock, header_content
from ...markdown.files import read_markdown
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules
from ...scan.knit import knit
from ...scan.left_out import SourcePiece, find_pieces, texts_in
from ...settings.project import Project
from ...settings.quarto_inputs import named_in
from ...settings.quarto_project import page_rules

_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


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


@dataclass(slots=True)
class Sources:
    """The secrets of some documents, and the texts that stay in, by document. names: the names of
    headings and references that the notes use themselves; hidden: files of which nothing stays in,
    since only parts that are left out include them; documents: what was read, published ones too."""

    secrets: list[Secret] = field(default_factory=list)
    kept: list[list[str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    hidden: set[Path] = field(default_factory=set)
    documents: Sequence[Document] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read: its blocks, the rules that hold for it, and its pieces."""

    path: Path
    blocks: list[Block]
    rules: KnitRules
    pieces: list[SourcePiece]


def read_sources(sources: Sequence[Path], published: Sequence[Path], project: Project, logger: LoggerBase) -> Sources:
    """Return what is left out of the sources, and what stays in of these and of other published
    documents. A file that is included only in parts that are left out is left out as a whole. Files
    that cannot be read are reported."""
    found = Sources(kept=[_project_texts(project)])
    paths, own = dict.fromkeys([*sources, *published]), set(sources)
    found.documents = [_read(path, blocks, project) for path in paths if (blocks := _load(path, logger))]
    found.hidden = _included_out(found.documents, project)
    for one in found.documents:
        pieces = one.pieces
        if one.path.resolve() in found.hidden:
            pieces = [replace(piece, is_out=True) for piece in pieces]
        else:
            found.kept.append([*stays_in(one.blocks, one.rules)])
            found.names |= {piece.slug for piece in pieces if piece.slug and not piece.is_out}
            found.names |= {name for text in found.kept[-1] for name in _NAMES.findall(text)}
        if one.path in own:
            found.secrets += [Secret(one.path, piece, pieces, at) for at, piece in enumerate(pieces) if piece.is_out]
    return found


def _load(path: Path, logger: LoggerBase) -> list[Block]:
    try:
        return parse_markdown_text(read_markdown(path).text)
    except OSError as error:
        in_file(logger, path).error(error.strerror or str(error))
    except MarkdownError as error:
        logger.error(str(error))
    return []


def _read(path: Path, blocks: list[Block], project: Project) -> Document:
    rules = page_rules(path, header_content(blocks), project.rules)
    return Document(path, blocks, rules, [*find_pieces(blocks, rules)])


def _included_out(documents: Sequence[Document], project: Project) -> set[Path]:
    """Return the files that are included in parts that are left out, and nowhere else."""
    elsewhere: set[Path] = set()
    hidden: set[Path] = set()
    for one in documents:
        if not any("{{<" in block.source for block in one.blocks):
            continue
        for piece in one.pieces:
            found = {inner.resolve() for inner in named_in(piece.text, one.path, project.root)}
            (hidden if piece.is_out else elsewhere).update(found)
    return hidden - elsewhere


def _project_texts(project: Project) -> list[str]:
    """Return the texts of the project's `_quarto.yml` files: the site's title and the like."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.y*ml*"))]


def stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield the texts of a document that knitting leaves in."""
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from texts_in(block.content)
        else:
            yield block.source
