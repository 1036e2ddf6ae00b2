"""Which parts of a document are RAG-only: in the index, not in the notes.

The rules stand here once, for texts, for the index and for Pandoc's elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .blocks import (
    Attributes,
    Block,
    HeadingBlock,
    TextBlock,
    count_lead,
    serialize_blocks,
)
from .divs import Goes, Part, find_cuts
from .metadata.lmm_options import options_in
from .tree import HeaderNode, HeadingNode, Node, TextNode, traverse

RAG_ONLY = "rag-only"
ALL = "all"  # in place of all types, in `keep`
# Keys that Pandoc takes from any native block of a document: a block that holds one
# is the document's (references at the end, a second header), and stays.
DOCUMENT_KEYS = frozenset(
    """references bibliography csl nocite link-citations citation-abbreviations reference-section-title author date
    subtitle abstract keywords institute thanks header-includes include-before include-after lof lot toc""".split()
)
DIV_TYPES = frozenset({"exercise", "topic", RAG_ONLY})
NOT_CLOSED = "a RAG-only div starts here and is not closed (add a line `:::`, or `</div>`)"
OUT = "-"  # before a class in the configuration's `div_types`: it is no type


@dataclass(frozen=True, slots=True)
class KnitRules:
    """What is left out of the notes. `div_types`: classes of fenced divs that are
    RAG-only; `keep`: types that stay in, or `all`. `types`: that parts of the project's
    documents have; `allowed`: words that are no slip of one of these, nor of a key."""

    div_types: frozenset[str] = DIV_TYPES
    keep: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def keeps(self, types: Iterable[str]) -> bool:
        """Whether a part of these types stays in."""
        return not self.keep.isdisjoint((*types, ALL))


def configured_types(words: Iterable[str]) -> frozenset[str]:
    """The classes that are RAG-only by a configuration: the built-in ones and those that it
    names, without those that it names with a `-`. `rag-only` itself always is."""
    named = set(words)
    return ((DIV_TYPES | named_types(named)) - taken_out_types(named)) | {RAG_ONLY}


def taken_out_types(words: Iterable[str]) -> frozenset[str]:
    """The classes that a configuration takes out of those that are RAG-only."""
    return frozenset(word.removeprefix(OUT) for word in words if word.startswith(OUT))


def named_types(words: Iterable[str]) -> frozenset[str]:
    """The classes among words; one with a `-`, by which a document would keep more than the
    configuration does, is none."""
    return frozenset(word for word in words if not word.startswith(OUT))


def header_rules(header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the RAG-only divs that a document's header adds under `lmm:`.
    A document takes no class out, and keeps nothing in that others leave out."""
    return replace(rules, div_types=rules.div_types | named_types(words_of(options_in(header).get("div-types"))))


def project_rules(settings: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with what a project's settings (`_quarto.yml`) say under `lmm:`."""
    keep = frozenset(words_of(options_in(settings).get("keep")))
    return replace(header_rules(settings, rules), keep=rules.keep | keep)


def taken_out(header: Mapping[str, Any]) -> list[str]:
    """The classes that a header names with a `-`, without effect."""
    return [word for word in words_of(options_in(header).get("div-types")) if word.startswith(OUT)]


def words_of(value: Any) -> list[str]:
    """A list, or words separated by commas or blanks."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace(",", " ").split() if value else []


def types_of(value: Any) -> list[str]:
    """The words of a `type` value: one word or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [str(word).strip() for word in values if word not in (None, "", False)]


def properties_verdict(properties: Any, rules: KnitRules) -> bool | None:
    """Whether metadata leaves its part out (True), keeps it in (False), or says
    nothing (None). `properties` has a method `get`."""
    knit = properties.get("knit")
    if isinstance(knit, bool):
        return not knit
    types = types_of(properties.get("type"))
    if not types:
        return None
    return not rules.keeps(types)


def div_verdict(attributes: Attributes, rules: KnitRules) -> bool | None:
    """The same for a fenced div, by its classes and attributes."""
    knit = attributes.pairs.get("knit", "").lower()
    if knit in ("true", "false"):
        return knit == "false"
    types = [name for name in attributes.classes if name in rules.div_types]
    if not types:
        return None
    named = types_of(attributes.pairs.get("type")) if RAG_ONLY in types else []
    return not rules.keeps((*types, *named))


def out_by_itself(node: Node) -> bool:
    """Whether a node is RAG-only or left out by its own metadata, whatever is kept."""
    return properties_verdict(node, KnitRules()) is True


def verdicts(tree: HeadingNode, rules: KnitRules) -> Iterator[tuple[Node, bool]]:
    """All nodes but the document, each with whether it is left out: by itself, else
    by the nearest section around it that says."""
    out: dict[int, bool] = {}
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            out[id(node)] = node.get("knit") is False
            continue
        own = properties_verdict(node, rules)
        out[id(node)] = out[id(node.parent)] if own is None else own
        yield node, out[id(node)]


def node_block(node: Node) -> HeadingBlock | TextBlock | None:
    """The heading or text of a node."""
    if isinstance(node, HeadingNode):
        return node.heading
    return node.block if isinstance(node, TextNode) else None


def leaves_out(rules: KnitRules) -> Goes:
    """What tells whether a div, or what a metadata block is about, is left out."""

    def goes(part: Part) -> bool | None:
        if part.metadata is not None:
            return properties_verdict(part.metadata, rules)
        return div_verdict(part.attributes, rules)

    return goes


def close_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """The blocks, all from a RAG-only div on that is not closed as one text: it is left out to the
    end, as Pandoc closes it there."""
    for at, block in enumerate(blocks):
        if type(block) is not TextBlock or (":::" not in block.source and "<" not in block.source):
            continue
        cuts = find_cuts(block.source, leaves_out(rules))
        opened = next((one for one in cuts if one.rest and not one.depth), None)
        if opened is None:
            continue
        rest = block.source[opened.start :] + serialize_blocks(blocks[at + 1 :])
        line = block.line - count_lead(block.source) + block.source.count("\n", 0, opened.start)
        before = [replace(block, source=block.source[: opened.start])] if opened.start else []
        return [*blocks[:at], *before, TextBlock(rest, line)]
    return list(blocks)
