"""Sources: the parts of documents that are left out of the notes, and what stays in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import MarkdownError
from ...logging import ListLogger, LoggerBase, in_file
from ...markdown.blocks import Block, MetadataBlock, header_content
from ...markdown.files import load_markdown
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules
from ...scan.knit import knit
from ...scan.left_out import SourcePiece, find_pieces, strings
from ...settings.project import Project
from ...settings.quarto_inputs import named_in
from ...settings.quarto_project import page_rules

_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


@dataclass(frozen=True, slots=True)
class Secret:
    """A piece of a source that is left out; `place` is its number among the source's pieces."""

    source: Path
    piece: SourcePiece
    pieces: Sequence[SourcePiece] = field(repr=False)
    place: int = 0

    @property
    def text(self) -> str:
        return self.piece.text


@dataclass(slots=True)
class Sources:
    """What is left out of some documents, and what stays in, by document; `names` are those that
    the notes use themselves, of headings and in references."""

    secrets: list[Secret] = field(default_factory=list)
    kept: list[list[str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def read_sources(sources: Sequence[Path], also_shown: Sequence[Path], project: Project, logger: LoggerBase) -> Sources:
    """The parts of the sources that are left out, and what these and others show. A file that is
    only included in parts that are left out is left out as a whole. What cannot be read is
    reported."""
    found = Sources(kept=[_project_texts(project)])
    loaded = [(path, blocks) for path in dict.fromkeys([*sources, *also_shown]) if (blocks := _load(path, logger))]
    hidden = _included_out(loaded, project)
    for path, blocks in loaded:
        rules = page_rules(path, header_content(blocks), project.rules)
        pieces = [*find_pieces(blocks, rules)]
        if path.resolve() in hidden:
            pieces = [SourcePiece(one.line, one.text, True, one.is_metadata, one.slug) for one in pieces]
        if path in sources:
            found.secrets += [Secret(path, one, pieces, at) for at, one in enumerate(pieces) if one.is_out]
        if path.resolve() not in hidden:
            found.kept.append([*stays_in(blocks, rules)])
            found.names |= {one.slug for one in pieces if one.slug and not one.is_out}
            found.names |= {name for text in found.kept[-1] for name in _NAMES.findall(text)}
    return found


def _load(path: Path, logger: LoggerBase) -> list[Block]:
    try:
        return parse_markdown_text(load_markdown(path).text)
    except OSError as error:
        in_file(logger, path).error(error.strerror or str(error))
    except MarkdownError as error:
        logger.error(str(error))
    return []


def _included_out(loaded: Sequence[tuple[Path, list[Block]]], project: Project) -> set[Path]:
    """The files that are included in parts that are left out, and nowhere else."""
    shown: set[Path] = set()
    hidden: set[Path] = set()
    for path, blocks in loaded:
        if not any("{{<" in block.source for block in blocks):
            continue
        rules = page_rules(path, header_content(blocks), project.rules)
        for piece in find_pieces(blocks, rules):
            found = {inner.resolve() for inner in named_in(piece.text, path, project.root)}
            hidden |= found if piece.is_out else set()
            shown |= set() if piece.is_out else found
    return hidden - shown


def _project_texts(project: Project) -> list[str]:
    """The writer's words for the whole site: titles and the like."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.y*ml*"))]


def stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """The texts of a document that knitting leaves in."""
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from strings(block.content)
        else:
            yield block.source
