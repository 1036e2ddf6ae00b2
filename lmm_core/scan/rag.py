"""The RAG pass: questions and summaries for each section, summary for the whole.

Sections are worked on bottom-up: a section shows the annotator its own text and
the summaries of its subsections. What is made is written with hashes of what it
was made from, so that only what has changed is made again.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MarkdownError, MetadataBlock, Spelling
from ..markdown.metadata import DELETED
from ..markdown.ownership import digest
from ..markdown.spelling import edit_block, settle, settle_safely
from ..markdown.tree import (
    HeaderNode,
    HeadingNode,
    Node,
    TextNode,
    blocks_to_tree,
    titles_path,
    traverse,
    tree_to_blocks,
)
from ..models.annotator import Annotation, Annotator, Section
from .knit import KnitRules, out_by_itself, strip_divs
from .normalize import normalize
from .options import ScanOpts
from .owned import State, first_newline, key_state, nearest_spellings, set_values, write_keys


def scan_rag(
    blocks: Sequence[Block],
    opts: ScanOpts | None = None,
    annotator: Annotator | None = None,
    docid: str = "",
    spelling: Spelling = "div",
    rules: KnitRules | None = None,
    verbatim: bool = True,
    logger: LoggerBase | None = None,
) -> list[Block]:
    """The document with its annotations.

    annotator: the extractive stand-in where none is given. docid: for ids, where
    the header has none. spelling: of new blocks in a document that has none.
    rules: which divs are RAG-only; such material goes into no summary.
    verbatim: whether the blocks are the text itself, and not a stand-in for Pandoc's
    elements; then it is made sure that the new text has the same blocks."""
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    run = _Run(opts or ScanOpts(), annotator or _extractive(), docid, rules or KnitRules(), logger or ConsoleLogger())
    run.prepare(tree, blocks, spelling)
    run.annotate(tree)
    run.identify(tree)
    if not verbatim:
        return settle(blocks, tree_to_blocks(tree))
    try:
        return settle_safely(blocks, tree_to_blocks(tree))
    except MarkdownError as error:
        run.logger.error(f"not annotated: {error}")
        return list(blocks)


def _extractive() -> Annotator:
    from ..models.extractive import ExtractiveAnnotator

    return ExtractiveAnnotator()


@dataclass
class _Run:
    """What one run over a document needs at every section."""

    opts: ScanOpts
    annotator: Annotator
    docid: str
    rules: KnitRules
    logger: LoggerBase
    newline: str = "\n"
    spellings: dict[int, Spelling] = field(default_factory=dict)
    made: bool = False

    def prepare(self, tree: HeadingNode, blocks: Sequence[Block], spelling: Spelling) -> None:
        nodes = list(traverse(tree))
        self.newline = first_newline(blocks)
        self.spellings = dict(zip(map(id, nodes), nearest_spellings(nodes, spelling), strict=True))
        if not tree.metadata and len(nodes) > 1:
            self.spellings[id(nodes[1])] = "div"  # a native block at the very start would be the header
        if self.opts.remove_messages:
            for node in nodes:
                node.metadata = [kept for block in node.metadata if (kept := without_messages(block)) is not None]

    def write(self, node: Node, changes: dict[str, Any]) -> None:
        write_keys(node, changes, self.spellings[id(node)], self.newline, self.logger)

    def annotate(self, tree: HeadingNode) -> None:
        """All sections, each after the sections in it (and without recursion, so
        that no document is too deep)."""
        closed = closed_parts(tree)
        texts = Texts(tree, self.rules)
        for node in _sections_upward(tree):
            if id(node) not in closed:
                self.annotate_section(node, texts)
        if self.made and tree.metadata and id(tree) not in closed:
            changed = tree.properties.get("~~annotator") != self.annotator.name
            self.write(tree, {"~~annotator": self.annotator.name} if changed else {})

    def annotate_section(self, node: HeadingNode, texts: Texts) -> None:
        if isinstance(node, HeaderNode) and not node.metadata:
            return
        section = texts.section(node)
        source = source_hash(section)
        values = self.make_values(node, section, source, texts.words[id(node)])
        changes = set_values(node.properties, values, dict.fromkeys(values, source))
        self.write(node, changes)

    def make_values(self, node: HeadingNode, section: Section, source: str, words: int) -> dict[str, Any]:
        """The keys that have to be written (`DELETED`: removed) at a section."""
        values: dict[str, Any] = {}
        wanted: list[str] = []
        for key, threshold in self.keys(node):
            state = key_state(node.properties, key, source)
            if state is State.STALE:
                self.logger.info(f"~{key} was corrected by hand and its text has changed since", _line(node))
            elif words < threshold and state in (State.CURRENT, State.OUTDATED):
                values[key] = DELETED
            elif words >= threshold and state in (State.MISSING, State.OUTDATED):
                wanted.append(key)
        if self.opts.titles and not isinstance(node, HeaderNode):
            self.add_titles(node, section, values)
        if wanted:
            values |= _pick(self.annotator.annotate(section), wanted)
            self.made = self.made or any(values[key] is not None for key in wanted)
        _report_foreign(node, self.logger)
        return values

    def keys(self, node: HeadingNode) -> list[tuple[str, int]]:
        """Annotations that a section may get, and from how many words on."""
        keys = []
        if self.opts.questions and not isinstance(node, HeaderNode):
            keys.append(("questions", self.opts.questions_threshold))
        if self.opts.summaries:
            keys.append(("summary", self.opts.summary_threshold))
        return keys

    def add_titles(self, node: HeadingNode, section: Section, values: dict[str, Any]) -> None:
        path = " - ".join(section.titles)
        state = key_state(node.properties, "titles", "")
        if state in (State.MISSING, State.CURRENT, State.OUTDATED) and node.properties.get("~titles") != path:
            values["titles"] = path

    # Identities

    def identify(self, tree: HeadingNode) -> None:
        """Number text blocks and headings, as the options ask for."""
        opts = self.opts
        docid = str(tree.get("docid") or self.docid)
        counts = {"": 0, "h": 0}
        for node in traverse(tree):
            kind = "h" if isinstance(node, HeadingNode) else ""
            if isinstance(node, TextNode) and not node.content:
                continue
            counts[kind] += 1
            self.number(node, f"{docid}.{kind}{counts[kind]}", opts.headingid if kind else opts.textid,
                        opts.headingUUID if kind else opts.textUUID)  # fmt: skip

    def number(self, node: Node, ident: str, with_id: bool, with_uuid: bool) -> None:
        name = "heading" if isinstance(node, HeadingNode) else "text"
        if not (with_id or with_uuid) or (isinstance(node, HeaderNode) and not node.metadata):
            return
        values = {f"~~{name}id": ident}
        if with_uuid:
            values[f"~~{name}UUID"] = str(uuid.uuid5(uuid.NAMESPACE_URL, ident))
        self.write(node, {key: value for key, value in values.items() if node.properties.get(key) != value})


def without_messages(block: MetadataBlock) -> MetadataBlock | None:
    """The block without chat and edit keys and what was answered to them; None
    where nothing else is in it."""
    keys = {message.key for message in block.messages} | ({"~chat", "~~edit"} & set(block.content))
    return edit_block(block, dict.fromkeys(keys, DELETED)) if keys else block


def _pick(annotation: Annotation, wanted: list[str]) -> dict[str, Any]:
    """What was asked for; None where nothing is said."""
    said: dict[str, Any] = {"questions": annotation.questions, "summary": annotation.summary}
    return {key: said[key] or None for key in wanted}


def _sections_upward(tree: HeadingNode) -> list[HeadingNode]:
    nodes = [node for node in traverse(tree) if isinstance(node, HeadingNode)]
    return nodes[::-1]


def _line(node: HeadingNode) -> int:
    if node.heading is not None:
        return node.heading.line
    return node.metadata[0].line if node.metadata else 1


def closed_parts(tree: HeadingNode) -> set[int]:
    """Sections that get no annotations: under `frozen: true` or `skip: true`, the
    nearest value winning."""
    marks: dict[int, tuple[bool, bool]] = {}
    for node in traverse(tree):
        if isinstance(node, HeadingNode):
            outer = marks[id(node.parent)] if node.parent is not None else (False, False)
            marks[id(node)] = (_mark(node, "frozen", outer[0]), _mark(node, "skip", outer[1]))
    return {key for key, value in marks.items() if any(value)}


def _mark(node: Node, key: str, inherited: bool) -> bool:
    value = node.get(key)
    return value if isinstance(value, bool) else inherited


# What a section shows


@dataclass
class Material:
    """What an annotator is shown of a section: its own text (and that of subsections
    without a summary), and the summaries of the others."""

    texts: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


class Texts:
    """The texts of a document as annotators see them: without metadata and RAG-only
    divs, and without the parts under a section that are RAG-only or have `skip: true`."""

    def __init__(self, tree: HeadingNode, rules: KnitRules) -> None:
        self.shown: dict[int, str] = {}
        self.words: dict[int, int] = {}
        for node in reversed(list(traverse(tree))):
            if isinstance(node, TextNode):
                self.shown[id(node)] = strip_divs(node.content, rules).strip("\n")
                self.words[id(node)] = len(self.shown[id(node)].split())
            elif isinstance(node, HeadingNode):
                self.words[id(node)] = sum(self.words[id(child)] for child in node.children if not _unseen(child))

    def material(self, section: HeadingNode) -> Material:
        """What there is to show of a section."""
        material = Material()
        stack: list[Node] = list(reversed(section.children))
        while stack:
            node = stack.pop()
            if _unseen(node):
                continue
            if isinstance(node, TextNode):
                material.texts.extend(filter(None, [self.shown[id(node)]]))
            elif isinstance(node, HeadingNode):
                summary = node.get("summary")
                if isinstance(summary, str) and summary.strip():
                    material.summaries.append(" ".join(summary.split()))
                else:
                    stack.extend(reversed(node.children))
        return material

    def section(self, node: HeadingNode) -> Section:
        """The request for a section."""
        material = self.material(node)
        language = str(node.fetch("lang", ""))
        return Section(tuple(titles_path(node)), material.text, tuple(material.summaries), language)


def source_hash(section: Section) -> str:
    """The hash of what a request shows."""
    return digest([section.titles, normalize(section.text), section.summaries])


def _unseen(node: Node) -> bool:
    return out_by_itself(node) or _mark(node, "skip", False)


# Annotations by LM markdown itself


def _report_foreign(node: HeadingNode, logger: LoggerBase) -> None:
    """Annotations with a `~txthash` were made by LM markdown: kept, and reported
    where the text is no longer the one that they were made from."""
    known = node.properties.get("~txthash")
    if known is not None and str(known).rstrip("=") != foreign_hash(node):
        logger.info("annotations by LM markdown (~txthash) are older than the text", _line(node))


def foreign_hash(node: HeadingNode) -> str:
    """LM markdown's hash of a section: MD5, base64 without `=`, of its paragraphs
    (lines right-stripped) and the hashes of its subsections, joined by nothing."""
    parts = [foreign_hash(child) if isinstance(child, HeadingNode) else _stripped(child) for child in node.children]
    data = hashlib.md5("".join(parts).encode("utf-8"), usedforsecurity=False).digest()
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _stripped(node: Node) -> str:
    content = node.content if isinstance(node, TextNode) else ""
    return "".join(re.split(r"\n{2,}", "\n".join(line.rstrip() for line in content.split("\n"))))
