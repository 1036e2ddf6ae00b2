"""The parts of a document that are RAG-only: in the index, but not in the notes.

The rules stand here once, for texts, for the index and for Pandoc's elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .blocks import (
    Attributes,
    Block,
    TextBlock,
    serialize_blocks,
    source_line,
)
from .divs import Goes, Part, find_cuts
from .metadata.lmm_options import options_in
from .tree import HeaderNode, HeadingNode, Node, traverse

RAG_ONLY = "rag-only"
ALL = "all"  # in `keep`, stands for all types
# Keys that Pandoc takes from any native block of a document. A block with one of them
# belongs to the document (references at the end, a second header), and stays.
DOCUMENT_KEYS = frozenset(
    """references bibliography csl nocite link-citations citation-abbreviations reference-section-title author date
    subtitle abstract keywords institute thanks header-includes include-before include-after lof lot toc""".split()
)
DIV_TYPES = frozenset({"exercise", "topic", RAG_ONLY})
NOT_CLOSED = "a RAG-only div starts here and is not closed (add a line `:::`, or `</div>`)"
OUT = "-"  # before a class in the configuration's `div_types`: it is no longer a type


@dataclass(frozen=True, slots=True)
class KnitRules:
    """The rules for what is left out of the notes.

    div_types: classes of fenced divs that are RAG-only; keep: types that stay in, or `all`;
    types: those used in the project's documents; allowed: words that are no misspelling of a
    type or key."""

    div_types: frozenset[str] = DIV_TYPES
    keep: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def keeps(self, types: Iterable[str]) -> bool:
        """Return True if a part of these types stays in."""
        return not self.keep.isdisjoint((*types, ALL))


def configured_types(words: Iterable[str]) -> frozenset[str]:
    """Return the RAG-only classes of a configuration.

    These are the built-in ones and those it names, without those it names with a `-`.
    `rag-only` always belongs to them."""
    named = set(words)
    return ((DIV_TYPES | named_types(named)) - taken_out_types(named)) | {RAG_ONLY}


def taken_out_types(words: Iterable[str]) -> frozenset[str]:
    """Return the classes that a configuration names with a `-`."""
    return frozenset(word.removeprefix(OUT) for word in words if word.startswith(OUT))


def named_types(words: Iterable[str]) -> frozenset[str]:
    """Return the classes among words, without those with a `-`.

    A document with a `-` would keep more than the configuration does."""
    return frozenset(word for word in words if not word.startswith(OUT))


def header_rules(header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the RAG-only divs that a document's header adds under `lmm:`.

    A document can neither remove a class nor keep in what others leave out."""
    return replace(rules, div_types=rules.div_types | named_types(words_of(options_in(header).get("div-types"))))


def project_rules(settings: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules with the settings under `lmm:` in a project's `_quarto.yml`."""
    keep = frozenset(words_of(options_in(settings).get("keep")))
    return replace(header_rules(settings, rules), keep=rules.keep | keep)


def taken_out(header: Mapping[str, Any]) -> list[str]:
    """Return the classes that a header names with a `-`, which has no effect."""
    return [word for word in words_of(options_in(header).get("div-types")) if word.startswith(OUT)]


def words_of(value: Any) -> list[str]:
    """Return a list, or the words of a text separated by commas or blanks."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace(",", " ").split() if value else []


def types_of(value: Any) -> list[str]:
    """Return the words of a `type` value, which is one word or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [str(word).strip() for word in values if word not in (None, "", False)]


def properties_verdict(properties: Any, rules: KnitRules) -> bool | None:
    """Return True if metadata leaves its part out, False if it keeps it in, else None.

    properties: has a method `get`."""
    knit = properties.get("knit")
    if isinstance(knit, bool):
        return not knit
    types = types_of(properties.get("type"))
    if not types:
        return None
    return not rules.keeps(types)


def div_verdict(attributes: Attributes, rules: KnitRules) -> bool | None:
    """Return the same for a fenced div, by its classes and attributes."""
    knit = attributes.pairs.get("knit", "").lower()
    if knit in ("true", "false"):
        return knit == "false"
    types = div_types(attributes, rules)
    return not rules.keeps(types) if types else None


def div_types(attributes: Attributes, rules: KnitRules) -> list[str]:
    """Return the types that make a div RAG-only, what its attribute `type` says first; none for other divs.

    A type that is no class of such divs counts beside the class `rag-only` alone: other programs have attributes
    of that name, too."""
    classes = [name for name in attributes.classes if name in rules.div_types]
    named = types_of(attributes.pairs.get("type"))
    if RAG_ONLY not in classes:
        named = [word for word in named if word in rules.div_types]
    return [*named, *classes]


def out_by_itself(node: Node) -> bool:
    """Return True if a node's own metadata leaves it out, whatever is kept."""
    return bool(node.metadata) and properties_verdict(node, KnitRules()) is True


def verdicts(tree: HeadingNode, rules: KnitRules) -> Iterator[tuple[Node, bool]]:
    """Yield all nodes but the document, each with whether it is left out.

    A node's own metadata decides, else that of the nearest section that says something."""
    out: dict[int, bool] = {}
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            out[id(node)] = node.get("knit") is False
            continue
        own = properties_verdict(node, rules) if node.metadata else None
        out[id(node)] = out[id(node.parent)] if own is None else own
        yield node, out[id(node)]


def leaves_out(rules: KnitRules) -> Goes:
    """Return the function that decides whether a part of a text is left out."""

    def goes(part: Part) -> bool | None:
        if part.metadata is not None:
            return properties_verdict(part.metadata, rules)
        return div_verdict(part.attributes, rules)

    return goes


def close_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks with everything from an unclosed RAG-only div on as one text.

    Pandoc closes such a div at the end, so all of it is left out."""
    for at, block in enumerate(blocks):
        if type(block) is not TextBlock or (":::" not in block.source and "<" not in block.source):
            continue
        cuts = find_cuts(block.source, leaves_out(rules))
        opened = next((one for one in cuts if one.rest and not one.depth), None)
        if opened is None:
            continue
        rest = block.source[opened.start :] + serialize_blocks(blocks[at + 1 :])
        line = source_line(block) + block.source.count("\n", 0, opened.start)
        before = [replace(block, source=block.source[: opened.start])] if opened.start else []
        return [*blocks[:at], *before, TextBlock(rest, line)]
    return list(blocks)
