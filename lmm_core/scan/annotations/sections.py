"""Sections as annotators see them: their own texts, the summaries of their subsections, and the hash of both."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...markdown.metadata.ownership import digest
from ...markdown.regions import split_fences
from ...markdown.tree import HeadingNode, Node, TextNode, sections, titles_path
from ...markdown.visibility import KnitRules, is_hidden, types_of
from ...models.annotators.annotator import AnnotatorSection
from ...models.languages.words import count_words
from ..knit import strip_divs


@dataclass
class SectionContent:
    """The content of a section for an annotator: its own text (with that of subsections without a
    summary), and the summaries of the other subsections."""

    texts: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All texts, as paragraphs."""
        return "\n\n".join(self.texts)


class SectionTexts:
    """The texts of a document as annotators see them.

    Metadata and RAG-only divs are left out, as are subsections that are RAG-only or have `skip:
    true`.
    """

    def __init__(self, tree: HeadingNode, rules: KnitRules) -> None:
        self.node_texts: dict[int, str] = {}
        self.words: dict[int, int] = {}
        self.own_words: dict[int, int] = {}  # of the texts of a section, with what is left out of them
        self.with_own_text: set[int] = set()  # the sections with a text that is not left out
        for section in sections(tree, post=True):
            own = words = 0
            for child in section.children:
                if isinstance(child, TextNode):
                    own += self._add_text(child, rules)
                if not is_hidden(child):
                    words += self.words[id(child)]
                    if isinstance(child, TextNode) and self.node_texts[id(child)]:
                        self.with_own_text.add(id(section))
            self.own_words[id(section)], self.words[id(section)] = own, words

    def _add_text(self, node: TextNode, rules: KnitRules) -> int:
        """Take in a text, and return the number of its words with those that are left out of it."""
        content = node.content
        text = strip_divs(content, rules)
        self.node_texts[id(node)] = text.strip("\n")
        words = self.words[id(node)] = count_words(text)
        return words if text is content else count_words(content)

    def content(self, section: HeadingNode) -> SectionContent:
        """Return the content of a section."""
        content = SectionContent()
        stack: list[Node] = list(reversed(section.children))
        while stack:
            node = stack.pop()
            if is_hidden(node):
                continue
            if isinstance(node, TextNode):
                content.texts.extend(filter(None, [self.node_texts[id(node)]]))
            elif isinstance(node, HeadingNode):
                summary = node.get("summary")
                if isinstance(summary, str) and summary.strip():
                    content.summaries.append(" ".join(summary.split()))
                else:
                    stack.extend(reversed(node.children))
        return content

    def section(self, node: HeadingNode) -> AnnotatorSection:
        """Return a section as a model is asked about it."""
        content = self.content(node)
        return replace(self.own_section(node), text=content.text, summaries=tuple(content.summaries))

    def own_section(self, node: HeadingNode) -> AnnotatorSection:
        """Return a section as the stand-in sees it: it reads the section's own text alone."""
        language, types = str(node.fetch("lang", "")), tuple(types_of(node.get("type")))
        lead = "\n\n".join(self._own_texts(node))
        return AnnotatorSection(tuple(titles_path(node)), "", (), language, lead, types)

    def only_part(self, section: HeadingNode) -> HeadingNode | None:
        """Return the subsection that is all there is of a section, or None.

        What is to be said of both is said of the subsection."""
        if id(section) in self.with_own_text:
            return None
        parts = [part for part in section.sections if not is_hidden(part)]
        return parts[0] if len(parts) == 1 else None

    def _own_texts(self, section: HeadingNode) -> list[str]:
        shown = (node for node in section.texts if not is_hidden(node))
        return [text for node in shown if (text := self.node_texts[id(node)])]


def normalize(text: str) -> str:
    """Return a text with LF as line ends and white space in prose collapsed to single blanks, so that a hash of it
    does not change when lines are wrapped anew.

    Blank lines stay as paragraph breaks; fenced and indented code stays exact."""
    parts = split_fences(text.replace("\r\n", "\n"))
    normal = [part.rstrip("\n") if code else _normal_prose(part) for code, part in parts]
    return "\n\n".join(part for part in normal if part)


def _normal_prose(text: str) -> str:
    paragraphs = (part.rstrip() if _is_code(part) else " ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(part for part in paragraphs if part.strip())


def _is_code(paragraph: str) -> bool:
    return paragraph.lstrip("\n").startswith(("    ", "\t"))


def source_hash(section: AnnotatorSection) -> str:
    """Return the hash of the text that a request shows."""
    return digest([section.titles, normalize(section.text), section.summaries])


def nearest_summary(parts: Iterable[Node]) -> str:
    """Return the summary of the first of some sections that has one in its metadata, or ""."""
    found = (part.get("summary") for part in parts)
    return next((said.strip() for said in found if isinstance(said, str) and said.strip()), "")


def closed_parts(tree: HeadingNode) -> set[int]:
    """Return the `id`s of the sections that get no annotations: those under `frozen: true` or
    `skip: true`, the nearest value winning."""
    return flagged_parts(tree, "frozen") | flagged_parts(tree, "skip")


def flagged_parts(tree: HeadingNode, key: str) -> set[int]:
    """Return the `id`s of the sections under `key: true`, the nearest value winning."""
    flagged: set[int] = set()
    for node in sections(tree):
        value = node.get(key)
        if value if isinstance(value, bool) else id(node.parent) in flagged:
            flagged.add(id(node))
    return flagged
