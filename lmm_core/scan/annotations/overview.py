"""List the sections of a document, and their missing annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...markdown.blocks import HeaderBlock
from ...markdown.metadata.keys import hash_pair
from ...markdown.tree import HeaderNode, HeadingNode, Node
from ...markdown.visibility import KnitRules, types_of
from ...settings.tables import ScanOpts
from ..check.document import CheckedDocument
from ..check.finding import Finding
from ..system_keys import State, key_state
from .sections import SectionTexts, annotated_parts, closed_parts, div_title, source_hash, wanted_keys


@dataclass(slots=True)
class SectionOverview:
    """A section in an overview.

    missing, outdated, stale: keys of annotations that do not exist, come from an earlier text, or were corrected
    before the text changed"""

    line: int
    level: int
    title: str
    words: int
    types: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Overview:
    """A document's overview. missing: keys that its header lacks"""

    title: str
    docid: str
    words: int
    sections: list[SectionOverview]
    missing: list[str]
    findings: list[Finding]


def overview(document: CheckedDocument, findings: Sequence[Finding], opts: ScanOpts) -> Overview:
    """Return an overview of a document and its findings."""
    tree, problems = document.tree, list(findings)
    if tree is None:
        return Overview("", "", 0, [], [], problems)
    parts = annotated_parts(tree)
    closed = closed_parts(parts)
    nodes = [node for node in parts if not isinstance(node, HeaderNode)]
    texts = SectionTexts(tree, KnitRules())
    sections = [_section(node, opts, texts, closed) for node in nodes]
    words = sum(texts.own_words.values())
    missing = [key for key in ("title", "docid") if tree.get(key) is None]
    missing += _section(tree, opts, texts, closed).missing
    has_header = isinstance(document.blocks[0], HeaderBlock)
    return Overview(
        tree.written_title,
        str(tree.get("docid") or ""),
        words,
        sections,
        missing if has_header else ["header"],
        problems,
    )


def _section(node: Node, opts: ScanOpts, texts: SectionTexts, closed: set[int]) -> SectionOverview:
    own = texts.own_words.get(id(node), texts.words.get(id(node), 0))
    level = node.level if isinstance(node, HeadingNode) else node.ancestors[-1].level + 1
    section = SectionOverview(node.line, level, div_title(node) or node.content, own, types_of(node.get("type")))
    part = texts.only_part(node)
    if id(node) in closed or (part is not None and id(part) not in closed):  # reported for the part
        return section
    has_hashes = node.metadata and any(hash_pair(node.properties, key) for key in ("questions", "summary"))
    source = source_hash(texts.section(node)) if has_hashes else ""
    lists = {State.MISSING: section.missing, State.OUTDATED: section.outdated, State.STALE: section.stale}
    for key, threshold in wanted_keys(node, opts):
        state = key_state(node.properties, key, source)
        if state in lists and (texts.words[id(node)] >= threshold or state is not State.MISSING):
            lists[state].append(key)
    return section
