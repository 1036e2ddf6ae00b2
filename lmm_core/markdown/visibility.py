"""Rules for who may see a part: readers of the notes, students who ask, or nobody.

All packages use these functions. Three keys decide, in this order: `knit` (in the notes or not), `type` (in the
notes if kept; students have to ask for it), `skip` (not in the index).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from .blocks import (
    Attributes,
    Block,
    TextBlock,
    serialize_blocks,
    source_line,
)
from .divs import Cut, Goes, Part, find_parts_and_cuts
from .metadata.keys import DECIDING
from .metadata.lmm_options import options_in
from .tree import HeaderNode, HeadingNode, Node, traverse

RAG_ONLY = "rag-only"
DEFINITION = "definition"  # the one type quoted in answers by default
ALL = "all"  # in `keep`: all types
DIV_TYPES = frozenset({"exercise", "topic", RAG_ONLY})
NOT_CLOSED = (
    "a RAG-only div starts here and is not closed, so all that follows belongs to it: add a line `:::`, or `</div>`"
)
OUT = "-"  # prefix in `div_types` that removes a class


@dataclass(frozen=True, slots=True)
class KnitRules:
    """The rules for leaving parts out of the notes.

    div_types: classes that make a div RAG-only
    keep: types of material that stay in the notes, or `all`
    types: all types used in the project
    allowed: words that `lmm scan` does not report as misspelled types
    """

    div_types: frozenset[str] = DIV_TYPES
    keep: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def keeps(self, types: Iterable[str]) -> bool:
        """Return True if material of one of these types stays in the notes."""
        return not self.keep.isdisjoint((*types, ALL))


def configured_types(words: Iterable[str]) -> frozenset[str]:
    """Return the RAG-only classes: default and named ones, except those removed by `-` (never `rag-only`)."""
    configured = set(words)
    return ((DIV_TYPES | named_types(configured)) - taken_out_types(configured)) | {RAG_ONLY}


def taken_out_types(words: Iterable[str]) -> frozenset[str]:
    """Return the classes prefixed with `-`."""
    return frozenset(word.removeprefix(OUT) for word in words if word.startswith(OUT))


def named_types(words: Iterable[str]) -> frozenset[str]:
    """Return the classes without prefix `-`. Only these count in a document, which must not weaken settings."""
    return frozenset(word for word in words if not word.startswith(OUT))


def header_rules(header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the classes that a header adds."""
    return replace(rules, div_types=rules.div_types | named_types(words_of(options_in(header).get("div-types"))))


