"""Sections for annotators: own texts, subsections' summaries, hashes.

A fenced div with a heading (as in Carpentries lessons) gets questions, but remains part of its section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...markdown.blocks import parse_attributes, split_heading
from ...markdown.metadata.keys import digest
from ...markdown.regions import DIV_OPEN, Regions, split_fences, without_comments
from ...markdown.tree import HeaderNode, HeadingNode, Node, TextNode, sections, titles_path, traverse, traverse_post
from ...markdown.visibility import KnitRules, is_hidden, types_of
from ...models.annotators.annotator import AnnotatorSection
from ...models.languages.words import count_words
from ...settings.tables import ScanOpts
from ..knit import strip_divs

_HEADING_BELOW = re.compile(r"\n(?:[ \t]*\r?\n)*(#{1,6}[ \t][^\n]*)")


def annotated_parts(tree: HeadingNode, post: bool = False) -> list[Node]:
    """Return document, sections and titled divs, outer ones first (last with `post`)."""
    nodes = traverse_post(tree) if post else traverse(tree)
    return [node for node in nodes if isinstance(node, HeadingNode) or div_title(node)]


def div_title(node: Node) -> str:
    """Return the heading at the start of a text that is one fenced div, or ""."""
    if not isinstance(node, TextNode) or node.block is None or ":::" not in node.block.source:
        return ""
    text = node.content
    opening = DIV_OPEN.match(text)
    heading = _HEADING_BELOW.match(text, opening.end()) if opening else None
    if opening is None or heading is None or "panel-tabset" in parse_attributes(opening["attributes"]).classes:
        return ""
    return split_heading(heading[1])[0] if Regions(text).div_end(0) == len(text) else ""


def wanted_keys(node: Node, opts: ScanOpts) -> list[tuple[str, int]]:
    """Return the possible annotations of a part, each with its minimum number of words."""
    keys = []
    if opts.questions and not (isinstance(node, HeaderNode) and node.sections):
        keys.append(("questions", opts.questions_threshold))
    if opts.summaries and isinstance(node, HeadingNode):
        keys.append(("summary", opts.summary_threshold))
    return keys


class SectionTexts:
    """The texts of a document without metadata, comments, RAG-only and skipped parts."""

    def __init__(self, tree: HeadingNode, rules: KnitRules) -> None:
        self.node_texts: dict[int, str] = {}
        self.words: dict[int, int] = {}
        self.own_words: dict[int, int] = {}  # removed parts included
        self.with_own_text: set[int] = set()  # sections with a visible text
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
        content = node.content
        text = without_comments(strip_divs(content, rules))
        self.node_texts[id(node)] = text.strip("\n")
        words = self.words[id(node)] = count_words(text)
        return words if text is content else count_words(content)

    def _content(self, part: Node) -> tuple[list[str], list[str]]:
        """Return a part's own texts, and its subsections' summaries (or their texts)."""
        if not isinstance(part, HeadingNode):
            return [self._text_inside(part)], []
        texts: list[str] = []
        summaries: list[str] = []
        stack: list[Node] = list(reversed(part.children))
        while stack:
            node = stack.pop()
            if is_hidden(node):
                continue
            if isinstance(node, TextNode):
                texts.extend(filter(None, [self.node_texts[id(node)]]))
            elif isinstance(node, HeadingNode):
                summary = node.get("summary")
                if isinstance(summary, str) and summary.strip():
                    summaries.append(" ".join(summary.split()))
                else:
                    stack.extend(reversed(node.children))
        return texts, summaries

    def _text_inside(self, div: Node) -> str:
        text = self.node_texts[id(div)]
        opening = DIV_OPEN.match(text)
        heading = _HEADING_BELOW.match(text, opening.end()) if opening else None
        return text[heading.end() : text.rfind("\n") + 1].strip("\r\n") if heading else ""

    def section(self, node: Node) -> AnnotatorSection:
        """Return a section for an annotator. The stand-in reads its `lead` alone."""
        texts, summaries = self._content(node)
        language, types = str(node.fetch("lang", "")), tuple(types_of(node.get("type")))
        titles = [*titles_path(node), *filter(None, [div_title(node)])]
        lead = "\n\n".join(self._own_texts(node)) if isinstance(node, HeadingNode) else self._text_inside(node)
        return AnnotatorSection(tuple(titles), "\n\n".join(texts), tuple(summaries), language, lead, types)

    def only_part(self, section: Node) -> HeadingNode | None:
        """Return the only subsection of a section without own text, else None."""
        if not isinstance(section, HeadingNode) or id(section) in self.with_own_text:
            return None
        parts = [part for part in section.sections if not is_hidden(part)]
        return parts[0] if len(parts) == 1 else None

    def _own_texts(self, section: HeadingNode) -> list[str]:
        visible = (node for node in section.texts if not is_hidden(node))
        return [text for node in visible if (text := self.node_texts[id(node)])]


def normalize(text: str) -> str:
    """Return a text with LF and single spaces outside of code, so that rewrapping keeps its hash."""
    parts = split_fences(text.replace("\r\n", "\n"))
    normal = [part.rstrip("\n") if code else _normal_prose(part) for code, part in parts]
    return "\n\n".join(part for part in normal if part)


def _normal_prose(text: str) -> str:
    paragraphs = (part.rstrip() if _is_code(part) else " ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(part for part in paragraphs if part.strip())


def _is_code(paragraph: str) -> bool:
    return paragraph.lstrip("\n").startswith(("    ", "\t"))


def source_hash(section: AnnotatorSection) -> str:
    """Return the hash of a section's request text."""
    return digest([section.titles, normalize(section.text), section.summaries])


def nearest_summary(parts: Iterable[Node]) -> str:
    """Return the first summary among sections, or ""."""
    summaries = (part.get("summary") for part in parts)
    return next((summary.strip() for summary in summaries if isinstance(summary, str) and summary.strip()), "")


def closed_parts(parts: Sequence[Node]) -> set[int]:
    """Return the `id`s of parts (see `annotated_parts`) without annotations (`frozen`, `skip`)."""
    return flagged_parts(parts, "frozen") | flagged_parts(parts, "skip")


def flagged_parts(parts: Sequence[Node], key: str) -> set[int]:
    """Return the `id`s of parts (outer ones first) under `key: true`; the nearest value takes precedence."""
    flagged: set[int] = set()
    for node in parts:
        value = node.get(key)
        if value if isinstance(value, bool) else id(node.parent) in flagged:
            flagged.add(id(node))
    return flagged
