"""Sections as annotators see them: their own texts, the summaries of what is under
them, and the hash of both."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...markdown.metadata.ownership import digest
from ...markdown.rag_only import KnitRules, out_by_itself
from ...markdown.tree import HeadingNode, Node, TextNode, titles_path, traverse
from ...models.annotators.annotator import AnnotatorSection
from ..knit import strip_divs
from .normal_form import normalize


@dataclass
class SectionContent:
    """What an annotator is shown of a section: its own text (and that of subsections
    without a summary), and the summaries of the others."""

    texts: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


class SectionTexts:
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

    def material(self, section: HeadingNode) -> SectionContent:
        """What there is to show of a section."""
        material = SectionContent()
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

    def section(self, node: HeadingNode) -> AnnotatorSection:
        """The request for a section."""
        material = self.material(node)
        language = str(node.fetch("lang", ""))
        return AnnotatorSection(tuple(titles_path(node)), material.text, tuple(material.summaries), language)


def source_hash(section: AnnotatorSection) -> str:
    """The hash of what a request shows."""
    return digest([section.titles, normalize(section.text), section.summaries])


def _unseen(node: Node) -> bool:
    return out_by_itself(node) or _mark(node, "skip", False)


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