def project_rules(settings: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the settings in `_quarto.yml`."""
    keep = frozenset(words_of(options_in(settings).get("keep")))
    return replace(header_rules(settings, rules), keep=rules.keep | keep)


def words_of(value: Any) -> list[str]:
    """Return a list, or the words of a text."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace(",", " ").split() if value else []


def types_of(value: Any) -> list[str]:
    """Return the words of a `type`."""
    values = value if isinstance(value, list) else [value]
    return [str(word).strip() for word in values if word not in (None, "", False)]


_TRUTH = {"true": True, "false": False}


class Properties(Protocol):
    """Metadata: a mapping, or a node of a tree."""

    def get(self, key: str, /) -> Any:
        """Return the value of a key, or None."""


def in_notes(properties: Properties, rules: KnitRules, is_header: bool = False) -> bool | None:
    """Return whether a part is in the notes, or None if its metadata leaves that open.

    A header's `type` is ignored, since other programs use it there."""
    if isinstance(knit := properties.get("knit"), bool):
        return knit
    types = [] if is_header else types_of(properties.get("type"))
    return rules.keeps(types) if types else None


def in_index(properties: Properties) -> bool | None:
    """Return whether a part is in the index, or None as in `in_notes`."""
    skip = properties.get("skip")
    return not skip if isinstance(skip, bool) else None


def own_types(properties: Properties) -> list[str] | None:
    """Return a part's types, [] if it is explicitly in the notes, or None as in `in_notes`."""
    types = types_of(properties.get("type"))
    return types or ([] if in_notes(properties, KnitRules()) else None)


def is_apart(properties: Properties) -> bool | None:
    """Return whether a nested part is indexed as a text of its own, or None as in `in_notes`."""
    notes = in_notes(properties, KnitRules())
    if notes is False or in_index(properties) is not None or own_types(properties):
        return True
    return False if notes else None


def div_properties(attributes: Attributes, rules: KnitRules) -> dict[str, Any]:
    """Return a div's classes and attributes as metadata; `type` counts only if in the rules, or beside `rag-only`."""
    pairs = attributes.pairs
    properties: dict[str, Any] = {key: _TRUTH.get(pairs[key].lower(), pairs[key]) for key in DECIDING if key in pairs}
    classes = [name for name in attributes.classes if name in rules.div_types]
    type_words = types_of(properties.pop("type", None))
    if RAG_ONLY not in classes:
        type_words = [word for word in type_words if word in rules.div_types]
    if types := [*type_words, *classes]:
        properties["type"] = types
    return properties


def type_of_div(attributes: Attributes, rules: KnitRules) -> str | None:
    """Return the type that makes a div RAG-only, or None."""
    types = div_properties(attributes, rules).get("type")
    return next((word for word in types if word != RAG_ONLY), RAG_ONLY) if types else None


def part_properties(part: Part, rules: KnitRules) -> Properties:
    """Return a part's metadata."""
    return part.metadata if part.metadata is not None else div_properties(part.attributes, rules)


def may_be_quoted(types: Sequence[str], requested: str = "") -> bool:
    """Return True if an answer may quote a passage of these types.

    requested: type asked for; without one, untyped passages and definitions may be quoted
    """
    return requested in types if requested else not types or types[0] == DEFINITION


def is_hidden(node: Node) -> bool:
    """Return True if a node's own metadata excludes it from index or notes, regardless of `keep`."""
    if not node.metadata:
        return False
    return in_notes(node, KnitRules(), isinstance(node, HeaderNode)) is False or in_index(node) is False


def is_indexed(node: Node) -> bool:
    """Return True if a node is in the index; the nearest metadata decides."""
    part: Node | None = node
    while part is not None:
        if part.metadata and (verdict := in_index(part)) is not None:
            return verdict
        part = part.parent
    return True


def types_around(node: Node) -> list[str]:
    """Return the types of the nearest part around a node that has any or is explicitly in the notes."""
    for part in (node, *reversed(node.ancestors)):
        if not isinstance(part, HeaderNode) and part.metadata and (types := own_types(part)) is not None:
            return types
    return []


def verdicts(tree: HeadingNode, rules: KnitRules) -> Iterator[tuple[Node, bool]]:
    """Yield all nodes except the document, each with True if it is left out of the notes."""
    is_out: dict[int, bool] = {}
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            is_out[id(node)] = in_notes(node, rules, is_header=True) is False
            continue
        own = in_notes(node, rules) if node.metadata else None
        is_out[id(node)] = is_out[id(node.parent)] if own is None else not own
        yield node, is_out[id(node)]


def leaves_out(rules: KnitRules) -> Goes:
    """Return the predicate for parts left out of the notes."""

    def goes(part: Part) -> bool | None:
        verdict = in_notes(part_properties(part, rules), rules)
        return None if verdict is None else not verdict

    return goes


@lru_cache(maxsize=1000)  # knitting asks several times for the same text
def parts_and_cuts(text: str, rules: KnitRules) -> tuple[Sequence[Part], Sequence[Cut]]:
    """Return a text's parts (none nested in a cut), and the ranges left out of the notes."""
    return find_parts_and_cuts(text, leaves_out(rules))


def close_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks, with all text after an unclosed RAG-only div merged into it, as Pandoc reads it."""
    for at, block in enumerate(blocks):
        if type(block) is not TextBlock or (":::" not in block.source and "<" not in block.source):
            continue
        _, cuts = parts_and_cuts(block.source, rules)
        opened = next((cut for cut in cuts if cut.is_unclosed and not cut.depth), None)
        if opened is None:
            continue
        remainder = block.source[opened.start :] + serialize_blocks(blocks[at + 1 :])
        line = source_line(block) + block.source.count("\n", 0, opened.start)
        text_above = [replace(block, source=block.source[: opened.start])] if opened.start else []
        return [*blocks[:at], *text_above, TextBlock(remainder, line)]
    return list(blocks)
