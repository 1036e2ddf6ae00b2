"""Needs: the annotations that a section has to get, and those that it keeps."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...markdown.metadata.body import DELETED
from ...markdown.metadata.ownership import hash_pair
from ...markdown.tree import HeaderNode, HeadingNode, Node, titles_path
from ...models.annotators.annotator import Annotator, AnnotatorSection
from ...models.sources import STAND_IN_NAME
from ...settings.tables import ScanOpts
from ..system_keys import State, key_state
from .sections import SectionTexts, source_hash, wanted_keys

MAKER = "~~annotator"


def maker_of(node: Node, tree: HeadingNode) -> str:
    """Return the name of the annotator that made a part's annotations, by the part or the header;
    "" if neither names one."""
    return str(node.properties.get(MAKER) or tree.properties.get(MAKER) or "")


@dataclass
class SectionNeeds:
    """The annotations that a section needs.

    values: keys to write as they are, or to remove (`DELETED`); wanted: keys to ask the annotator for; instead: the
    hashes of the values that they replace although the text is the same; stale: corrected keys whose text has changed;
    kept: keys that only a model may write again."""

    node: Node
    texts: SectionTexts
    values: dict[str, Any] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    instead: str = ""
    stale: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @cached_property
    def section(self) -> AnnotatorSection:
        """The section as a model is asked about it."""
        return self.texts.section(self.node)

    @cached_property
    def own_section(self) -> AnnotatorSection:
        """The section as the stand-in sees it."""
        return self.texts.own_section(self.node)

    @cached_property
    def source(self) -> str:
        """The hash of the section's text, which takes longer than all else: most sections need none."""
        return source_hash(self.section)


@dataclass(frozen=True)
class NeedsFinder:
    """Finds the needs of a document's sections in one run.

    closed: the `id`s of the sections that get no annotations."""

    tree: HeadingNode
    texts: SectionTexts
    opts: ScanOpts
    annotator: Annotator
    refresh: bool
    closed: AbstractSet[int]

    def needs_of(self, node: Node) -> SectionNeeds:
        """Return the present needs of a section."""
        needs = SectionNeeds(node, self.texts)
        for key, threshold in wanted_keys(node, self.opts):
            self._sort_key(node, key, threshold, needs)
        if self.opts.titles and isinstance(node, HeadingNode) and not isinstance(node, HeaderNode):
            self._add_titles(node, needs)
        return needs

    def _sort_key(self, node: Node, key: str, threshold: int, needs: SectionNeeds) -> None:
        pair = hash_pair(node.properties, key)
        state = key_state(node.properties, key, needs.source if pair else "")
        by_stand_in = self.maker(node) == STAND_IN_NAME
        if state is State.CURRENT and (self.refresh or (by_stand_in and self.annotator.name != STAND_IN_NAME)):
            state = State.OUTDATED  # a model replaces what the stand-in wrote
        if state is State.STALE:
            needs.stale.append(key)
        elif self._is_said_below(node):
            if state in (State.CURRENT, State.OUTDATED) and not self.is_from_model(node):
                needs.values[key] = DELETED
        elif self.texts.words[id(node)] < threshold:
            if state in (State.CURRENT, State.OUTDATED):
                needs.values[key] = DELETED
        elif state is State.OUTDATED and self.is_from_model(node):
            needs.kept.append(key)
        elif state in (State.MISSING, State.OUTDATED):
            needs.wanted.append(key)
            needs.instead += pair[1] if pair and pair[0] == needs.source and not by_stand_in else ""

    def _is_said_below(self, node: Node) -> bool:
        """Return True if a section consists of one subsection, which is annotated in its place."""
        part = self.texts.only_part(node)
        return part is not None and id(part) not in self.closed

    def _add_titles(self, node: HeadingNode, needs: SectionNeeds) -> None:
        path = " - ".join(titles_path(node))
        state = key_state(node.properties, "titles", "")
        if state in (State.MISSING, State.CURRENT, State.OUTDATED) and node.properties.get("~titles") != path:
            needs.values["titles"] = path

    def maker(self, node: Node) -> str:
        """See `maker_of`."""
        return maker_of(node, self.tree)

    def is_from_model(self, node: Node) -> bool:
        """Return True if the stand-in would replace the annotations of a model unasked."""
        return self.annotator.name == STAND_IN_NAME and self.maker(node) not in ("", STAND_IN_NAME) and not self.refresh

    def changeable_keys(self, node: Node) -> list[str]:
        """Return the keys that would be made again if the text shown for the section changed."""
        if self.is_from_model(node) or self._is_said_below(node):
            return []
        source, words = source_hash(self.texts.section(node)), self.texts.words[id(node)]
        return [
            key
            for key, threshold in wanted_keys(node, self.opts)
            if words >= threshold and key_state(node.properties, key, source) is State.CURRENT
        ]
