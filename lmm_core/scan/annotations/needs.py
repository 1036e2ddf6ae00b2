"""The annotations that a section needs or keeps."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...markdown.metadata.body import DELETED
from ...markdown.metadata.keys import hash_pair
from ...markdown.tree import HeaderNode, HeadingNode, Node, titles_path
from ...models.annotators.annotator import Annotator, AnnotatorSection
from ...models.sources import STAND_IN_NAME
from ...settings.tables import ScanOpts
from ..system_keys import State, key_state
from .sections import SectionTexts, source_hash, wanted_keys

MAKER = "~~annotator"


@dataclass
class SectionNeeds:
    """The annotations that a section needs.

    values: keys to write, or to remove (`DELETED`)
    requested: keys for the annotator
    instead: hashes of values replaced although the text is the same
    stale: corrected keys of changed texts
    model_only: keys that only a model may replace
    """

    node: Node
    texts: SectionTexts
    values: dict[str, Any] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    instead: str = ""
    stale: list[str] = field(default_factory=list)
    model_only: list[str] = field(default_factory=list)

    @cached_property
    def section(self) -> AnnotatorSection:
        """Return the section for the annotator."""
        return self.texts.section(self.node)

    @cached_property
    def source(self) -> str:
        """Return the hash of the section's text (slow, so lazy)."""
        return source_hash(self.section)


@dataclass(frozen=True)
class NeedsFinder:
    """A finder of needs; `closed` are ids of sections without annotations."""

    tree: HeadingNode
    texts: SectionTexts
    opts: ScanOpts
    annotator: Annotator
    refresh: bool
    closed: AbstractSet[int]

    def needs_of(self, node: Node) -> SectionNeeds:
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
            needs.model_only.append(key)
        elif state in (State.MISSING, State.OUTDATED):
            needs.requested.append(key)
            needs.instead += pair[1] if pair and pair[0] == needs.source and not by_stand_in else ""

    def _is_said_below(self, node: Node) -> bool:
        part = self.texts.only_part(node)
        return part is not None and id(part) not in self.closed

    def _add_titles(self, node: HeadingNode, needs: SectionNeeds) -> None:
        path = " - ".join(titles_path(node))
        state = key_state(node.properties, "titles", "")
        if state in (State.MISSING, State.CURRENT, State.OUTDATED) and node.properties.get("~titles") != path:
            needs.values["titles"] = path

    def maker(self, node: Node) -> str:
        """Return the name of a part's annotator, or ""."""
        return str(node.properties.get(MAKER) or self.tree.properties.get(MAKER) or "")

    def is_from_model(self, node: Node) -> bool:
        """Return True if a model's annotations are protected from the stand-in."""
        return self.annotator.name == STAND_IN_NAME and self.maker(node) not in ("", STAND_IN_NAME) and not self.refresh

    def changeable_keys(self, node: Node) -> list[str]:
        """Return the keys that a change of the section's text would renew."""
        if self.is_from_model(node) or self._is_said_below(node):
            return []
        source, words = source_hash(self.texts.section(node)), self.texts.words[id(node)]
        return [
            key
            for key, threshold in wanted_keys(node, self.opts)
            if words >= threshold and key_state(node.properties, key, source) is State.CURRENT
        ]
