"""Decide who may see a part of a document (readers of the notes, students who ask, nobody), and why.

All routes ask this module: knitting texts and Pandoc's elements, the leak check, the lint, the index, answers and
the ask box. A reason is one row of `REASONS`: a key of metadata blocks, which is an attribute of divs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .blocks import (
    Attributes,
    Block,
    TextBlock,
    serialize_blocks,
    source_line,
)
from .divs import Goes, Part, find_cuts
from .metadata.keys import DECIDING
from .metadata.lmm_options import options_in
from .tree import HeaderNode, HeadingNode, Node, traverse

RAG_ONLY = "rag-only"
DEFINITION = "definition"  # the one type that answers quote without being asked for it
ALL = "all"  # in `keep`, stands for all types
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


def words_of(value: Any) -> list[str]:
    """Return a list, or the words of a text separated by commas or blanks."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace(",", " ").split() if value else []


# Reasons


def _nothing(*_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Reason:
    """A key that says who may see a part. Where its value says nothing, the function returns None.

    notes: whether the part is in the notes; index: whether it is in the index, from which students are answered;
    types: the types under which alone students are shown it; in_header: it counts for a whole document as well."""

    key: str
    notes: Callable[[Any, KnitRules], bool | None] = _nothing
    index: Callable[[Any], bool | None] = _nothing
    types: Callable[[Any], list[str]] = lambda value: []
    in_header: bool = True


def types_of(value: Any) -> list[str]:
    """Return the words of a `type` value, which is one word or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [str(word).strip() for word in values if word not in (None, "", False)]


def _if_kept(value: Any, rules: KnitRules) -> bool | None:
    types = types_of(value)
    return rules.keeps(types) if types else None


# The first that says something decides. In a header, other programs have a `type`, too.
REASONS = (
    Reason("knit", notes=lambda value, rules: value if isinstance(value, bool) else None),
    Reason("type", notes=_if_kept, types=types_of, in_header=False),
    Reason("skip", index=lambda value: not value if isinstance(value, bool) else None),
)
_TRUTH = {"true": True, "false": False}


class Properties(Protocol):
    """Metadata: a mapping, or a node of a tree."""

    def get(self, key: str, /) -> Any:
        """Return the value of a key, None if it is missing."""


def in_notes(properties: Properties, rules: KnitRules, is_header: bool = False) -> bool | None:
    """Return whether metadata says that its part is in the notes; None if it says nothing."""
    found = (reason.notes(properties.get(reason.key), rules) for reason in REASONS if reason.in_header or not is_header)
    return next((says for says in found if says is not None), None)


def in_index(properties: Properties) -> bool | None:
    """Return whether metadata says that its part is in the index; None if it says nothing."""
    found = (reason.index(properties.get(reason.key)) for reason in REASONS)
    return next((says for says in found if says is not None), None)


def own_types(properties: Properties) -> list[str] | None:
    """Return the types that metadata gives its part. A part that is in the notes for another reason has none of the
    types around it. Return None if the metadata says nothing."""
    types = [word for reason in REASONS for word in reason.types(properties.get(reason.key))]
    return types or ([] if in_notes(properties, KnitRules()) else None)


def is_apart(properties: Properties) -> bool | None:
    """Return True if a part inside a text is a text of its own in the index, False if it is like the notes.

    It is one if it has a type, is not in the notes, or says whether it is in the index. Return None if the metadata
    says nothing."""
    notes = in_notes(properties, KnitRules())
    if notes is False or in_index(properties) is not None or own_types(properties):
        return True
    return False if notes else None


def div_properties(attributes: Attributes, rules: KnitRules) -> dict[str, Any]:
    """Return what the classes and attributes of a div say, as metadata says it.

    A class of the rules is a type. The attribute `type` counts if it names such a class, or beside the class
    `rag-only`: other programs have attributes of that name, too."""
    pairs = attributes.pairs
    found: dict[str, Any] = {key: _TRUTH.get(pairs[key].lower(), pairs[key]) for key in DECIDING if key in pairs}
    classes = [name for name in attributes.classes if name in rules.div_types]
    named = types_of(found.pop("type", None))
    if RAG_ONLY not in classes:
        named = [word for word in named if word in rules.div_types]
    if types := [*named, *classes]:
        found["type"] = types
    return found


def type_of_div(attributes: Attributes, rules: KnitRules) -> str | None:
    """Return the first type that makes a div RAG-only, `rag-only` if it has no other; None for other divs."""
    types = div_properties(attributes, rules).get("type")
    return next((word for word in types if word != RAG_ONLY), RAG_ONLY) if types else None


def part_properties(part: Part, rules: KnitRules) -> Properties:
    """Return what a div, or the metadata before a part of a text, says of it."""
    return part.metadata if part.metadata is not None else div_properties(part.attributes, rules)


def may_be_quoted(types: Sequence[str], asked: str = "") -> bool:
    """Return True if students who ask may be shown a passage of some types.

    asked: the type that they ask for. Else those without a type are shown, and definitions: an exercise may hold its
    solution."""
    return asked in types if asked else not types or types[0] == DEFINITION


# In a tree


def is_hidden(node: Node) -> bool:
    """Return True if a node's own metadata leaves it out of the notes, whatever is kept, or out of the index."""
    if not node.metadata:
        return False
    return in_notes(node, KnitRules(), isinstance(node, HeaderNode)) is False or in_index(node) is False


def is_indexed(node: Node) -> bool:
    """Return True if a node is in the index: the nearest metadata that says something decides."""
    part: Node | None = node
    while part is not None:
        if part.metadata and (says := in_index(part)) is not None:
            return says
        part = part.parent
    return True


def types_around(node: Node) -> list[str]:
    """Return the types of a node: those of the nearest metadata that says something, the header left out."""
    for part in (node, *reversed(node.ancestors)):
        if not isinstance(part, HeaderNode) and part.metadata and (types := own_types(part)) is not None:
            return types
    return []


def verdicts(tree: HeadingNode, rules: KnitRules) -> Iterator[tuple[Node, bool]]:
    """Yield all nodes but the document, each with whether it is left out of the notes.

    A node's own metadata decides, else that of the nearest section that says something."""
    out: dict[int, bool] = {}
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            out[id(node)] = in_notes(node, rules, is_header=True) is False
            continue
        own = in_notes(node, rules) if node.metadata else None
        out[id(node)] = out[id(node.parent)] if own is None else not own
        yield node, out[id(node)]


def leaves_out(rules: KnitRules) -> Goes:
    """Return the function that decides whether a part of a text is left out of the notes."""

    def goes(part: Part) -> bool | None:
        says = in_notes(part_properties(part, rules), rules)
        return None if says is None else not says

    return goes


def close_parts(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return the blocks with everything from an unclosed RAG-only div on as one text.

    Pandoc closes such a div at the end, so all of it is left out."""
    for at, block in enumerate(blocks):
        if type(block) is not TextBlock or (":::" not in block.source and "<" not in block.source):
            continue
        cuts = find_cuts(block.source, leaves_out(rules))
        opened = next((cut for cut in cuts if cut.rest and not cut.depth), None)
        if opened is None:
            continue
        rest = block.source[opened.start :] + serialize_blocks(blocks[at + 1 :])
        line = source_line(block) + block.source.count("\n", 0, opened.start)
        before = [replace(block, source=block.source[: opened.start])] if opened.start else []
        return [*blocks[:at], *before, TextBlock(rest, line)]
    return list(blocks)
